/**
 * Every mode over what every other one left, for Services that changed since then: what becomes of packets
 * until the old rules are removed, and afterwards. `docs/cleanup.md` has these figures. Pairs with ipvs mode are in
 * `tests/vm/proofs/leftovers.ts`.
 */
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { iptablesModes, nameOfMode, nftablesMode, type RuleMode } from "../scenarios/setups.ts";
import type { Cluster } from "./rig/cluster.ts";
import { type Pair, startOver, takeOver } from "./rig/mode_pairs.ts";
import {
  leaveOldRules,
  leaveUpstreamsRules,
  nameOfOldRules,
  type OldRules,
} from "./rig/old_rules.ts";
import { createShopCluster, restoreProxyRules } from "./rig/shop_cluster.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;

/** A pair, and when it is tried. */
interface TriedPair extends Pair {
  /** The tables of the new one's engine were made before those of the old one's: the last are asked first. */
  readonly isNewFirst?: boolean;
  /** In `full` alone. */
  readonly isLong?: boolean;
}

const [nft, legacy] = iptablesModes;
const us = (mode: RuleMode): OldRules => ({ by: "us", mode });
const upstream = (backend: "nft" | "legacy"): OldRules => ({
  by: "upstream",
  mode: { kind: "iptables", backend },
});
const userspace = (backend: "nft" | "legacy"): OldRules => ({ by: "userspace", backend });

const pairs: readonly TriedPair[] = [
  { old: us(nft), now: nftablesMode, most: 1, isLong: true },
  { old: us(legacy), now: nftablesMode, most: 1, isLong: true },
  { old: upstream("nft"), now: nftablesMode, most: 3 },
  { old: upstream("legacy"), now: nftablesMode, most: 3 },
  { old: userspace("nft"), now: nftablesMode, most: 0 },
  { old: userspace("legacy"), now: nftablesMode, most: 0, isLong: true },
  { old: us(nftablesMode), now: nft, most: 0 },
  { old: us(nftablesMode), now: legacy, most: 0, isLong: true },
  { old: userspace("nft"), now: nft, most: 0 },
  { old: userspace("legacy"), now: legacy, most: 0, isLong: true },
  { old: userspace("nft"), now: legacy, most: 0, isLong: true },
  { old: userspace("legacy"), now: nft, most: 0, isLong: true },
  { old: us(nft), now: legacy, most: 0, isLong: true },
  { old: us(legacy), now: nft, most: 0, isLong: true },
  { old: upstream("nft"), now: legacy, most: 0, isLong: true },
  { old: upstream("legacy"), now: nft, most: 0, isLong: true },
  { old: us(nft), now: legacy, most: 0, isNewFirst: true },
  { old: us(legacy), now: nft, most: 0, isNewFirst: true, isLong: true },
];

for (const pair of pairs.filter(({ isLong }) => isFull || !isLong)) {
  const { now, old } = pair;
  const last = pair.isNewFirst ? ", whose tables were made last," : "";
  Deno.test(`${nameOfMode(now)} over what ${nameOfOldRules(old)}${last} left`, async (test) => {
    await using cluster = await createShopCluster();
    if (pair.isNewFirst) await makeTables(cluster, now);
    await leaveOldRules(cluster, old);
    await takeOver(cluster, pair, test);
  });
}

if (isFull) {
  Deno.test("nftables over what upstream's live proxy left in both backends of iptables", async (test) => {
    await using cluster = await createShopCluster();
    await leaveUpstreamsRules(cluster, iptablesModes);
    await takeOver(cluster, { old: upstream("nft"), now: nftablesMode, most: 3 }, test);
  });
}

Deno.test("nftables mode after iptables mode after nftables mode: the way back", async (test) => {
  await using cluster = await createShopCluster();
  await leaveOldRules(cluster, us(nftablesMode));
  const { proxy } = await startOver(cluster, nft);
  await proxy.said("flags dormant");
  await proxy[Symbol.asyncDispose]();
  await takeOver(cluster, { old: us(nft), now: nftablesMode, most: 3 }, test);
});

/** As any other program of the node does that uses this engine. */
async function makeTables(cluster: Cluster, mode: RuleMode): Promise<void> {
  const chains = (...names: readonly string[]) => names.map((name) => `:${name} ACCEPT [0:0]`);
  const rules = [
    ...["*nat", ...chains("PREROUTING", "OUTPUT", "POSTROUTING"), "COMMIT"],
    ...["*filter", ...chains("INPUT", "FORWARD", "OUTPUT"), "COMMIT"],
  ];
  for (const family of ipFamilies) await restoreProxyRules(cluster, { mode, family, rules });
}
