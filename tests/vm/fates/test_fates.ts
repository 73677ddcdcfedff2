/** The table of fates as a guest runs it, in one set-up of each mode or in all: both families, by packets. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { nameOfMode, type RuleMode, type Setup, setupsOf } from "../../scenarios/setups.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { describeWrong, runFates } from "../../kernel/rig/fates.ts";
import type { Cluster } from "../../kernel/rig/cluster.ts";
import { showBackend } from "../../kernel/rig/mode_rules.ts";
import { InProcessProgrammer } from "../../kernel/rig/programmers/in_process.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../../kernel/rig/shop_cluster.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;

/** Registers a test of these modes, one after the other in one cluster. What differs by kernel shows in one set-up already. */
export function testFates(...modes: readonly RuleMode[]): void {
  Deno.test("every packet of the table of fates meets its fate", async (test) => {
    await using cluster = await createShopCluster();
    for (const mode of modes) {
      const all = setupsOf(mode);
      for (const setup of isFull ? all : all.slice(0, 1)) {
        await test.step(`${nameOfMode(mode)}, ${setup.name}`, (test) =>
          meetFates(cluster, { setup, test }));
      }
    }
  });
}

async function meetFates(cluster: Cluster, { setup, test }: {
  readonly setup: Setup;
  readonly test: Deno.TestContext;
}): Promise<void> {
  const { mode } = setup;
  // Its configuration has no word for the engine: the mode takes the one that kubelet uses.
  if (mode.kind === "ipvs") await showBackend((argv) => cluster.run("node", argv), mode);
  try {
    await using _proxy = await new InProcessProgrammer().start(cluster, {
      manifests: clusterManifests(shopServices),
      setup,
    });
    for (const family of ipFamilies) {
      await test.step(family, async () => {
        assert.doesNotMatch(await rulesElsewhere(cluster, mode, family), /KUBE-SERVICES/);
        const options = { services: shopServices, rows: shopFates, setup, family };
        assert.equal(describeWrong(await runFates(cluster, options)), "");
      });
    }
  } finally {
    await deleteProxyTables(cluster, { mode });
  }
}

/** What the other engine of iptables holds: rules there would decide beside those that are meant. */
async function rulesElsewhere(
  cluster: Cluster,
  mode: RuleMode,
  family: IpFamily,
): Promise<string> {
  if (mode.kind === "nftables") return "";
  const backend = mode.backend === "nft" ? "legacy" : "nft";
  return await listProxyRules(cluster, { mode: { kind: "iptables", backend }, family });
}
