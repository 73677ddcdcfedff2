/**
 * The program as a node runs it: a process in the node's namespace, kubeadm's configuration and
 * arguments, a real apiserver, and no more rights than the built-in role of system:kube-proxy gives.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { describeWrong, runFates } from "../kernel/rig/fates.ts";
import { ApiserverProgrammer } from "../kernel/rig/programmers/apiserver.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../kernel/rig/shop_cluster.ts";
import { differencesFromRecord, readRecordedRules } from "../peers/recorded_rules.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { allModes, nameOfMode, setupsOf } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { ourProgram } from "./rig/proxy_process.ts";

for (const mode of allModes) {
  Deno.test(`the program beside a real apiserver meets the table of fates, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    await using programmer = await ApiserverProgrammer.create(ourProgram());
    for (const setup of setupsOf(mode)) {
      await test.step(setup.name, async () => {
        await using _proxy = await programmer.start(cluster, {
          manifests: clusterManifests(shopServices),
          setup,
        });
        for (const family of ipFamilies) {
          const options = { services: shopServices, rows: shopFates, setup, family };
          assert.equal(describeWrong(await runFates(cluster, options)), "");
          if (mode.kind !== "iptables") continue;
          const recorded = await readRecordedRules(setup, family);
          const save = await listProxyRules(cluster, { mode, family });
          assert.deepEqual(differencesFromRecord(save, recorded), []);
        }
      });
      await deleteProxyTables(cluster, { mode });
    }
  });
}
