import { check } from "../check.ts";
import { counted, fine, problem } from "../judging/findings.ts";

/** From here on a start takes seconds. */
const manyServices = 20_000;
const manyEndpoints = 200_000;

/** How much a proxy will have to write on this node. */
export const size = check({
  id: "SCL01",
  group: "cluster",
  title: "size",
  why: "Every node holds every Service: a start writes all of them.",
  looks: "Counts Services, endpoints and slices. DRY01 measures what loading them takes here.",
  links: ["https://kubernetes.io/docs/setup/best-practices/cluster-large/"],
  results: ["pass", "warn"],
  needs: ["objects"],
  judge: ({ facts: { objects } }) => {
    if (!objects) return [];
    const { endpointSlices, services } = objects;
    const ports = services.reduce((sum, each) => sum + each.ports.length, 0);
    const endpoints = endpointSlices.reduce(
      (sum, each) => sum + each.endpoints.length * Math.max(each.ports.length, 1),
      0,
    );
    const told = `${counted(services.length, "Service")} with ${counted(ports, "port")}, ` +
      `${counted(endpoints, "endpoint")} in ${counted(endpointSlices.length, "slice")}`;
    if (services.length < manyServices && endpoints < manyEndpoints) return [fine("cluster", told)];
    return [problem("warn", "cluster", {
      evidence: [told],
      advice: [
        "See in DRY01 what a start takes; label namespaces that no node needs: " +
        "kube-proxy namespaces opt-out.",
      ],
    })];
  },
});
