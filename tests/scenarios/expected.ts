/** What a row of a table of fates means in a set-up: the rules of traffic policies, and nothing else. */
import type { Host } from "./addresses.ts";
import type { EndpointName, FateRow } from "./fate.ts";
import type { Setup } from "./setups.ts";

/** `own`: the endpoint sees who sent the packet; `node`: an address of the node. */
export type Source = "own" | "node";

/** The endpoints that may answer, each with the source address it must see; or nobody. */
export type ExpectedFate =
  | { readonly kind: "reached"; readonly endpoints: ReadonlyMap<EndpointName, Source> }
  | { readonly kind: "rejected" | "dropped" | "untouched" };

export function expectedFate(row: FateRow, setup: Setup): ExpectedFate {
  if (row.to.kind === "node-port" && !answersOn(row.to.at, setup)) return { kind: "untouched" };
  const { expect } = row;
  switch (expect.kind) {
    case "rejected":
    case "dropped":
    case "untouched":
      return { kind: expect.kind };
    case "internal":
      return reached(row, expect.endpoints, internalSource(row.from, setup));
    case "external":
      return reached(row, expect.endpoints, "node");
    case "host-network":
      return reached(row, expect.endpoints, "own");
    case "external-local":
      // Short circuits: what comes from here need not stay here.
      if (row.from === "node") return reached(row, expect.anywhere, "node");
      if (isKnownPod(row.from, setup)) return reached(row, expect.anywhere, "own");
      if (expect.here.length === 0) return { kind: "dropped" };
      return reached(row, expect.here, "own");
  }
}

function answersOn(at: "first" | "second" | "loopback", setup: Setup): boolean {
  if (at === "loopback") return false;
  return at === "first" || setup.nodePortAddresses === "all";
}

/** Traffic to cluster IPs is masqueraded when it comes from outside the cluster, where that is known. */
function internalSource(from: Host, setup: Setup): Source {
  if (setup.masqueradeAll) return "node";
  return setup.detectLocal === "none" || isKnownPod(from, setup) ? "own" : "node";
}

function isKnownPod(from: Host, setup: Setup): boolean {
  const isPod = from === "pod-a" || from === "pod-b" || from === "remote-pod";
  return isPod && setup.detectLocal === "cluster-cidr";
}

/**
 * A local pod that reaches itself sees the node in between, or it would answer itself directly. What
 * a remote pod sends is its own node's business.
 */
function reached(
  row: FateRow,
  endpoints: readonly EndpointName[],
  source: Source,
): ExpectedFate {
  const isItself = (endpoint: EndpointName) =>
    row.from !== "remote-pod" && endpoint.startsWith(`${row.from}:`);
  return {
    kind: "reached",
    endpoints: new Map(
      endpoints.map((endpoint) => [endpoint, isItself(endpoint) ? "node" : source]),
    ),
  };
}
