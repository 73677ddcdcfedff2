/** Our writer over the rules of upstream's live proxy: there is nothing to write. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { upstreamProgram } from "../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer } from "../kernel/rig/programmers/apiserver.ts";
import { InProcessProxy } from "../kernel/rig/programmers/in_process.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../kernel/rig/shop_cluster.ts";
import { apiserverManifest, clusterManifests } from "../scenarios/manifests.ts";
import { iptablesModes, nameOfMode, setupsOf } from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { differencesFromRecord, readRecordedRules } from "./recorded_rules.ts";

const program = upstreamProgram();

Deno.test({
  name: program
    ? "iptables mode over upstream's rules writes nothing"
    : "iptables mode over upstream's rules (no kube-proxy: see scripts/controlplane-tools)",
  ignore: program === undefined,
  fn: async (test) => {
    assert.ok(program);
    await using cluster = await createShopCluster();
    await using programmer = await ApiserverProgrammer.create(program);
    const all = iptablesModes.flatMap((mode) => setupsOf(mode).map((setup) => ({ mode, setup })));
    for (const { mode, setup } of all) {
      await test.step(`${nameOfMode(mode)}, ${setup.name}`, async () => {
        const manifests = clusterManifests(shopServices);
        await (await programmer.start(cluster, { manifests, setup }))[Symbol.asyncDispose]();
        for (const family of ipFamilies) {
          const save = await listProxyRules(cluster, { mode, family });
          const recorded = await readRecordedRules(setup, family);
          assert.deepEqual(differencesFromRecord(save, recorded), [], "recorded otherwise");
        }
        await using ours = new InProcessProxy(cluster, setup);
        const apply = [...manifests, apiserverManifest()];
        assert.equal(await ours.change({ apply, remove: [] }), 0);
      });
      await deleteProxyTables(cluster, { mode });
    }
  },
});
