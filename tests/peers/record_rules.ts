/**
 * Records what upstream's proxy writes in iptables mode for the shop's cluster in each set-up, as
 * `iptables-save` prints it. Both engines must say the same.
 *   deno run -A tests/peers/record_rules.ts
 */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { controlPlaneVersion } from "../controlplane/rig/binaries.ts";
import { upstreamProgram } from "../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer } from "../kernel/rig/programmers/apiserver.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../kernel/rig/shop_cluster.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { iptablesModes, type RuleMode, setupsOf } from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { canonicalRules, writeRecordedRules } from "./recorded_rules.ts";

/** By family, then by the name of the set-up. */
type Saves = Readonly<Record<IpFamily, Map<string, readonly string[]>>>;

const program = upstreamProgram();
if (!program) throw new Error("Cannot record: no kube-proxy; run scripts/controlplane-tools");
await using cluster = await createShopCluster();
await using programmer = await ApiserverProgrammer.create(program);

async function saveAll(mode: RuleMode): Promise<Saves> {
  const saves: Saves = { IPv4: new Map(), IPv6: new Map() };
  for (const setup of setupsOf(mode)) {
    const manifests = clusterManifests(shopServices);
    // A proxy that runs while its rules are removed makes them again.
    await (await programmer.start(cluster, { manifests, setup }))[Symbol.asyncDispose]();
    for (const family of ipFamilies) {
      const save = await listProxyRules(cluster, { mode, family });
      saves[family].set(setup.name, canonicalRules(save));
    }
    await deleteProxyTables(cluster, { mode });
  }
  return saves;
}

const [nft, legacy] = iptablesModes;
const saves = await saveAll(nft);
assert.deepEqual(await saveAll(legacy), saves);
const tool = (await cluster.run("node", ["iptables-nft", "--version"])).trim();
const day = new Date().toISOString().slice(0, 10);
for (const family of ipFamilies) {
  await writeRecordedRules(family, {
    title: `upstream's kube-proxy ${controlPlaneVersion}, ${tool}, ${day}`,
    saves: saves[family],
  });
}
