/**
 * What upstream's proxy leaves on a node in ipvs mode for the shop's cluster, in each set-up, one line
 * of JSON for each: for `tests/peers/record_ipvs.ts`, which runs this in a guest.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { upstreamProgram } from "../../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer } from "../../kernel/rig/programmers/apiserver.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../../kernel/rig/shop_cluster.ts";
import { canonicalRules } from "../../peers/recorded_rules.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { ipvsModes, setupsOf } from "../../scenarios/setups.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { GuestPlane } from "../inside/guest_plane.ts";
import { tellOutside } from "../outside.ts";

Deno.test("what upstream's proxy leaves in ipvs mode", async () => {
  const program = upstreamProgram();
  assert.ok(program, "no kube-proxy on the guests' drive; run scripts/controlplane-tools");
  await using cluster = await createShopCluster();
  await using programmer = await ApiserverProgrammer.create(program, await GuestPlane.open());
  const [mode] = ipvsModes;
  const manifests = clusterManifests(shopServices);
  for (const setup of setupsOf(mode)) {
    await (await programmer.start(cluster, { manifests, setup }))[Symbol.asyncDispose]();
    for (const family of ipFamilies) {
      const lines = canonicalRules(await listProxyRules(cluster, { mode, family }), "ipvs");
      tellOutside("recorded", { setup: setup.name, family, lines });
    }
    await deleteProxyTables(cluster, { mode });
  }
});
