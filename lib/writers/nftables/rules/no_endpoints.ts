/**
 * What happens to packets that still carry a Service's address after nat: nobody serves them. They
 * are refused, so that clients learn at once, or dropped where a Local policy says that another node
 * may serve. Refusing waits for the filter hooks because older kernels cannot do it before routing.
 */
import type { NftStatement } from "../../../kernel/nftables/operations.ts";
import {
  chainOf,
  type ChainWithRules,
  goTo,
  lookUpAddress,
  lookUpNodePort,
  type RuleContext,
  toAddressIn,
  toRanges,
  toThisNode,
} from "./statements.ts";

/** The chains that refuse or drop. */
export function noEndpointChains({ family, settings }: RuleContext): readonly ChainWithRules[] {
  const toNodePort = settings.nodePortAddresses.kind === "all"
    ? toThisNode(family)
    : [toAddressIn("nodeport-ips")];
  const unused: readonly (readonly NftStatement[])[] = settings.serviceCIDRs.length > 0
    ? [[toRanges(settings.serviceCIDRs), { kind: "verdict", verdict: { kind: "drop" } }]]
    : [];
  return [
    chainOf("nodeport-endpoints-check", [
      [...toNodePort, lookUpNodePort("no-endpoint-nodeports")],
    ]),
    chainOf("service-endpoints-check", [[lookUpAddress("no-endpoint-services")]]),
    chainOf("cluster-ips-check", [
      [toAddressIn("cluster-ips"), goTo("reject-chain")],
      ...unused,
    ]),
    // A reset for TCP: ICMP errors are rate-limited by the kernel, and over IPv6 a connecting client
    // notices them only when it repeats its SYN, a second later.
    chainOf("reject-chain", [
      [
        { kind: "match", select: ["l4proto"], in: { values: ["tcp"] } },
        { kind: "reject", tcpReset: true },
      ],
      [{ kind: "reject" }],
    ]),
  ];
}
