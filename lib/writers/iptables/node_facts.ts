/** What the mode's settings, the node and the number of endpoints make of a family's rules. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { FamilySettings } from "../../snapshot/snapshot.ts";
import type { RuleContext } from "./rules/context.ts";

/** More endpoints than this, and their chains go without comments. */
const largeClusterEndpoints = 1_000;

/** What stays the same while the program runs, but for the link. */
export interface NodeFacts {
  readonly masqueradeBit: number;
  readonly localhostNodePorts: boolean;
  /** conntrack takes packets out of their window for what they are, so that none is called invalid. */
  readonly isLiberal: boolean;
  /** Whether the link of ipvs mode is there. Asked beside leftovers alone: it goes with them. */
  hasIpvsLink(): boolean;
}

/** Whether comments are left out. */
export function isLargeCluster(endpoints: number): boolean {
  return endpoints > largeClusterEndpoints;
}

/** Whether node ports answer on 127.0.0.1: IPv4 alone can, where its addresses have any. */
export function servesLocalhost(
  { localhostNodePorts }: Pick<NodeFacts, "localhostNodePorts">,
  family: IpFamily,
  { nodePortAddresses }: FamilySettings,
): boolean {
  if (!localhostNodePorts || family !== "IPv4") return false;
  return nodePortAddresses.kind === "all" || (nodePortAddresses.loopback ?? []).length > 0;
}

/** What the family's rules depend on. */
export function contextOf(
  facts: NodeFacts,
  rest: Pick<RuleContext, "family" | "settings" | "counters" | "isLarge">,
): RuleContext {
  return {
    ...rest,
    mark: (1 << facts.masqueradeBit) >>> 0,
    localhostNodePorts: servesLocalhost(facts, rest.family, rest.settings),
    dropsInvalid: !facts.isLiberal,
    addressesAreHere: rest.settings.leftovers && facts.hasIpvsLink(),
  };
}
