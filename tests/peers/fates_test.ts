import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { describeWrong, runFates } from "../kernel/rig/fates.ts";
import { upstreamProgram } from "../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer } from "../kernel/rig/programmers/apiserver.ts";
import { createShopCluster, deleteProxyTables } from "../kernel/rig/shop_cluster.ts";
import { listProxyTable, traceFates } from "../kernel/rig/traced_fates.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { setups } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";

const rows = shopFates.filter((row) => !row.oursAlone);
const program = upstreamProgram();

Deno.test({
  name: program
    ? "upstream's proxy agrees with every row of the table of fates"
    : "upstream's proxy agrees with the table of fates (no kube-proxy: see scripts/controlplane-tools)",
  ignore: program === undefined,
  fn: async (test) => {
    assert.ok(program);
    await using cluster = await createShopCluster();
    await using programmer = await ApiserverProgrammer.create(program);
    for (const setup of setups) {
      await test.step(setup.name, async () => {
        await using _proxy = await programmer.start(cluster, {
          manifests: clusterManifests(shopServices),
          setup,
        });
        for (const family of ipFamilies) {
          const options = { services: shopServices, rows, setup, family };
          assert.equal(describeWrong(await runFates(cluster, options)), "");
          // The tracer is judged by the same rules and packets.
          const listed = await listProxyTable(cluster, family);
          assert.equal(describeWrong(traceFates(listed, options)), "");
        }
      });
      await deleteProxyTables(cluster);
    }
  },
});
