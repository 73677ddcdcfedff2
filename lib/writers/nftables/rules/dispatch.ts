/**
 * From the destination of a new connection to the chain that chooses its endpoint. What comes from
 * outside to an external address or a node port is masqueraded, or kept on this node, as the policy
 * says; local pods and the node itself always reach every endpoint.
 */
import type { NftStatement } from "../../../kernel/nftables/operations.ts";
import type { ChainName } from "../names.ts";
import {
  chainOf,
  type ChainWithRules,
  fromLocalPod,
  goTo,
  lookUpAddress,
  lookUpNodePort,
  markForMasquerade,
  type RuleContext,
  toAddressIn,
  toRanges,
  toThisNode,
} from "./statements.ts";

/** The chains between the nat hooks and the choice of an endpoint. */
export function dispatchChains(context: RuleContext): readonly ChainWithRules[] {
  return [
    servicesChain(context),
    clusterPolicyChain("external-cluster", lookUpAddress("cluster-picks"), context),
    localPolicyChain("external-local", {
      cluster: lookUpAddress("cluster-picks"),
      local: lookUpAddress("local-picks"),
      masqueraded: "external-cluster",
    }, context),
    clusterPolicyChain("nodeport-cluster", lookUpNodePort("nodeport-cluster-picks"), context),
    localPolicyChain("nodeport-local", {
      cluster: lookUpNodePort("nodeport-cluster-picks"),
      local: lookUpNodePort("nodeport-local-picks"),
      masqueraded: "nodeport-cluster",
    }, context),
    chainOf("keep-destination", [[{ kind: "dnat-same" }]]),
  ];
}

function servicesChain({ family, mark, settings }: RuleContext): ChainWithRules {
  const toNodePort = settings.nodePortAddresses.kind === "all"
    ? toThisNode(family)
    : [toAddressIn("nodeport-ips")];
  const rules: (readonly NftStatement[])[] = [
    [lookUpAddress("service-ips")],
    [...toNodePort, lookUpNodePort("service-nodeports")],
  ];
  const notLocal = fromLocalPod(settings.localTraffic, { not: true });
  if (settings.masqueradeAll) {
    rules.unshift([toAddressIn("cluster-ips"), markForMasquerade(mark)]);
  } else if (notLocal) {
    rules.unshift([toAddressIn("cluster-ips"), notLocal, markForMasquerade(mark)]);
  }
  if (settings.leftovers) {
    // Ports and addresses that no Service has: an old nat rule must not catch them either.
    rules.push([toAddressIn("cluster-ips"), goTo("keep-destination")]);
    if (settings.serviceCIDRs.length > 0) {
      rules.push([toRanges(settings.serviceCIDRs), goTo("keep-destination")]);
    }
  }
  return chainOf("services", rules);
}

function clusterPolicyChain(
  name: ChainName,
  pick: NftStatement,
  { mark, settings }: RuleContext,
): ChainWithRules {
  return chainOf(name, [[markForMasquerade(mark)], [pick], ...keepDestination(settings)]);
}

interface LocalPolicyPicks {
  readonly cluster: NftStatement;
  readonly local: NftStatement;
  readonly masqueraded: ChainName;
}

function localPolicyChain(
  name: ChainName,
  picks: LocalPolicyPicks,
  { settings }: RuleContext,
): ChainWithRules {
  const localPod = fromLocalPod(settings.localTraffic);
  return chainOf(name, [
    ...(localPod ? [[localPod, picks.cluster]] : []),
    [{ kind: "match-local", select: "saddr" }, goTo(picks.masqueraded)],
    [picks.local],
    ...keepDestination(settings),
  ]);
}

/** Only beside leftovers: it also keeps other software's nat rules from these addresses. */
function keepDestination(
  settings: RuleContext["settings"],
): readonly (readonly NftStatement[])[] {
  return settings.leftovers ? [[goTo("keep-destination")]] : [];
}
