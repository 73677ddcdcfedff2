import { check, type ToProxy } from "../check.ts";
import { counted, fine, problem } from "../judging/findings.ts";

/** From here on a start takes seconds. */
const manyServices = 20_000;
const manyEndpoints = 200_000;
/**
 * 10,000 ports of Services with 10 endpoints each (docs/measurements/start.md): on two cores this program
 * started in 1.1 s with 194 MB at its peak, 0.3 s and 85 MB of them for a handful of Services; stock
 * kube-proxy took 18 s and 292 MB.
 */
const measured = {
  items: 110_000,
  startMs: 1_086,
  peakMb: 194,
  stockStartMs: 18_440,
  stockPeakMb: 292,
};
const atLeast = { startMs: 320, peakMb: 85 };

/** How much a proxy will have to write on this node. */
export const size = check({
  id: "SCL01",
  group: "cluster",
  title: "size",
  why: "Every node holds every Service: a start writes all of them.",
  looks:
    "Counts Services, endpoints and slices, and estimates a start by one that was measured. DRY01 " +
    "measures what loading them takes here.",
  links: ["https://kubernetes.io/docs/setup/best-practices/cluster-large/"],
  results: ["pass", "warn"],
  needs: ["objects"],
  judge: ({ facts: { objects }, move: { toProxy } }) => {
    if (!objects) return [];
    const { endpointSlices, services } = objects;
    const ports = services.reduce((sum, each) => sum + each.ports.length, 0);
    const endpoints = endpointSlices.reduce(
      (sum, each) => sum + each.endpoints.length * Math.max(each.ports.length, 1),
      0,
    );
    const told = `${counted(services.length, "Service")} with ${counted(ports, "port")}, ` +
      `${counted(endpoints, "endpoint")} in ${counted(endpointSlices.length, "slice")}`;
    const evidence = [told, estimateOf(ports + endpoints, toProxy)];
    if (services.length < manyServices && endpoints < manyEndpoints) {
      return [fine("cluster", ...evidence)];
    }
    return [problem("warn", "cluster", {
      evidence,
      advice: [
        "See in DRY01 what a start takes; label namespaces that no node needs: " +
        "kube-proxy namespaces opt-out.",
      ],
    })];
  },
});

/** In proportion to what was measured. */
function estimateOf(items: number, toProxy: ToProxy): string {
  const share = items / measured.items;
  const isOurs = toProxy === "this";
  const startMs = isOurs
    ? atLeast.startMs + share * (measured.startMs - atLeast.startMs)
    : share * measured.stockStartMs;
  const peakMb = isOurs
    ? atLeast.peakMb + share * (measured.peakMb - atLeast.peakMb)
    : share * measured.stockPeakMb;
  const who = isOurs ? "this program" : "stock kube-proxy";
  return `A start of ${who} takes about ${(startMs / 1_000).toFixed(1)} s and ${
    Math.ceil(peakMb / 10) * 10
  } MB, in proportion to what was measured elsewhere`;
}
