import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { clusterIP, type Host, loadBalancerIP } from "../scenarios/addresses.ts";
import { bulkServices } from "../scenarios/bulk_services.ts";
import { clusterManifests, serviceManifests } from "../scenarios/manifests.ts";
import { Draws } from "../scenarios/random_services.ts";
import { allModes, nameOfMode, type Setup, setupsOf } from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { ManifestFolder, ProgramProcess, runArgv } from "./rig/programmers/program.ts";
import { createShopCluster, deleteProxyTables } from "./rig/shop_cluster.ts";
import { differentLines, ruleLines } from "./rig/rule_lines.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const seed = Number(Deno.env.get("KUBE_PROXY_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const bulk = 300;
/** From before the first system call of the program to just after its first sync. */
const longestLoadMs = 500;
/** To long after it. */
const longestLifeMs = 1200;
const SETTLE_DEADLINE_MS = 5000;

// The clean start happens in another namespace, so nothing may depend on the node's addresses.
for (const setup of allModes.map((mode) => setupsOf(mode)[3])) {
  const { mode, nodePortAddresses } = setup;
  assert.equal(nodePortAddresses, "all");
  const kills = isFull ? 100 : mode.kind === "nftables" ? 4 : 2;
  Deno.test(`killed at ${kills} random moments, the next start leaves what a clean one does, ${nameOfMode(mode)} (seed ${seed})`, async (test) => {
    const draws = new Draws(seed);
    await using cluster = await createShopCluster();
    await using folder = await ManifestFolder.create(
      clusterManifests([...shopServices, ...bulkServices(bulk, { endpoints: 3 })]),
    );

    await test.step("while it loads into an empty kernel", async () => {
      for (let i = 0; i < kills / 2; i++) {
        await deleteProxyTables(cluster, { mode });
        await killSoon(cluster, { setup, folder, draws, longestMs: longestLoadMs });
        await assertCleanAfterRestart(cluster, { setup, folder });
      }
    });

    await test.step("while Services change, and connections to others do not fail", async () => {
      const stops = await Promise.all(
        ipFamilies.flatMap((family) => [clusterIP(10)[family], loadBalancerIP(11)[family]])
          .map((address) =>
            cluster.agent.startLoad({
              namespace: cluster.namespace("client-a"),
              protocol: "TCP",
              address,
              port: 80,
              perSecond: 50,
              timeoutMs: 3000,
            })
          ),
      );
      for (let i = 0; i < kills / 2; i++) {
        const changing = changeServices(folder, draws);
        await killSoon(cluster, { setup, folder, draws, longestMs: longestLifeMs });
        await changing;
        await assertCleanAfterRestart(cluster, { setup, folder });
      }
      const reports = await Promise.all(stops.map((stop) => stop()));
      assert.deepEqual(reports.map(({ failed }) => failed), reports.map(() => ({})));
      assert.ok(reports.every(({ attempts }) => attempts > 50));
    });
  });
}

async function killSoon(
  cluster: Cluster,
  { setup, folder, draws, longestMs }: {
    readonly setup: Setup;
    readonly folder: ManifestFolder;
    readonly draws: Draws;
    readonly longestMs: number;
  },
): Promise<void> {
  const proxy = new ProgramProcess(cluster, { folder, setup });
  await new Promise((resolve) => setTimeout(resolve, draws.next() * longestMs));
  await proxy.end("SIGKILL");
}

/** Some Services get other endpoints, a few at a time, for as long as a proxy may live. */
async function changeServices(folder: ManifestFolder, draws: Draws): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const services = bulkServices(bulk, { endpoints: 1 + draws.below(5) });
    const changed = Array.from({ length: 5 }, () => draws.pick(services));
    await folder.write(changed.flatMap(serviceManifests));
    await new Promise((resolve) => setTimeout(resolve, longestLifeMs / 20));
  }
}

async function assertCleanAfterRestart(
  cluster: Cluster,
  { setup, folder }: { readonly setup: Setup; readonly folder: ManifestFolder },
): Promise<void> {
  const { mode } = setup;
  await using proxy = await ProgramProcess.start(cluster, { folder, setup });
  await deleteProxyTables(cluster, { mode, host: "beyond" });
  await cluster.run("beyond", [...runArgv(folder, setup), "--once"]);
  const linesOn = (host: Host) =>
    Promise.all(ipFamilies.map((family) => ruleLines(cluster, { mode, family, host })));
  const clean = await linesOn("beyond");
  assert.ok(clean.every(({ length }) => length > bulk), "a clean start wrote nothing");
  // Chains that nothing leads to any more go a moment later.
  const deadline = Date.now() + SETTLE_DEADLINE_MS;
  for (;;) {
    const now = await linesOn("node");
    const different = clean.flatMap((lines, i) => differentLines(lines, now[i])).join("\n");
    if (different === "") return;
    assert.ok(Date.now() < deadline, `still different:\n${different}\n${proxy.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
