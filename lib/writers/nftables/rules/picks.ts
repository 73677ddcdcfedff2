/**
 * The choice among K endpoints. There is one chain for each K in use, shared by every Service that
 * has K endpoints. The second rule is for a packet that was already here while its Service went from
 * K to fewer endpoints: index 0 is there as long as any endpoint is.
 */
import type { NftSelector, NftStatement } from "../../../kernel/nftables/operations.ts";
import type { EndpointMap, PickChain } from "../names.ts";
import type { SetName } from "../sets.ts";
import { shardName } from "../shards.ts";
import { addressKey, type ChainWithRules, nodePortKey } from "./statements.ts";

/** The chain with its two rules. */
export function pickRules(pick: PickChain): ChainWithRules {
  const { name, map, count } = pick;
  const set = shardName(map, pick.shard);
  return {
    chain: { name, comment: `choose one of ${count} from ${set}` },
    rules: [
      { chain: name, statements: choose({ map, set, count }) },
      { chain: name, statements: choose({ map, set, count: 1 }) },
    ],
  };
}

function choose({ count, map, set }: {
  readonly map: EndpointMap;
  readonly set: SetName;
  readonly count: number;
}): readonly NftStatement[] {
  const key: readonly NftSelector[] = map === "endpoints" || map === "local-endpoints"
    ? addressKey
    : nodePortKey;
  return [
    // nat to a port needs to know that there is one.
    { kind: "match", select: ["l4proto"], in: { values: ["sctp", "tcp", "udp"] } },
    { kind: "dnat-map", select: [...key, { numgenModulus: count }], map: set },
  ];
}
