/** ipvs mode's program when it is killed, when endpoints go under connections, and what it says of itself. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { ApiClient } from "../../controlplane/rig/api.ts";
import { ourProgram } from "../../controlplane/rig/proxy_process.ts";
import {
  createShopCluster,
  deleteProxyTables,
  listProxyRules,
} from "../../kernel/rig/shop_cluster.ts";
import type { Cluster } from "../../kernel/rig/cluster.ts";
import { patience } from "../../kernel/rig/patience.ts";
import { ManifestFolder, ProgramProcess } from "../../kernel/rig/programmers/program.ts";
import { canonicalRules } from "../../peers/recorded_rules.ts";
import { clusterIP, hostAddresses } from "../../scenarios/addresses.ts";
import { bulkServices } from "../../scenarios/bulk_services.ts";
import { clusterManifests, serviceManifests } from "../../scenarios/manifests.ts";
import { Draws } from "../../scenarios/random_services.ts";
import { ipvsModes, setupsOf } from "../../scenarios/setups.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { ProofNode } from "../inside/proof.ts";
import { trafficServices } from "../inside/traffic.ts";
import { tellOutside } from "../outside.ts";

const [mode] = ipvsModes;
const [setup] = setupsOf(mode);
const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const kills = isFull ? 50 : 3;
const seed = Number(Deno.env.get("KUBE_PROXY_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
/** From before the first system call of the program to just after its first sync. */
const longestLoadMs = 500 * patience;
/**
 * A destination without connections goes at the next look, at the latest a minute later. A loaded machine
 * that runs the short form gets more.
 */
const GONE_DEADLINE_MS = isFull ? 70_000 : 90_000;

Deno.test(`killed at ${kills} random moments, the next start leaves what a clean one does (seed ${seed})`, async () => {
  const draws = new Draws(seed);
  await using cluster = await createShopCluster();
  const services = [...shopServices, ...bulkServices(100, { endpoints: 3 })];
  await using folder = await ManifestFolder.create(clusterManifests(services));
  const clean = await stateAfterStart(cluster, folder);
  assert.ok(clean.length > 500, `a clean start left ${clean.length} lines`);
  for (let i = 0; i < kills; i++) {
    // Into an empty node, and over what is there.
    if (i % 2 === 0) await deleteProxyTables(cluster, { mode });
    const proxy = new ProgramProcess(cluster, { folder, setup });
    await new Promise((resolve) => setTimeout(resolve, draws.next() * longestLoadMs));
    await proxy.end("SIGKILL");
    assert.deepEqual(await stateAfterStart(cluster, folder), clean, `after kill ${i + 1}`);
  }
});

async function stateAfterStart(
  cluster: Cluster,
  folder: ManifestFolder,
): Promise<readonly string[]> {
  await using _proxy = await ProgramProcess.start(cluster, { folder, setup });
  const saves = await Promise.all(
    ipFamilies.map((family) => listProxyRules(cluster, { mode, family })),
  );
  return saves.flatMap((save) => canonicalRules(save, "ipvs"));
}

Deno.test("a connection to an endpoint that is removed lives, and its destination goes after it", async () => {
  await using node = await ProofNode.create();
  const [shop] = trafficServices;
  const alone = { ...shop, endpoints: [{ host: "pod-a" }] } as const;
  await using proxy = await node.start(ourProgram(), mode);
  await proxy.apply(serviceManifests(alone));
  const { cluster } = node;
  const destination = `${hostAddresses["pod-a"].IPv4}:8080`;
  const server = `${clusterIP(shop.number).IPv4}:80`;
  const list = () => cluster.run("node", ["ipvsadm", "-L", "-n", "-t", server]);
  await until(
    "pod-a alone",
    30_000 * patience,
    async () => (await list()).match(/->/g)?.length === 2,
  );

  const speak = () =>
    cluster.agent.hold({
      connection: 1,
      namespace: cluster.namespace("client-a"),
      address: clusterIP(shop.number).IPv4,
      port: 80,
      timeoutMs: 3000 * patience,
    });
  const first = await speak();
  assert.equal(first.kind, "reached");
  await proxy.apply(serviceManifests({ ...shop, endpoints: [{ host: "pod-b" }] }));
  const weight = new RegExp(`-> ${destination} +Masq +0 `);
  await until("its weight is 0", 30_000 * patience, async () => weight.test(await list()));
  assert.deepEqual(await speak(), first);

  await cluster.agent.release([1]);
  const released = performance.now();
  await until("it is gone", GONE_DEADLINE_MS, async () => !(await list()).includes(destination));
  const seconds = Math.round((performance.now() - released) / 1000);
  tellOutside("measured", { title: "a destination goes after its last connection", seconds });
});

Deno.test("the apiserver hears that ipvs mode is deprecated", async () => {
  await using node = await ProofNode.create();
  await using _proxy = await node.start(ourProgram(), mode);
  using api = new ApiClient(node.programmer.plane.access);
  await until("the event", 30_000 * patience, async () => {
    const events = await api.requestText("GET", "/apis/events.k8s.io/v1/namespaces/default/events");
    return /ipvs/.test(events) && /1\.40/.test(events);
  });
});

async function until(
  what: string,
  deadlineMs: number,
  isThere: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!await isThere()) {
    assert.ok(performance.now() < deadline, `not seen within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
