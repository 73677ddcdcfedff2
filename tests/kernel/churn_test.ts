import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import {
  clusterIP,
  externalIP,
  type Host,
  hostAddresses,
  loadBalancerIP,
} from "../scenarios/addresses.ts";
import { bulkServices, changingService, changingServiceAt } from "../scenarios/bulk_services.ts";
import { nodePortOf } from "../scenarios/description.ts";
import { clusterManifests, serviceManifests } from "../scenarios/manifests.ts";
import {
  allModes,
  iptablesModes,
  nameOfMode,
  nftablesMode,
  setupsOf,
} from "../scenarios/setups.ts";
import type { LoadReport } from "./rig/agent_protocol.ts";
import type { Cluster } from "./rig/cluster.ts";
import type { RunningProxy } from "./rig/programmer.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { ProgramProgrammer } from "./rig/programmers/program.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const seconds = isFull ? 30 : 5;
const perSecond = 200;
/** Connections that fall between two hooks are rare. */
const selfPerSecond = 800;

const inProcess = new InProcessProgrammer();
const program = new ProgramProgrammer();

/**
 * The program hears of changes through files: those that come closer together than 50 ms it takes as
 * one, and thousands of Services take it longer than a short test.
 */
const cases = [
  { mode: nftablesMode, programmer: inProcess, replacements: 500, withBulk: true },
  ...iptablesModes.map((mode) => ({
    mode,
    programmer: inProcess,
    replacements: isFull ? 500 : 100,
    withBulk: isFull,
  })),
  ...allModes.filter((mode) => isFull || mode.kind === "nftables").map((mode) => ({
    mode,
    programmer: program,
    replacements: isFull ? 500 : 80,
    withBulk: isFull,
  })),
];

for (const { mode, programmer, replacements, withBulk } of cases) {
  Deno.test(`${programmer.name}: no connection fails while endpoints are replaced, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    await using proxy = await programmer.start(cluster, {
      manifests: clusterManifests([changingServiceAt(0)]),
      setup: setupsOf(mode)[0],
    });

    await test.step(`${replacements} times, with 3, 2, 1, 3, … endpoints`, async () => {
      await underLoad(cluster, () => replaceEndpoints(proxy, replacements));
    });

    if (!withBulk) return;
    await test.step("pods that reach themselves, as an endpoint that comes and goes", async () => {
      const load = { targets: selfTargets(), perSecond: selfPerSecond };
      await underLoadOf(cluster, load, () => comeAndGo(proxy));
    });

    await test.step("the same while 2,000 other Services load", async () => {
      const bulk = bulkServices(2000, { endpoints: 10 });
      await underLoad(cluster, async () => {
        await Promise.all([replaceEndpoints(proxy, replacements), loadInChunks(proxy, bulk)]);
      });
    });
  });
}

/** Spread over the time of the test, each as soon as the one before was handed over. */
async function replaceEndpoints(proxy: RunningProxy, replacements: number): Promise<void> {
  const start = performance.now();
  for (let step = 1; step <= replacements; step++) {
    await proxy.apply(serviceManifests(changingServiceAt(step)));
    const due = start + step * seconds * 1000 / replacements;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  }
}

/**
 * As fast as it goes: a connection that is between two hooks of the kernel while its endpoint goes
 * must get all of the old rules. Then everybody is an endpoint again.
 */
async function comeAndGo(proxy: RunningProxy): Promise<void> {
  const hosts = ["pod-a", "remote-pod", "pod-b", "remote-pod"] as const;
  const end = performance.now() + seconds * 1000;
  for (let step = 0; performance.now() < end; step++) {
    const endpoints = [{ host: hosts[step % hosts.length] }];
    await proxy.apply(serviceManifests({ ...changingServiceAt(0), endpoints }));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await proxy.apply(serviceManifests(changingServiceAt(0)));
}

async function loadInChunks(
  proxy: RunningProxy,
  services: ReturnType<typeof bulkServices>,
): Promise<void> {
  for (let i = 0; i < services.length; i += 100) {
    await proxy.apply(services.slice(i, i + 100).flatMap(serviceManifests));
  }
}

/** Where new connections come from, and where they go. */
interface LoadTarget {
  readonly from: Host;
  readonly address: string;
  readonly port: number;
}

function selfTargets(): readonly LoadTarget[] {
  return ipFamilies.flatMap((family) =>
    (["pod-a", "pod-b"] as const).map((from) => ({
      from,
      address: clusterIP(changingService.number)[family],
      port: 80,
    }))
  );
}

/** Every kind of frontend in both families, from outside, from the node and from a pod that may meet itself. */
async function underLoad(cluster: Cluster, action: () => Promise<void>): Promise<void> {
  const targets = ipFamilies.flatMap((family) =>
    [
      { from: "client-a", address: clusterIP(changingService.number)[family], port: 80 },
      { from: "client-b", address: loadBalancerIP(changingService.number)[family], port: 80 },
      {
        from: "node",
        address: hostAddresses.node[family],
        port: nodePortOf(changingService, changingService.ports[0]),
      },
      { from: "pod-a", address: clusterIP(changingService.number)[family], port: 80 },
      { from: "pod-b", address: externalIP(changingService.number)[family], port: 80 },
    ] as const
  );
  const reached = await underLoadOf(cluster, { targets, perSecond }, action);
  assert.equal(reached.size, 6, `only these answered: ${[...reached]}`);
}

/** Resolves with the endpoints that answered. */
async function underLoadOf(
  cluster: Cluster,
  { perSecond, targets }: { readonly targets: readonly LoadTarget[]; readonly perSecond: number },
  action: () => Promise<void>,
): Promise<ReadonlySet<string>> {
  const repeatedBefore = await repeatedSyns(cluster);
  const stops = await Promise.all(
    targets.map(({ from, address, port }) =>
      cluster.agent.startLoad({
        namespace: cluster.namespace(from),
        protocol: "TCP",
        address,
        port,
        perSecond: perSecond / targets.length,
        timeoutMs: 3000,
      })
    ),
  );
  await action();
  const reports = await Promise.all(stops.map((stop) => stop()));
  assert.deepEqual(reports.map(({ failed }) => failed), targets.map(() => ({})));
  assert.equal(await repeatedSyns(cluster) - repeatedBefore, 0, "a first packet was lost");
  const attempts = sum(reports, ({ attempts }) => attempts);
  assert.ok(attempts > perSecond * seconds * 0.8, `only ${attempts} connections were tried`);
  return new Set(reports.flatMap((report) => Object.keys(report.reached)));
}

function sum(reports: readonly LoadReport[], value: (report: LoadReport) => number): number {
  return reports.reduce((total, report) => total + value(report), 0);
}

/** How often a TCP client had to say again that it wants to connect. */
async function repeatedSyns(cluster: Cluster): Promise<number> {
  const hosts: readonly Host[] = ["client-a", "client-b", "node", "pod-a", "pod-b"];
  const counts = await Promise.all(hosts.map(async (host) => {
    const [names, values] = (await cluster.run(host, ["cat", "/proc/net/netstat"]))
      .split("\n").filter((line) => line.startsWith("TcpExt:")).map((line) => line.split(" "));
    return Number(values[names.indexOf("TCPSynRetrans")]);
  }));
  return counts.reduce((total, count) => total + count, 0);
}
