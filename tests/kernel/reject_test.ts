import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { setups } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { runFates } from "./rig/fates.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

// Over IPv6 a client hears of an ICMP rejection only when it repeats its SYN, after a second.
Deno.test("TCP is rejected by a reset, everything else by ICMP", async () => {
  await using cluster = await createShopCluster();
  const [setup] = setups;
  await using _proxy = await new InProcessProgrammer().start(cluster, {
    manifests: clusterManifests(shopServices),
    setup,
  });
  for (const family of ipFamilies) {
    const rows = shopFates.filter((row) => row.expect.kind === "rejected" && isInTheWay(row.to));
    const results = await runFates(cluster, { services: shopServices, rows, setup, family });
    assert.deepEqual(
      results.map(({ name, seen }) => `${name}: ${seen.join()}`),
      rows.map((row, i) => {
        const reason = row.protocol === "TCP" ? "ECONNREFUSED" : "ICMP";
        return `${results[i].name}: rejected (${reason})`;
      }),
    );
  }
});

/** Loopback is answered by whoever listens there. */
function isInTheWay(to: typeof shopFates[number]["to"]): boolean {
  return to.kind !== "node-port" || to.at === "first";
}
