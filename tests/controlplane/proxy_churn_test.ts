/**
 * The program under load: a restart loses no connection, and hours of changes (minutes here, half an
 * hour in the full run) leave it as large as it was.
 */
import assert from "node:assert/strict";
import { ourProgram, ProxyProcess, type Usage } from "./rig/proxy_process.ts";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { Quiet } from "./rig/quiet.ts";
import {
  namespaceName,
  nodeName,
  podAddresses,
  SmallCluster,
  untilAnsweredBy,
} from "./rig/small_cluster.ts";
import { endpointSliceObject, serviceObject } from "./rig/objects.ts";

const services = { IPv4: "172.30.0.10", IPv6: "fd00:172:30::10" } as const;
const clusterCIDR = "10.128.0.0/14,fd00:10:128::/48";
const LOAD_PER_SECOND = 200;
const RESTARTS = 12;

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const CHANGES_PER_SECOND = 20;
/** Until memory has its size, and until it is measured again. */
const [SETTLE_SECONDS, CHURN_SECONDS] = isFull ? [300, 1800] : [20, 60];
/** A minute is too short for a tenth: the collector's own rhythm is seen in it. */
const MOST_GROWTH = isFull ? 1.1 : 1.2;
const CHURNING = 50;

async function createWeb({ api }: SmallCluster): Promise<void> {
  const clusterIPs = Object.values(services);
  await api.create(serviceObject({
    namespace: namespaceName,
    name: "web",
    spec: { clusterIP: clusterIPs[0], clusterIPs, ipFamilyPolicy: "RequireDualStack" },
  }));
  for (const family of ["IPv4", "IPv6"] as const) {
    await api.create(endpointSliceObject({
      namespace: namespaceName,
      name: `web-${family.toLowerCase()}`,
      service: "web",
      addresses: [podAddresses.a[family], podAddresses.b[family]],
      addressType: family,
    }));
  }
}

async function startProxy(cluster: SmallCluster, files: ProxyFiles): Promise<ProxyProcess> {
  const process = new ProxyProcess({
    program: ourProgram(),
    namespace: cluster.node,
    args: files.args(nodeName),
  });
  await process.inSync();
  return process;
}

Deno.test("restarts under 200 connections a second lose none, by SIGTERM and by SIGKILL", async () => {
  await using cluster = await SmallCluster.create();
  await createWeb(cluster);
  await using files = await ProxyFiles.create(cluster.plane.access, { clusterCIDR });
  let process = await startProxy(cluster, files);
  const loads = await Promise.all(
    Object.values(services).map((address) =>
      cluster.agent.startLoad({
        namespace: cluster.plane.access.namespace,
        protocol: "TCP",
        address,
        port: 80,
        perSecond: LOAD_PER_SECOND / 2,
        timeoutMs: 3_000,
      })
    ),
  );
  for (let i = 0; i < RESTARTS; i++) {
    await process.end(i % 2 === 0 ? "SIGTERM" : "SIGKILL");
    process = await startProxy(cluster, files);
  }
  const reports = await Promise.all(loads.map((stop) => stop()));
  await process.end("SIGTERM");
  for (const { attempts, failed, reached } of reports) {
    assert.deepEqual(failed, {});
    assert.ok(attempts > LOAD_PER_SECOND / 2, `${attempts} connections`);
    assert.deepEqual(Object.keys(reached).sort(), ["a", "b"]);
  }
});

Deno.test(`${CHURN_SECONDS} s of ${CHANGES_PER_SECOND} changes a second leave memory and descriptors as they were`, async () => {
  await using cluster = await SmallCluster.create();
  await createWeb(cluster);
  await using files = await ProxyFiles.create(cluster.plane.access, { clusterCIDR });
  await using process = await startProxy(cluster, files);
  const quiet = await Quiet.since(process, { plane: cluster.plane, without: ["namespaces"] });
  const churn = new Churn(cluster);
  await churn.run(SETTLE_SECONDS);
  const before = await least(process);
  await churn.run(CHURN_SECONDS);
  const after = await least(process);
  const told = JSON.stringify({ before, after });
  assert.ok(after.residentMb <= before.residentMb * MOST_GROWTH, told);
  assert.ok(after.descriptors <= before.descriptors, told);
  assert.ok(after.sockets <= before.sockets, told);
  for (const address of Object.values(services)) await untilAnsweredBy("a", address);
  // The server lets a watch last five to ten minutes.
  await quiet.check({ watches: 4 * Math.floor((SETTLE_SECONDS + CHURN_SECONDS) / 300) });
});

/** Services that come, change and go: the same ones again and again, so that nothing has to grow. */
class Churn {
  readonly #cluster: SmallCluster;
  #step = 0;

  constructor(cluster: SmallCluster) {
    this.#cluster = cluster;
  }

  async run(seconds: number): Promise<void> {
    const startedAt = performance.now();
    for (let i = 0; i < seconds * CHANGES_PER_SECOND; i++) {
      await this.#change(this.#step++);
      const due = startedAt + (i + 1) * 1_000 / CHANGES_PER_SECOND;
      const early = due - performance.now();
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    }
  }

  /** Four rounds over all Services: they come, get endpoints, other endpoints, and go. */
  async #change(step: number): Promise<void> {
    const { api } = this.#cluster;
    const number = step % CHURNING;
    const name = `churn-${number}`;
    const service = serviceObject({
      namespace: namespaceName,
      name,
      spec: { clusterIP: `172.30.1.${number}` },
    });
    const slice = (addresses: readonly string[]) =>
      endpointSliceObject({ namespace: namespaceName, name, addresses });
    const round = Math.floor(step / CHURNING) % 4;
    if (round === 0) return void await api.create(service);
    if (round === 1) return void await api.create(slice(["10.129.1.1", "10.129.1.2"]));
    if (round === 2) return void await api.update(slice(["10.129.1.2", "10.129.1.3"]));
    await api.delete(slice([]));
    await api.delete(service);
  }
}

/** The smallest of a few looks: what is in use, and not what waits for the collector. */
async function least(process: ProxyProcess): Promise<Usage> {
  let smallest = process.usage();
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const now = process.usage();
    if (now.residentMb < smallest.residentMb) smallest = now;
  }
  return smallest;
}
