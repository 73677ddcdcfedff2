/**
 * What ipvs mode costs upstream's proxy and ours in one guest, one after the other, beside the same
 * apiserver: for `tests/bench/ipvs_bench.ts`, which has put the objects there and runs this.
 */
import assert from "node:assert/strict";
import { SystemCommands } from "../../../lib/kernel/commands.ts";
import { NetlinkIpvs } from "../../../lib/kernel/ipvs/netlink_ipvs.ts";
import { NetlinkIpset } from "../../../lib/kernel/ipset/netlink_ipset.ts";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import {
  type BulkChange,
  bulkCluster,
  bulkNodes,
  type BulkPlace,
  type IpvsFigures,
} from "../../bench/ipvs_subject.ts";
import { ApiClient } from "../../controlplane/rig/api.ts";
import { ProxyFiles } from "../../controlplane/rig/proxy_files.ts";
import {
  ourProgram,
  ProxyProcess,
  type ProxyProgram,
} from "../../controlplane/rig/proxy_process.ts";
import { Cluster } from "../../kernel/rig/cluster.ts";
import { showBackend } from "../../kernel/rig/mode_rules.ts";
import { deleteProxyTables } from "../../kernel/rig/shop_cluster.ts";
import { ipvsModes } from "../../scenarios/setups.ts";
import { GuestPlane } from "../inside/guest_plane.ts";
import { syncedBoth, upstreams } from "../inside/proof.ts";
import { tellOutside } from "../outside.ts";

/** What the guest's kernel has. */
const isLegacy = Deno.env.get("KUBE_PROXY_TEST_BACKEND") === "legacy";
const mode = ipvsModes[isLegacy ? 1 : 0];
const DEADLINE_MS = 900_000;
const CHANGES = 5;
const REST_MS = 10_000;
const LOOK_MS = 100;
const LOOK_SHARE = 1 / 100;
/** Both programs make their sets before anything else. */
const firstSet = "KUBE-CLUSTER-IP";
const ipset = new NetlinkIpset(new KernelFiles());
const ipvs = new NetlinkIpvs({
  files: new KernelFiles(),
  commands: new SystemCommands("/usr/sbin:/sbin"),
});
const link = { index: 77, device: "control" } as const;

Deno.test("what ipvs mode costs", async () => {
  await using cluster = await Cluster.create();
  await using plane = await GuestPlane.open({ keepsObjects: true });
  await plane.join(cluster.namespace("node"), link);
  await emptyNode(cluster);
  await warmUp(cluster, plane);
  for (const [i, program] of [ourProgram(), upstreams()].entries()) {
    await emptyNode(cluster);
    const generation = i === 0 ? 1 : 2;
    tellOutside("measured", await measure(program, { cluster, plane, generation }));
  }
});

/** As a node on which only kubelet has run. */
async function emptyNode(cluster: Cluster): Promise<void> {
  await deleteProxyTables(cluster, { mode });
  await showBackend((argv, input) => cluster.run("node", argv, input), mode);
}

/** Whoever is first has the kernel load its modules, and reads a program that nobody read before. */
async function warmUp(cluster: Cluster, plane: GuestPlane): Promise<void> {
  await cluster.run("node", [...upstreams().argv, "--version"]);
  await using files = await ProxyFiles.create(plane.access, { mode: mode.kind });
  const namespace = cluster.namespace("node");
  await using proxy = new ProxyProcess({
    program: ourProgram(),
    namespace,
    args: files.args("node"),
  });
  await untilSynced(proxy);
}

interface Place {
  readonly cluster: Cluster;
  readonly plane: GuestPlane;
  /** Of the endpoints that this one's changes bring: those of the one before are there already. */
  readonly generation: BulkChange["generation"];
}

