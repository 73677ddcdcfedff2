/** `cleanup` on a node that serves: what clients and changes of Services see of it, killed on the way or not. */
import assert from "node:assert/strict";
import { oldCluster } from "../bench/old_cluster.ts";
import { clusterIP } from "../scenarios/addresses.ts";
import { clusterManifests, type Manifest, serviceManifests } from "../scenarios/manifests.ts";
import {
  iptablesModes,
  nameOfMode,
  nftablesMode,
  type RuleMode,
  setupsOf,
} from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { signalAfter } from "./rig/command.ts";
import { leaveOldRules } from "./rig/old_rules.ts";
import { ourProgramArgv } from "./rig/our_program.ts";
import { ManifestFolder, ProgramProcess, runArgv } from "./rig/programmers/program.ts";
import { createShopCluster, listProxyRules } from "./rig/shop_cluster.ts";
import { underLoad } from "./rig/under_load.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const services = isFull ? 10_000 : 1_000;
const endpoints = 10;
const kills = isFull ? 50 : 3;
/** How long a change may take while 110,002 chains go: the kernel does one batch at a time. */
const MOST_CHANGE_MS = 1_500;
/** Every change interrupts the listing of 110,002 chains. */
const CHANGE_EVERY_MS = 50;
/** Whom the clients ask. */
const load = { address: clusterIP(10), perSecond: 200 };
/** Long enough for every run to end by itself. */
const LONGEST_RUN_MS = 900;

const [nft, legacy] = iptablesModes;

for (const { now, old } of [{ now: nftablesMode, old: nft }, { now: nft, old: nftablesMode }]) {
  Deno.test(`the rules of ${services} Services that ${nameOfMode(old)} left go under ${nameOfMode(now)}, and nobody notices`, async () => {
    await using cluster = await createShopCluster();
    await leaveLarge(cluster, old);
    await using folder = await ManifestFolder.create(clusterManifests(shopServices));
    await using proxy = await ProgramProcess.start(cluster, { folder, setup: setupsOf(now)[0] });
    if (old.kind === "nftables") await proxy.said("flags dormant");
    let slowestChangeMs = 0;
    await underLoad(cluster, load, async () => {
      const argv = [...ourProgramArgv(), "cleanup", `--mode=${old.kind}`];
      const cleaning = cluster.tryRun("node", argv);
      slowestChangeMs = await changeUntil(cluster, { folder, end: cleaning });
      const { code, stderr, stdout } = await cleaning;
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /mode: removed [\d,]+ things?\n/);
    });
    assert.ok(slowestChangeMs <= MOST_CHANGE_MS, `a change took ${slowestChangeMs} ms`);
  });
}

Deno.test(`cleanup killed at ${kills} random moments under traffic: nobody notices, and the next one finishes`, async (test) => {
  await using cluster = await createShopCluster();
  await using folder = await ManifestFolder.create(clusterManifests(shopServices));
  const setup = setupsOf(nftablesMode)[0];
  const argv = [...ourProgramArgv(), "cleanup", "--mode=iptables"];
  const cleanUp = async () => {
    const { code, stderr, stdout } = await cluster.tryRun("node", argv);
    assert.equal(code, 0, stdout + stderr);
  };
  await leaveIptables(cluster);
  await using _proxy = await ProgramProcess.start(cluster, { folder, setup });
  await cleanUp();
  const undisturbed = await othersRules(cluster);
  for (let round = 0; round < kills; round++) {
    const atMs = Math.round(Math.random() * LONGEST_RUN_MS);
    await leaveIptables(cluster);
    await test.step(`after ${atMs} ms`, () =>
      underLoad(cluster, load, async () => {
        const [program, ...args] = cluster.inside("node", argv);
        const process = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
        using _ = signalAfter(process, { signal: "SIGKILL", ms: atMs });
        await process.status;
        await cleanUp();
        assert.equal(await othersRules(cluster), undisturbed);
      }));
  }
});

