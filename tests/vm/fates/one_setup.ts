/** The table of fates in one set-up, as a guest runs it: both families, by packets. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { nameOfMode, type RuleMode, setupsOf } from "../../scenarios/setups.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { describeWrong, runFates } from "../../kernel/rig/fates.ts";
import { InProcessProgrammer } from "../../kernel/rig/programmers/in_process.ts";
import { createShopCluster } from "../../kernel/rig/shop_cluster.ts";

/** Registers the test of a mode. Other set-ups are run natively; what differs by kernel shows in one. */
export function testFates(mode: RuleMode): void {
  const [setup] = setupsOf(mode);
  Deno.test(`every packet of the table of fates meets its fate, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    await using _proxy = await new InProcessProgrammer().start(cluster, {
      manifests: clusterManifests(shopServices),
      setup,
    });
    for (const family of ipFamilies) {
      await test.step(`${family}, ${setup.name}`, async () => {
        const options = { services: shopServices, rows: shopFates, setup, family };
        assert.equal(describeWrong(await runFates(cluster, options)), "");
      });
    }
  });
}
