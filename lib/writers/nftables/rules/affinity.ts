/**
 * Session affinity. Only here a Service has chains of its own: one that prefers the endpoint which
 * the client already has, and one for each endpoint that remembers the client. (Without chains it
 * works in the kernel too, but `nft` could not print it.) The time is part of the rule and not of
 * the set, so that changing it keeps the clients where they are, on every kernel.
 */
import type { NftRule, NftSet, NftStatement } from "../../../kernel/nftables/operations.ts";
import type { Endpoint, ServicePort } from "../../../snapshot/snapshot.ts";
import { endpointNames } from "../names.ts";
import { gotoChain } from "./statements.ts";

/** Kubernetes' default of three hours; the rules name their own time. */
const defaultSeconds = 10_800;

/** The rules of a chain that chooses among the endpoints, for one service port. */
export function affinityRules(
  chain: string,
  servicePort: ServicePort,
  endpoints: readonly Endpoint[],
): readonly NftRule[] {
  const names = endpoints.map((endpoint) => endpointNames(servicePort, endpoint));
  const pinned = names.map((name): NftRule => ({
    chain,
    statements: [
      { kind: "match", select: ["saddr"], in: { set: name.set } },
      { kind: "verdict", verdict: gotoChain(name.chain) },
    ],
  }));
  const random: NftStatement = {
    kind: "random-verdict",
    verdicts: names.map((name) => gotoChain(name.chain)),
  };
  return [...pinned, { chain, statements: [random] }];
}

/** The rules of the chain of one endpoint. */
export function endpointRules(servicePort: ServicePort, endpoint: Endpoint): readonly NftRule[] {
  const { chain, set } = endpointNames(servicePort, endpoint);
  const protocol = servicePort.protocol.toLowerCase();
  return [
    {
      chain,
      statements: [
        {
          kind: "update-set",
          set,
          select: "saddr",
          timeoutSeconds: servicePort.affinitySeconds,
        },
      ],
    },
    {
      chain,
      statements: [
        { kind: "match", select: ["l4proto"], in: { values: [protocol] } },
        { kind: "dnat", address: endpoint.ip, port: endpoint.port },
      ],
    },
  ];
}

/** The clients that have this endpoint. */
export function affinitySet(servicePort: ServicePort, endpoint: Endpoint): NftSet {
  const { set } = endpointNames(servicePort, endpoint);
  return { name: set, key: ["addr"], dynamicTimeoutSeconds: defaultSeconds };
}