Deno.test(`cleanup interrupted at ${kills} random moments says what it did by then`, async (test) => {
  await using cluster = await createShopCluster();
  const argv = [...ourProgramArgv(), "cleanup", "--mode=iptables", "-o", "json"];
  for (let round = 0; round < kills; round++) {
    const atMs = Math.round(Math.random() * LONGEST_RUN_MS);
    await leaveIptables(cluster);
    await test.step(`after ${atMs} ms`, async () => {
      const [program, ...args] = cluster.inside("node", argv);
      const command = new Deno.Command(program, { args, stdout: "piped", stderr: "piped" });
      const process = command.spawn();
      using _ = signalAfter(process, { signal: "SIGINT", ms: atMs });
      const { code, stdout } = await process.output();
      const text = new TextDecoder().decode(stdout);
      // Before it listens to signals it has done nothing, and says nothing.
      const [done] = text === "" ? [{ removed: [], remaining: ["all"] }] : JSON.parse(text).modes;
      assert.equal(code === 0, done.remaining.length === 0, text);
      for (const mode of [nft, legacy]) {
        for (const family of ["IPv4", "IPv6"] as const) {
          const { backend } = mode.kind === "iptables" ? mode : { backend: "" };
          const save = await listProxyRules(cluster, { mode, family });
          // The older engine's tool writes one table after the other.
          for (const table of ["nat", "filter"]) {
            const isLeft = chainsOf(save, table).includes(":KUBE-SERVICES");
            const isRemoved = done.removed.some((step: Record<string, string>) =>
              step.backend === backend && step.family === family &&
              step.place.endsWith(`table ${table}`)
            );
            assert.equal(isRemoved, !isLeft, `${backend}, ${family}, ${table}: ${text}`);
          }
        }
      }
    });
  }
});

/** What a save says of one of its tables. */
function chainsOf(save: string, table: string): string {
  const [, text = ""] = save.split(`*${table}\n`);
  return text.split("\nCOMMIT")[0];
}

/** Upstream's rules, in both engines. */
async function leaveIptables(cluster: Cluster): Promise<void> {
  for (const backend of ["nft", "legacy"] as const) {
    await leaveOldRules(cluster, { by: "upstream", mode: { kind: "iptables", backend } });
  }
}

/** What our own program writes for a large cluster. */
async function leaveLarge(cluster: Cluster, mode: RuleMode): Promise<void> {
  await using folder = await ManifestFolder.create([]);
  await Deno.writeTextFile(`${folder.path}/cluster.json`, oldCluster({ services, endpoints }));
  await cluster.run("node", [...runArgv(folder, setupsOf(mode)[0]), "--once"]);
}

/** What is in the tables of iptables. */
async function othersRules(cluster: Cluster): Promise<string> {
  const saves: string[] = [];
  for (const mode of [nft, legacy]) {
    for (const family of ["IPv4", "IPv6"] as const) {
      saves.push(await listProxyRules(cluster, { mode, family }));
    }
  }
  return saves.join("\n");
}

/** The Service that moves from pod to pod. */
const moving = shopServices[1];

function movedTo(host: "pod-a" | "pod-b"): readonly Manifest[] {
  return serviceManifests({ ...moving, endpoints: [{ host }] });
}

/** Moves a Service from one pod to the other, again and again; the longest that a client waited for it. */
async function changeUntil(
  cluster: Cluster,
  { end, folder }: { readonly folder: ManifestFolder; readonly end: Promise<unknown> },
): Promise<number> {
  let isOver = false;
  void end.then(() => isOver = true);
  let slowestMs = 0;
  for (let step = 0; !isOver || step < 2; step++) {
    const host = step % 2 === 0 ? "pod-b" : "pod-a";
    const startedAt = performance.now();
    await folder.write(movedTo(host));
    while (await answererOf(cluster) !== host) {
      assert.ok(performance.now() - startedAt < 10_000, `${host} never answered`);
    }
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, CHANGE_EVERY_MS));
  }
  return Math.round(slowestMs);
}

/** Three of them, since a Service may still have both. */
async function answererOf(cluster: Cluster): Promise<string> {
  const answers = new Set<string>();
  for (let i = 0; i < 3; i++) {
    const outcome = await cluster.agent.probe({
      namespace: cluster.namespace("client-a"),
      protocol: "TCP",
      address: clusterIP(moving.number).IPv4,
      port: 80,
      timeoutMs: 500,
    });
    answers.add(outcome.kind === "reached" ? outcome.endpoint.split(":")[0] : outcome.kind);
  }
  return [...answers].join();
}
