/**
 * Source ranges of load balancer addresses. One chain for each protocol, because a set with the
 * protocol inside its ranges is refused by `nft`.
 */
import type { Protocol } from "../../../base/protocol.ts";
import type { ChainName } from "../names.ts";
import { allowSets } from "../sets.ts";
import { chainOf, type ChainWithRules, lookUpAddress } from "./statements.ts";

/** Where packets to a load balancer address with source ranges go. */
export const firewallChains: Readonly<Record<Protocol, ChainName>> = {
  SCTP: "firewall-sctp",
  TCP: "firewall-tcp",
  UDP: "firewall-udp",
};

/** The chain that finds such addresses, and those that drop. */
export function firewallRules(): readonly ChainWithRules[] {
  return [
    chainOf("firewall-check", [[lookUpAddress("firewall-ips")]]),
    allowChain("SCTP"),
    allowChain("TCP"),
    allowChain("UDP"),
  ];
}

/** The chain that drops what the set of its protocol does not hold. */
export function allowChain(protocol: Protocol): ChainWithRules {
  return chainOf(firewallChains[protocol], [[
    {
      kind: "match",
      select: ["daddr", "dport", "saddr"],
      not: true,
      in: { set: allowSets[protocol] },
    },
    { kind: "verdict", verdict: { kind: "drop" } },
  ]]);
}
