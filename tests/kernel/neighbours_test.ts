/**
 * Other software writes to the same tables: a CNI plugin adds its rules while Services change all the
 * time. Every commit of ours makes the kernel check the whole table, so the others need their turns.
 */
import assert from "node:assert/strict";
import { inNetworkNamespace } from "../../lib/kernel/netns.ts";
import { DirectTransport } from "../../lib/kernel/nf_tables/direct_transport.ts";
import { bulkServices } from "../scenarios/bulk_services.ts";
import type { ServiceDescription } from "../scenarios/description.ts";
import { clusterManifests, serviceManifests } from "../scenarios/manifests.ts";
import { setupsOf } from "../scenarios/setups.ts";
import { Cluster } from "./rig/cluster.ts";
import { InProcessProxy } from "./rig/programmers/in_process.ts";
import { ManifestFolder, ProgramProcess } from "./rig/programmers/program.ts";

const isFull = Deno.env.has("KUBE_PROXY_TEST_FULL");
const services = 1_000;
const endpoints = 10;
const busySeconds = isFull ? 60 : 12;
const changesPerSecond = 50;
/** So many calls tell how long one takes beside a proxy that has nothing to do. */
const idleCalls = 60;
const mostTimesLonger = 2.5;
const SETTLE_DEADLINE_MS = 10_000;

const [setup] = setupsOf({ kind: "iptables", backend: "nft" });

Deno.test(`beside ${changesPerSecond} changes a second others write their rules in their time`, async () => {
  await using cluster = await Cluster.create();
  const all = [...bulkServices(services, { endpoints })];
  await using folder = await ManifestFolder.create(clusterManifests(all));
  {
    await using _proxy = await ProgramProcess.start(cluster, { folder, setup });
    const idle = await callsOf(cluster, (calls) => calls < idleCalls);
    const end = performance.now() + busySeconds * 1000;
    let isOver = false;
    const changing = change(folder, all, () => isOver);
    const busy = await callsOf(cluster, () => performance.now() < end);
    isOver = true;
    const changes = await changing;
    assert.ok(changes >= busySeconds * changesPerSecond / 2, `${changes} changes`);
    const [p95, quiet] = [percentile95(busy), percentile95(idle)];
    assert.ok(
      p95 <= quiet * mostTimesLonger,
      `p95 ${p95.toFixed(0)} ms of ${busy.length} calls, ${
        quiet.toFixed(0)
      } ms beside a proxy at rest`,
    );
    await rest(cluster);
  }
  // What the program left needs nothing: a writer that starts over it finds all rules right.
  await using witness = new InProcessProxy(cluster, setup);
  assert.equal(await witness.change({ apply: clusterManifests(all), remove: [] }), 0);
});

/** Adds and removes somebody's rules, a call after the other; how long each took. */
async function callsOf(
  cluster: Cluster,
  goesOn: (calls: number) => boolean,
): Promise<readonly number[]> {
  const tookMs: number[] = [];
  for (let i = 0; goesOn(tookMs.length); i++) {
    const [table, chain] = i % 4 < 2 ? ["nat", "POSTROUTING"] : ["filter", "FORWARD"];
    const action = i % 2 === 0 ? "-A" : "-D";
    const source = `192.0.2.${Math.floor(i / 2) % 250}`;
    const started = performance.now();
    await cluster.run("node", [
      ...["iptables-nft", "-t", table, action, chain],
      ...["-s", source, "-j", "ACCEPT"],
    ]);
    tookMs.push(performance.now() - started);
  }
  return tookMs;
}

/** Changes Service after Service until it is over; the list holds what is in the folder. */
async function change(
  folder: ManifestFolder,
  all: ServiceDescription[],
  isOver: () => boolean,
): Promise<number> {
  const started = performance.now();
  let step = 0;
  for (; !isOver(); step++) {
    const at = (step * 7) % all.length;
    const shift = 1 + Math.floor(step * 7 / all.length);
    all[at] = {
      ...all[at],
      endpoints: all[at].endpoints.map((each) => ({
        ...each,
        copy: ((each.copy ?? 0) + shift) % 100,
      })),
    };
    await folder.write(serviceManifests(all[at]));
    const due = started + (step + 1) * 1000 / changesPerSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  }
  return step;
}

/** Until nobody has committed anything for two seconds. */
async function rest(cluster: Cluster): Promise<void> {
  const path = `/run/netns/${cluster.namespace("node")}`;
  using transport = Object.assign(inNetworkNamespace(path, () => new DirectTransport()), {
    [Symbol.dispose]: () => transport.close(),
  });
  const deadline = performance.now() + SETTLE_DEADLINE_MS;
  let before = await transport.generation();
  let since = performance.now();
  while (performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = await transport.generation();
    if (now !== before) since = performance.now();
    if (performance.now() - since > 2_000) return;
    before = now;
  }
  throw new Error("Cannot compare the rules: they do not come to rest");
}

function percentile95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)];
}
