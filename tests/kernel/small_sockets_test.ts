/**
 * The program where no socket takes a large batch: without rights over the machine the send buffer
 * stays what `net.core.wmem_max` and `wmem_default` say (see `rig/small_sockets.ts`).
 */
import assert from "node:assert/strict";
import { openNftablesInThread } from "../../lib/kernel/nftables/netlink_nftables.ts";
import { generateCluster } from "../bench/generate_cluster.ts";
import { ProxyProcess, type ProxyProgram } from "../controlplane/rig/proxy_process.ts";
import { ourProgramArgv } from "./rig/our_program.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";
import { withSmallSockets } from "./rig/small_sockets.ts";

const DEADLINE_MS = 20_000;
const services = 2_000;
const endpoints = 10;

const unlimited: ProxyProgram = { name: "ours", argv: ourProgramArgv() };
const limited: ProxyProgram = { name: "ours", argv: withSmallSockets(ourProgramArgv()) };

function start(program: ProxyProgram, namespace: OwnNamespace, folder: string): ProxyProcess {
  return new ProxyProcess({
    program,
    namespace: namespace.name,
    args: [
      "run",
      `--manifests=${folder}`,
      "--hostname-override=node",
      "--proxy-mode=nftables",
      "--nodeport-addresses=primary",
    ],
  });
}

/** One Service with two addresses and a node port, and so many endpoints from an address on. */
async function writeGiant(folder: string, count: number, first = 0): Promise<void> {
  const metadata = { name: "giant", namespace: "shop" };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: {
      type: "NodePort",
      clusterIP: "172.31.255.1",
      externalIPs: ["198.51.100.1"],
      ports: [{ name: "http", port: 80, nodePort: 30080, protocol: "TCP" }],
    },
  };
  const numbers = Array.from({ length: count }, (_, i) => first + i);
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    addressType: "IPv4",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "giant" } },
    endpoints: numbers.map((n) => ({ addresses: [`10.129.${n >> 8}.${n & 255}`] })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
  const list = { apiVersion: "v1", kind: "List", items: [service, slice] };
  await Deno.writeTextFile(`${folder}/.giant`, JSON.stringify(list));
  await Deno.rename(`${folder}/.giant`, `${folder}/giant.json`);
}

/** How many elements the table has in each kind of map; of some kinds there are several. */
async function counts(namespace: OwnNamespace, ...kinds: string[]): Promise<number[]> {
  const listing = await namespace.run("nft", "-j", "list", "table", "ip", "kube-proxy");
  const entries: readonly { map?: { name: string; elem?: unknown[] } }[] =
    JSON.parse(listing).nftables;
  const maps = entries.flatMap(({ map }) => map ? [map] : []);
  return kinds.map((kind) =>
    maps.filter(({ name }) => name.replace(/-\d+$/, "") === kind)
      .reduce((sum, { elem = [] }) => sum + elem.length, 0)
  );
}

async function untilCounts(
  proxy: ProxyProcess,
  namespace: OwnNamespace,
  expected: readonly number[],
): Promise<void> {
  let found: readonly number[] = [];
  await until(async () => {
    assert.ok(proxy.isRunning, proxy.log());
    found = await counts(namespace, "service-ips", "endpoints", "nodeport-endpoints");
    return JSON.stringify(found) === JSON.stringify(expected);
  }, () => `${found} instead of ${expected}\n${proxy.log()}`);
}

async function until(condition: () => Promise<boolean>, told: () => string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!await condition()) {
    assert.ok(performance.now() < deadline, told());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

Deno.test("where no socket takes a large batch a giant Service comes, changes and goes beside 2,000 others", () =>
  withOwnNamespace(async (namespace) => {
    const folder = await Deno.makeTempDir({ prefix: "kpt-manifests-" });
    try {
      await generateCluster({ services, endpoints, format: "json", folder });
      await writeGiant(folder, 5_000);
      {
        await using proxy = start(limited, namespace, folder);
        await proxy.inSync();
        const rest = services * endpoints;
        await untilCounts(proxy, namespace, [services + 2, rest + 10_000, 5_000]);
        await writeGiant(folder, 4_000, 3_000);
        await untilCounts(proxy, namespace, [services + 2, rest + 8_000, 4_000]);
        // Everything goes at once, and is there again.
        await namespace.run("nft", "delete", "table", "ip", "kube-proxy");
        await proxy.said("Repaired table");
        await untilCounts(proxy, namespace, [services + 2, rest + 8_000, 4_000]);
        await Deno.rename(`${folder}/services.json`, `${folder}/.services`);
        await untilCounts(proxy, namespace, [2, 8_000, 4_000]);
        await Deno.rename(`${folder}/.services`, `${folder}/services.json`);
        await untilCounts(proxy, namespace, [services + 2, rest + 8_000, 4_000]);
        await Deno.remove(`${folder}/giant.json`);
        await untilCounts(proxy, namespace, [services, rest, 0]);
        await until(
          async () => !(await namespace.run("nft", "list", "chains", "ip")).includes("pick-4000"),
          () => `the giant's chain is still there\n${proxy.log()}`,
        );
        assert.equal(proxy.count("Cannot program"), 0, proxy.log());
      }
      // Somebody who can write it in one piece finds nothing to do.
      const generation = await generationOf(namespace);
      await using other = start(unlimited, namespace, folder);
      await other.inSync();
      assert.equal(await generationOf(namespace), generation);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }));

function generationOf(namespace: OwnNamespace): Promise<number> {
  return namespace.inside(async () => {
    using nftables = openNftablesInThread();
    return await nftables.generation();
  });
}
