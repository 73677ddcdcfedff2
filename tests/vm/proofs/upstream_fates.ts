/** Upstream's proxy in ipvs mode agrees with every row of the table of fates, in each set-up. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { describeWrong, runFates } from "../../kernel/rig/fates.ts";
import { ApiserverProgrammer } from "../../kernel/rig/programmers/apiserver.ts";
import { createShopCluster, deleteProxyTables } from "../../kernel/rig/shop_cluster.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { ipvsModes, setupsOf } from "../../scenarios/setups.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { GuestPlane } from "../inside/guest_plane.ts";
import { upstreams } from "../inside/proof.ts";

Deno.test("upstream's proxy agrees with the table of fates, ipvs", async (test) => {
  await using cluster = await createShopCluster();
  await using programmer = await ApiserverProgrammer.create(upstreams(), await GuestPlane.open());
  const [mode] = ipvsModes;
  for (const setup of setupsOf(mode)) {
    // A proxy that runs while its rules are removed makes them again.
    await test.step(setup.name, async (test) => {
      const manifests = clusterManifests(shopServices);
      await using _proxy = await programmer.start(cluster, { manifests, setup });
      for (const family of ipFamilies) {
        await test.step(family, async () => {
          const options = { services: shopServices, rows: shopFates, setup, family };
          assert.equal(describeWrong(await runFates(cluster, options)), "");
        });
      }
    });
    await deleteProxyTables(cluster, { mode });
  }
});
