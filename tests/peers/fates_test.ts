import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { describeWrong, runFates } from "../kernel/rig/fates.ts";
import { upstreamProgram } from "../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer } from "../kernel/rig/programmers/apiserver.ts";
import { createShopCluster, deleteProxyTables } from "../kernel/rig/shop_cluster.ts";
import { listProxyTable, traceFates } from "../kernel/rig/traced_fates.ts";
import type { Cluster } from "../kernel/rig/cluster.ts";
import type { Place } from "../scenarios/expected.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { allModes, nameOfMode, setupsOf } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";

const program = upstreamProgram();

for (const mode of allModes) {
  Deno.test({
    name: program
      ? `upstream's proxy agrees with every row of the table of fates, ${nameOfMode(mode)}`
      : `upstream's proxy agrees with the table of fates, ${nameOfMode(mode)} ` +
        "(no kube-proxy: see scripts/controlplane-tools)",
    ignore: program === undefined,
    fn: async (test) => {
      assert.ok(program);
      await using cluster = await createShopCluster();
      await using programmer = await ApiserverProgrammer.create(program);
      for (const setup of setupsOf(mode)) {
        await test.step(setup.name, async () => {
          await using _proxy = await programmer.start(cluster, {
            manifests: clusterManifests(shopServices),
            setup,
          });
          for (const family of ipFamilies) await compare(cluster, { setup, family });
        });
        await deleteProxyTables(cluster, { mode });
      }
    },
  });
}

async function compare(cluster: Cluster, place: Place): Promise<void> {
  const isNftables = place.setup.mode.kind === "nftables";
  const rows = shopFates.filter((row) => !(isNftables && row.oursAlone));
  const options = { services: shopServices, rows, ...place };
  assert.equal(describeWrong(await runFates(cluster, options)), "");
  if (!isNftables) return;
  // The tracer is judged by the same rules and packets.
  const listed = await listProxyTable(cluster, place.family);
  assert.equal(describeWrong(traceFates(listed, options)), "");
}
