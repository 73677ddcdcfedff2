/**
 * Every mode over what every other one left, for Services that changed since then: what becomes of packets
 * until the old rules are removed, and afterwards. `docs/cleanup.md` has these figures.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { loadBalancerIP } from "../scenarios/addresses.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import {
  iptablesModes,
  nameOfMode,
  nftablesMode,
  type RuleMode,
  setupsOf,
} from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { describeWrong, type FateResult, runFates } from "./rig/fates.ts";
import {
  leaveOldRules,
  leaveUpstreamsRules,
  nameOfOldRules,
  type OldRules,
  unchangedService,
} from "./rig/old_rules.ts";
import { ourProgramArgv } from "./rig/our_program.ts";
import { ManifestFolder, ProgramProcess } from "./rig/programmers/program.ts";
import { createShopCluster, restoreProxyRules } from "./rig/shop_cluster.ts";
import { underLoad } from "./rig/under_load.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
/** Wrong fates wait so long for their answer; right ones come at once. */
const ANSWER_TIMEOUT_MS = 1_000;

/** A pair, and in how many fates of 256 it may differ from the new mode alone until the cleanup. */
interface Pair {
  readonly old: OldRules;
  readonly now: RuleMode;
  readonly most: number;
  /** Packets meet both rules: it differs much, and the program says so. */
  readonly isUnsafe?: boolean;
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

const pairs: readonly Pair[] = [
  { old: us(nft), now: nftablesMode, most: 1, isLong: true },
  { old: us(legacy), now: nftablesMode, most: 1, isLong: true },
  { old: upstream("nft"), now: nftablesMode, most: 3 },
  { old: upstream("legacy"), now: nftablesMode, most: 3 },
  { old: userspace("nft"), now: nftablesMode, most: 0 },
  { old: userspace("legacy"), now: nftablesMode, most: 0, isLong: true },
  { old: us(nftablesMode), now: nft, most: 0 },
  { old: us(nftablesMode), now: legacy, most: 0, isLong: true },
  // Frontends that are to drop or to leave alone are refused by ports that nobody listens on.
  { old: userspace("nft"), now: nft, most: 7, isUnsafe: true },
  { old: userspace("legacy"), now: legacy, most: 7, isUnsafe: true, isLong: true },
  { old: userspace("nft"), now: legacy, most: 7, isUnsafe: true, isLong: true },
  { old: userspace("legacy"), now: nft, most: 7, isUnsafe: true, isLong: true },
  { old: us(nft), now: legacy, most: 24, isUnsafe: true, isLong: true },
  { old: us(legacy), now: nft, most: 24, isUnsafe: true, isLong: true },
  { old: upstream("nft"), now: legacy, most: 24, isUnsafe: true, isLong: true },
  { old: upstream("legacy"), now: nft, most: 24, isUnsafe: true, isLong: true },
  { old: us(nft), now: legacy, most: 160, isUnsafe: true, isNewFirst: true },
  { old: us(legacy), now: nft, most: 160, isUnsafe: true, isNewFirst: true, isLong: true },
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
  const { proxy } = await start(cluster, nft);
  await proxy.said("flags dormant");
  await proxy[Symbol.asyncDispose]();
  await takeOver(cluster, { old: us(nft), now: nftablesMode, most: 3 }, test);
});

async function takeOver(cluster: Cluster, pair: Pair, test: Deno.TestContext): Promise<void> {
  const { isUnsafe = false, most, now, old } = pair;
  let started: Awaited<ReturnType<typeof start>> | undefined;
  await test.step("no connection to a Service that is as it was fails while it starts", () =>
    underLoad(cluster, load, async () => {
      started = await start(cluster, now);
      if (old.by === "us" && old.mode.kind === "nftables") {
        await started.proxy.said("flags dormant");
      }
    }));
  assert.ok(started);
  let { proxy } = started;
  const { folder } = started;
  await test.step("until the cleanup", async () => {
    for (const family of ipFamilies) {
      const wrong = await wrongFates(cluster, now, family);
      assert.ok(wrong.length <= most, describeWrong(wrong));
    }
    assert.match(
      proxy.log(),
      isUnsafe ? /Packets meet them beside this/ : /served as they should be/,
    );
  });
  await test.step("after the cleanup no fate differs", async () => {
    const mode = old.by === "userspace" ? old.by : old.mode.kind;
    const cleanup = async () => {
      const ran = await cluster.tryRun("node", [...ourProgramArgv(), "cleanup", `--mode=${mode}`]);
      assert.equal(ran.code, 0, ran.stdout + ran.stderr);
      assert.match(ran.stdout, /mode: removed \d+ things?\n/);
    };
    if (mode === now.kind) {
      // As the log says: its own rules go as well.
      await proxy[Symbol.asyncDispose]();
      await cleanup();
      proxy = await ProgramProcess.start(cluster, { folder, setup: setupsOf(now)[0] });
    } else {
      await underLoad(cluster, load, cleanup);
      await proxy.said("The rules that another proxy mode left are gone");
    }
    for (const family of ipFamilies) {
      assert.equal(describeWrong(await wrongFates(cluster, now, family)), "");
    }
  });
  await proxy[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
}

const load = {
  address: loadBalancerIP(numberOf(unchangedService)),
  perSecond: 200,
};

/** As any other program of the node does that uses this engine. */
async function makeTables(cluster: Cluster, mode: RuleMode): Promise<void> {
  const chains = (...names: readonly string[]) => names.map((name) => `:${name} ACCEPT [0:0]`);
  const rules = [
    ...["*nat", ...chains("PREROUTING", "OUTPUT", "POSTROUTING"), "COMMIT"],
    ...["*filter", ...chains("INPUT", "FORWARD", "OUTPUT"), "COMMIT"],
  ];
  for (const family of ipFamilies) await restoreProxyRules(cluster, { mode, family, rules });
}

async function start(cluster: Cluster, mode: RuleMode) {
  const folder = await ManifestFolder.create(clusterManifests(shopServices));
  const [setup] = setupsOf(mode);
  return { folder, proxy: await ProgramProcess.start(cluster, { folder, setup }) };
}

async function wrongFates(
  cluster: Cluster,
  mode: RuleMode,
  family: (typeof ipFamilies)[number],
): Promise<readonly FateResult[]> {
  const [setup] = setupsOf(mode);
  const options = { services: shopServices, rows: shopFates, setup, family };
  const results = await runFates(cluster, { ...options, answerTimeoutMs: ANSWER_TIMEOUT_MS });
  return results.filter(({ right }) => !right);
}

function numberOf(service: string): number {
  const found = shopServices.find(({ name }) => name === service);
  assert.ok(found);
  return found.number;
}
