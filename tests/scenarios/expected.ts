/** What a row of a table of fates means in a set-up: the rules of traffic policies, and nothing else. */
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { Host } from "./addresses.ts";
import type { EndpointName, Expectation, FateRow } from "./fate.ts";
import type { Setup } from "./setups.ts";

/**
 * `own`: the endpoint sees who sent the packet; `node`: an address of the node; `asked`: the address that
 * was asked for, which is the node's too.
 */
export type Source = "own" | "node" | "asked";

/** The endpoints that may answer, each with the source address it must see; or nobody. */
export type ExpectedFate =
  | { readonly kind: "reached"; readonly endpoints: ReadonlyMap<EndpointName, Source> }
  | { readonly kind: "rejected" | "dropped" | "untouched" };

/** Where a fate is looked for: a set-up's rules of one family. */
export interface Place {
  readonly setup: Setup;
  readonly family: IpFamily;
}

export function expectedFate(row: FateRow, place: Place): ExpectedFate {
  const { setup } = place;
  const fate = fateByPolicy(row, setup);
  if (row.to.kind !== "node-port" || answersOn(row.to.at, place)) return fate;
  // iptables mode refuses at every address of the node, wherever it answers.
  const isRefused = fate.kind === "rejected" || fate.kind === "dropped";
  return setup.mode.kind === "iptables" && isRefused ? fate : { kind: "untouched" };
}

function fateByPolicy(row: FateRow, setup: Setup): ExpectedFate {
  const expect = expectationOf(row, setup);
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
      if (setup.mode.kind === "ipvs") return externalLocalInIpvs(row, expect);
      // Short circuits: what comes from here need not stay here.
      if (row.from === "node") return reached(row, expect.anywhere, "node");
      if (isKnownPod(row.from, setup)) return reached(row, expect.anywhere, "own");
      if (expect.here.length === 0) return { kind: "dropped" };
      return reached(row, expect.here, "own");
  }
}

function expectationOf({ expect, inIptables, inIpvs }: FateRow, { mode }: Setup): Expectation {
  if (mode.kind === "iptables") return inIptables ?? expect;
  return mode.kind === "ipvs" ? inIpvs ?? expect : expect;
}

/**
 * One virtual server is for everybody, so there is no short circuit; where nobody serves here others do.
 * Nothing is masqueraded, and to what the node asks for it gives that very address as its own.
 */
function externalLocalInIpvs(
  row: FateRow,
  { anywhere, here }: Extract<Expectation, { readonly kind: "external-local" }>,
): ExpectedFate {
  const isAtNodePort = row.to.kind === "node-port";
  const source = row.from === "node" && !isAtNodePort ? "asked" : "own";
  return reached(row, here.length > 0 ? here : anywhere, source);
}

/** iptables mode sends IPv4's packets on from the loopback address. */
function answersOn(at: "first" | "second" | "loopback", { setup, family }: Place): boolean {
  const everywhere = setup.nodePortAddresses === "all";
  if (at === "loopback") return everywhere && setup.mode.kind === "iptables" && family === "IPv4";
  return at === "first" || everywhere;
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
