/**
 * Session affinity. Only here a Service has chains of its own: one that prefers the endpoint which
 * the client already has, and one for each endpoint that remembers the client. (Without chains it
 * works in the kernel too, but `nft` could not print it.)
 *
 * All endpoints share a few sets of clients: each set costs memory and makes every other slower to
 * find. An endpoint is a number in them, made of its name, so that it is the same after a restart.
 * Two endpoints with one number would only have some clients in common.
 *
 * The time is part of the rule and not of the set, so that changing it keeps the clients where they
 * are, on every kernel.
 */
import type { NftRule, NftSelector, NftStatement } from "../../../kernel/nftables/operations.ts";
import type { Endpoint, ServicePort } from "../../../snapshot/snapshot.ts";
import { endpointNames } from "../names.ts";
import { affinitySetName } from "../shards.ts";
import { gotoChain } from "./statements.ts";

/** The rules of a chain that chooses among the endpoints, for one service port. */
export function affinityRules(
  chain: string,
  servicePort: ServicePort,
  endpoints: readonly Endpoint[],
): readonly NftRule[] {
  const names = endpoints.map((endpoint) => endpointNames(servicePort, endpoint));
  const verdicts = names.map((name) => gotoChain(name.chain));
  if (verdicts.length === 1) {
    return [{ chain, statements: [{ kind: "verdict", verdict: verdicts[0] }] }];
  }
  const pinned = names.map(({ number }, i): NftRule => ({
    chain,
    statements: [
      { kind: "match", select: pin(number), in: { set: affinitySetName(number) } },
      { kind: "verdict", verdict: verdicts[i] },
    ],
  }));
  const random: NftStatement = { kind: "random-verdict", verdicts };
  return [...pinned, { chain, statements: [random] }];
}

/** The rules of the chain of one endpoint. */
export function endpointRules(servicePort: ServicePort, endpoint: Endpoint): readonly NftRule[] {
  const { chain, number } = endpointNames(servicePort, endpoint);
  const protocol = servicePort.protocol.toLowerCase();
  return [
    {
      chain,
      statements: [
        {
          kind: "update-set",
          set: affinitySetName(number),
          select: pin(number),
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

function pin(number: number): readonly NftSelector[] {
  return ["saddr", { constant: number }];
}
