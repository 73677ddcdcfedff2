/**
 * iptables mode writes what upstream's proxy writes for the same cluster, rule for rule; so over rules
 * of upstream's nothing is left to do.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { differencesFromRecord, readRecordedRules } from "../peers/recorded_rules.ts";
import { apiserverManifest, clusterManifests } from "../scenarios/manifests.ts";
import { iptablesModes, nameOfMode, type Setup, setupsOf } from "../scenarios/setups.ts";
import { boundToNode, shopServices } from "../scenarios/shop_services.ts";
import { Cluster } from "./rig/cluster.ts";
import { NftMonitor } from "./rig/nft_monitor.ts";
import { InProcessProxy } from "./rig/programmers/in_process.ts";
import { bindToNode } from "./rig/servers.ts";
import { deleteProxyTables, listProxyRules, restoreProxyRules } from "./rig/shop_cluster.ts";

for (const mode of iptablesModes) {
  Deno.test(`the rules are upstream's, and over upstream's nothing is written, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await Cluster.create();
    await bindToNode(cluster, boundToNode);
    for (const setup of setupsOf(mode)) {
      await test.step(setup.name, async () => {
        // This makes the counters too that rules name, and they stay.
        assert.notEqual(await start(cluster, setup), 0);
        await compare(cluster, setup);
        await deleteProxyTables(cluster, { mode });
        for (const family of ipFamilies) {
          const rules = await readRecordedRules(setup, family);
          await restoreProxyRules(cluster, { mode, family, rules });
        }
        await using monitor = await NftMonitor.start(cluster);
        assert.equal(await start(cluster, setup), 0);
        assert.deepEqual(await monitor.stop(), []);
        await compare(cluster, setup);
        await deleteProxyTables(cluster, { mode });
      });
    }
  });
}

/** Answers how many messages a start sent to the kernel. */
async function start(cluster: Cluster, setup: Setup): Promise<number> {
  await using proxy = new InProcessProxy(cluster, setup);
  const apply = [...clusterManifests(shopServices), apiserverManifest()];
  return await proxy.change({ apply, remove: [] });
}

async function compare(cluster: Cluster, setup: Setup): Promise<void> {
  for (const family of ipFamilies) {
    const save = await listProxyRules(cluster, { mode: setup.mode, family });
    assert.deepEqual(differencesFromRecord(save, await readRecordedRules(setup, family)), []);
  }
}
