/** ipvs mode leaves on a node what upstream's proxy leaves there for the same cluster: see `tests/peers/README.md`. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { ourProgram } from "../../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer } from "../../kernel/rig/programmers/apiserver.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../../kernel/rig/shop_cluster.ts";
import { differencesFromRecord, readRecordedRules } from "../../peers/recorded_rules.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { ipvsModes, nameOfMode, setupsOf } from "../../scenarios/setups.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { GuestPlane } from "../inside/guest_plane.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;

Deno.test("ipvs mode leaves on a node what upstream's does", async (test) => {
  await using cluster = await createShopCluster();
  await using programmer = await ApiserverProgrammer.create(ourProgram(), await GuestPlane.open());
  const manifests = clusterManifests(shopServices);
  for (const [engine, mode] of ipvsModes.entries()) {
    // Each way of masquerading, and both choices of node port addresses.
    const setups = setupsOf(mode).filter((_, i) => isFull || engine === 0 && i % 2 === 0);
    for (const setup of setups) {
      await test.step(`${nameOfMode(mode)}, ${setup.name}`, async () => {
        await (await programmer.start(cluster, { manifests, setup }))[Symbol.asyncDispose]();
        for (const family of ipFamilies) {
          const save = await listProxyRules(cluster, { mode, family });
          const recorded = await readRecordedRules(setup, family);
          assert.deepEqual(differencesFromRecord(save, recorded, "ipvs"), []);
        }
      });
      await deleteProxyTables(cluster, { mode });
    }
  }
});