async function measure(
  program: ProxyProgram,
  { cluster, generation, plane }: Place,
): Promise<IpvsFigures> {
  await using files = await ProxyFiles.create(plane.access, { mode: mode.kind, verbosity: 2 });
  const namespace = cluster.namespace("node");
  const start = () => new ProxyProcess({ program, namespace, args: files.args("node") });
  const alone = performance.now();
  await cluster.run("node", [...program.argv, "--version"]);
  const programMs = performance.now() - alone;
  const started = performance.now();
  const first = start();
  await until(first, () => ipset.indexOf(firstSet) !== undefined);
  const begun = performance.now();
  const metrics = await untilSynced(first);
  const synced = performance.now();
  const firstSyncCpuMs = first.usage().cpuSeconds * 1000;
  const count = table().split(" -> ").length - 2;
  assert.equal(count, bulkCluster.services * bulkCluster.endpoints, first.log());

  using api = new ApiClient(plane.access);
  const changeMs: number[] = [];
  const requestMs: number[] = [];
  const place = await placeOfEndpoints(api);
  for (let step = 0; step < CHANGES; step++) {
    // Whatever the change before left to do is done.
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const slice = bulkCluster.changedSlice({ generation, step }, place);
    const wanted = bulkCluster.addressesAt({ generation, step });
    // One server alone is asked for: all of them take the kernel longer than the change.
    const isThere = () => {
      const found = ipvs.find(bulkCluster.frontendAt(step));
      const there = new Set(found?.destinations.map(({ address }) => address));
      return wanted.every((address) => there.has(address));
    };
    assert.ok(!isThere());
    const before = performance.now();
    await api.update(slice);
    requestMs.push(performance.now() - before);
    await until(first, isThere);
    changeMs.push(performance.now() - before);
  }
  const isAlone = !hasHadChildren(first.pid);
  await first[Symbol.asyncDispose]();

  const again = performance.now();
  await using second = start();
  await untilSynced(second);
  const restartMs = performance.now() - again;
  const isStillAlone = !hasHadChildren(second.pid);
  return {
    name: program.name,
    programMs,
    firstSyncMs: synced - started,
    writingMs: synced - begun,
    countedSyncMs: syncSecondsIn(metrics) * 1000,
    firstSyncCpuMs,
    changeMs,
    requestMs,
    restartMs,
    restartMessages: program.name === "ours" ? messagesOf(second) : undefined,
    forkedNothing: isAlone && isStillAlone,
  };
}

/** As whoever made the objects chose. */
async function placeOfEndpoints(api: ApiClient): Promise<BulkPlace> {
  const known = { nodeName: bulkNodes.elsewhere };
  const slice = await api.get(bulkCluster.changedSlice({ generation: 1, step: 0 }, known));
  const [endpoint] = slice.endpoints as readonly BulkPlace[];
  return endpoint;
}

/** Whoever asks takes from what is measured: seldom enough that it does not matter. */
async function untilSynced(proxy: ProxyProcess): Promise<string> {
  const started = performance.now();
  for (;;) {
    const metrics = await askMetrics();
    if (syncedBoth(metrics)) return metrics;
    const elapsed = performance.now() - started;
    assert.ok(elapsed < DEADLINE_MS && proxy.isRunning, proxy.log());
    await new Promise((resolve) => setTimeout(resolve, Math.max(LOOK_MS, elapsed * LOOK_SHARE)));
  }
}

async function askMetrics(): Promise<string> {
  try {
    return await (await fetch("http://127.0.0.1:10249/metrics")).text();
  } catch {
    // Nobody listens there yet.
    return "";
  }
}

function syncSecondsIn(metrics: string): number {
  const name = "kubeproxy_sync_proxy_rules_duration_seconds_sum";
  const line = new RegExp(`^${name}\\{ip_family="IPv4"\\} (\\S+)`, "m").exec(metrics);
  assert.ok(line, "no duration of syncs");
  return Number(line[1]);
}

async function until(proxy: ProxyProcess, isThere: () => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!isThere()) {
    assert.ok(Date.now() < deadline && proxy.isRunning, proxy.log());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** All servers with their destinations. This thread is in the node's namespace. */
function table(): string {
  return Deno.readTextFileSync("/proc/thread-self/net/ip_vs");
}

/** A child that ended has left its page faults with its parent; one that runs is listed. */
function hasHadChildren(pid: number): boolean {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const faultsOfChildren = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[8]);
  const running = [...Deno.readDirSync(`/proc/${pid}/task`)]
    .map(({ name }) => Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`)).join("");
  return faultsOfChildren > 0 || running !== "";
}

/** What our log says of its syncs. */
function messagesOf(proxy: ProxyProcess): number {
  const counts = proxy.linesWith('"Wrote rules"').flatMap((line) =>
    /"Wrote rules".* messages=(\d+)/.exec(line)?.[1] ?? []
  );
  assert.ok(counts.length >= 2, proxy.log());
  return counts.reduce((sum, count) => sum + Number(count), 0);
}
