import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { setups } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { describeWrong, runFates } from "./rig/fates.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";
import { listProxyTable, traceFates } from "./rig/traced_fates.ts";

/** Rules whose absence no fate of a quiet cluster shows, and what does show it. */
const shownElsewhere: readonly { readonly fault: string; readonly by: string }[] = [
  { fault: "keep-destination without rule 1", by: "leftovers_test.ts: nothing else leads there" },
  { fault: "reject-chain without rule 1", by: "reject_test.ts: the rejection would come by ICMP" },
];

/** Of the fates that a fault should change, so many are tried with packets. */
const packetsPerFault = 6;
const families = Deno.env.get("KUBE_PROXY_TEST_FULL") ? ipFamilies : ipFamilies.slice(0, 1);
const [setup] = setups;

Deno.test("each rule of each static chain is missed by some packet", async (test) => {
  await using cluster = await createShopCluster();
  {
    await using _proxy = await new InProcessProgrammer().start(cluster, {
      manifests: clusterManifests(shopServices),
      setup,
    });
  }
  for (const family of families) {
    const saved = `delete table ${table(family)}\n${await saveTable(cluster, family)}`;
    // Handles count from the start in a new table: they are the same each time it is put back.
    await nft(cluster, saved);
    for (const { name, script } of await plannedFaults(cluster, family)) {
      if (shownElsewhere.some((each) => each.fault === name)) continue;
      await test.step(`${family} ${name}`, async () => {
        await nft(cluster, script);
        assert.notEqual((await wrongFates(cluster, family)).length, 0);
      });
      await nft(cluster, saved);
    }
    // The table was put back.
    const options = { services: shopServices, rows: shopFates, setup, family };
    assert.equal(describeWrong(await runFates(cluster, options)), "");
  }
});

interface Fault {
  readonly name: string;
  readonly script: string;
}

/**
 * Each rule of each chain that belongs to no single Service is missing once. The rules of a
 * `pick-K` chain stand in for each other (churn_test.ts needs both), so they are missing together.
 */
async function plannedFaults(cluster: Cluster, family: IpFamily): Promise<readonly Fault[]> {
  const { chains } = await listProxyTable(cluster, family);
  return [...chains].filter(([chain]) => !chain.includes("/")).flatMap(([chain, rules]) => {
    if (chain.startsWith("pick-")) {
      return [{ name: `${chain} emptied`, script: `flush chain ${table(family)} ${chain}` }];
    }
    return rules.map(({ handle }, i) => ({
      name: `${chain} without rule ${i + 1}`,
      script: `delete rule ${table(family)} ${chain} handle ${handle}`,
    }));
  });
}

/** The rules say which fates to try, so that not every packet is sent for every fault. */
async function wrongFates(cluster: Cluster, family: IpFamily): Promise<readonly string[]> {
  const options = { services: shopServices, setup, family, answerTimeoutMs: 1000 };
  const traced = traceFates(await listProxyTable(cluster, family), { ...options, rows: shopFates });
  const rows = shopFates.filter((_, i) => !traced[i].right).slice(0, packetsPerFault);
  const results = await runFates(cluster, { ...options, rows });
  return results.filter((result) => !result.right).map((result) => result.name);
}

function table(family: IpFamily): string {
  return `${family === "IPv4" ? "ip" : "ip6"} kube-proxy`;
}

function saveTable(cluster: Cluster, family: IpFamily): Promise<string> {
  return cluster.run("node", ["nft", "list", "table", ...table(family).split(" ")]);
}

async function nft(cluster: Cluster, script: string): Promise<void> {
  await cluster.run("node", ["nft", "-f", "-"], `${script}\n`);
}
