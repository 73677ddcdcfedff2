/** Service ports and contexts for the tests of this mode. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type { FamilySettings, ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import type { NodeFacts } from "../../../../lib/writers/iptables/node_facts.ts";
import type { RuleContext } from "../../../../lib/writers/iptables/rules/context.ts";
import * as nftables from "../nftables/samples.ts";

export const { endpoints, servicePort, settings } = nftables;

/** What a node says that has not been told anything. */
export const plainFacts: NodeFacts = {
  masqueradeBit: 14,
  localhostNodePorts: false,
  isLiberal: false,
  hasIpvsLink: () => false,
};

/** What the rules of a plain node depend on. */
export function contextOf(family: IpFamily, overrides: Partial<RuleContext> = {}): RuleContext {
  return {
    family,
    mark: 0x4000,
    settings: settings[family],
    localhostNodePorts: false,
    dropsInvalid: true,
    counters: { invalid: true, localhost: true },
    addressesAreHere: false,
    isLarge: false,
    ...overrides,
  };
}

/** One service port of every shape, with the endpoints that a snapshot gives it. */
export function everyShape(family: IpFamily): readonly ServicePort[] {
  return nftables.everyShape(family).map((each) => {
    const usesCluster = !each.internalPolicyLocal || each.externallyAccessible;
    const clusterEndpoints = usesCluster ? each.clusterEndpoints : [];
    return {
      ...each,
      clusterEndpoints,
      reachableEndpoints: usesCluster ? clusterEndpoints : each.localEndpoints,
      healthCheckNodePort: each.name === "c-external-local" ? 30112 : 0,
    };
  });
}

export function snapshotOf(
  family: IpFamily,
  servicePorts: readonly ServicePort[],
  overrides: Partial<FamilySettings> = {},
): Snapshot {
  return nftables.snapshotOf(family, servicePorts, overrides);
}
