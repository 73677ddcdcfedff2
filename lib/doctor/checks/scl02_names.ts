import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { isBefore } from "../judging/versions.ts";
import { imageVersion, workloadNamed } from "../judging/workloads.ts";

/** What nf_tables takes as a comment. */
const LONGEST = 128;

/** Names that are too long for a comment. */
export const names = check({
  id: "SCL02",
  group: "cluster",
  title: "names",
  why:
    "Stock kube-proxy before 1.37 writes the name of a port as a comment, and fails as a whole " +
    "where one is longer than 128 bytes.",
  looks: "Measures namespace/service:port of every port.",
  links: ["https://github.com/kubernetes/kubernetes/pull/139516"],
  results: ["pass", "warn"],
  needs: ["objects"],
  wants: ["software"],
  judge: ({ facts: { objects }, move: { toProxy }, tried: { software } }) => {
    const long = (objects?.services ?? []).flatMap(({ name, namespace, ports }) =>
      ports.map((port) => `${namespace}/${name}:${port.name}`).filter((each) =>
        each.length > LONGEST
      )
    );
    if (long.length === 0) return [fine("names of ports", "None is too long")];
    const workload = software.kind === "value"
      ? workloadNamed(software.value, /^kube-proxy/)
      : undefined;
    const version = workload && imageVersion(workload, /kube-proxy/);
    const isFixed = version !== undefined && !isBefore(version, [1, 37]);
    if (toProxy === "this" || isFixed) {
      return [
        fine("names of ports", `${long.length} longer than ${LONGEST} bytes, which is fine here`),
      ];
    }
    return [problem("warn", "names of ports", {
      evidence: few(long),
      advice: ["Upgrade stock kube-proxy to 1.37, or shorten these names."],
    })];
  },
});
