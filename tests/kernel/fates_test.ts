import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { allModes, nameOfMode, setupsOf } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { describeWrong, runFates } from "./rig/fates.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster, deleteProxyTables } from "./rig/shop_cluster.ts";
import { listProxyTable, traceFates } from "./rig/traced_fates.ts";

for (const mode of allModes) {
  Deno.test(`every packet of the table of fates meets its fate, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    for (const setup of setupsOf(mode)) {
      await test.step(setup.name, async () => {
        await using _proxy = await new InProcessProgrammer().start(cluster, {
          manifests: clusterManifests(shopServices),
          setup,
        });
        for (const family of ipFamilies) {
          const options = { services: shopServices, rows: shopFates, setup, family };
          assert.equal(describeWrong(await runFates(cluster, options)), "");
          if (mode.kind !== "nftables") continue;
          // What `nft` prints must mean the same: people will judge the rules by it.
          const listed = await listProxyTable(cluster, family);
          assert.equal(describeWrong(traceFates(listed, options)), "");
        }
        await deleteProxyTables(cluster, { mode });
      });
    }
  });
}
