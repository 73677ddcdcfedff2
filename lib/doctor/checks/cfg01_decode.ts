import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";

/** Whether the configuration says what its author meant. */
export const decode = check({
  id: "CFG01",
  group: "config",
  title: "decode",
  why: "A field that is misspelt is passed over in silence, and its default holds.",
  looks:
    "Reads the configuration strictly: unknown and duplicate fields, and every rule of values.",
  links: ["https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/"],
  results: ["pass", "fail"],
  needs: ["configuration"],
  judge: ({ facts: { configuration } }) => {
    if (!configuration) return [fine("configuration", "None is named, and none was found")];
    const { problems, where } = configuration;
    if (problems.length === 0) return [fine(where)];
    return [problem("fail", where, {
      evidence: few(problems),
      advice: ["Correct these fields; kube-proxy config validate shows all of them."],
    })];
  },
});
