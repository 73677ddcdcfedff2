/** The cases of the enhancement proposal, by packets: the program beside a real apiserver, on a real kernel. */
import assert from "node:assert/strict";
import { namespaceObject } from "./rig/objects.ts";
import { OptOutCluster, optOutLabel, reachableService } from "./rig/opt_out_cluster.ts";
import { Quiet } from "./rig/quiet.ts";
import { nodeAddresses, whoAnswers } from "./rig/small_cluster.ts";

const EFFECT_MS = 3_000;

/** Resolves to the milliseconds until the condition held; fails after 3 s. */
async function within(what: string, condition: () => Promise<boolean>): Promise<number> {
  const start = performance.now();
  while (!await condition()) {
    assert.ok(performance.now() - start < EFFECT_MS, `not in ${EFFECT_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - start;
}

/** Both families agree; undefined while they do not. */
async function answers(clusterIPs: readonly string[]): Promise<boolean | undefined> {
  const found = await Promise.all(clusterIPs.map((address) => whoAnswers(address)));
  if (found.every((pod) => pod === "a")) return true;
  return found.every((pod) => pod === undefined) ? false : undefined;
}

// A connection that nobody answers is given up, not awaited.
Deno.test({ name: "opt-out by packets", sanitizeOps: false }, async (test) => {
  await using cluster = await OptOutCluster.create();
  const { api } = cluster;
  await api.create(namespaceObject("plain"));
  await api.create(namespaceObject("born-out", { [optOutLabel]: "disabled" }));
  await api.create(namespaceObject("mesh"));
  let number = 1;
  const add = async (namespace: string, name: string, nodePort?: number) => {
    const options = { number: number++, ...(nodePort === undefined ? {} : { nodePort }) };
    const { clusterIPs, objects } = reachableService(namespace, name, options);
    for (const object of objects) await api.create(object);
    return { clusterIPs, objects };
  };
  const gone = (ips: readonly string[]) => within("gone", async () => await answers(ips) === false);
  const there = (ips: readonly string[]) =>
    within("there", async () => await answers(ips) === true);
  const before = await add("plain", "before");
  const hidden = await add("born-out", "hidden");
  const mesh = await add("mesh", "shop", 30_080);
  const nodePort = () => whoAnswers(nodeAddresses.IPv4, { port: 30_080 });
  await using proxy = await cluster.startProxy();
  const says = [/nodePortAddresses has only IPv4 ranges/];
  const quiet = await Quiet.since(proxy, { plane: cluster.small.plane, says });
  // Another set of namespaces is a new watch of Services and one of slices; what comes back is listed.
  const [goesOut, comesBack] = [{ watches: 2 }, { lists: 2, watches: 2 }];

  await test.step("at start: served without the label, not with it", async () => {
    assert.equal(await answers(before.clusterIPs), true);
    assert.equal(await answers(mesh.clusterIPs), true);
    assert.equal(await nodePort(), "a");
    assert.equal(await answers(hidden.clusterIPs), false);
    await quiet.check();
  });

  await test.step("Services added: served without the label, not with it", async () => {
    const unseen = await add("born-out", "unseen");
    await there((await add("plain", "added")).clusterIPs);
    assert.equal(await answers(unseen.clusterIPs), false);
    await quiet.check();
  });

  await test.step("Services removed: gone without the label, and nothing happens with it", async () => {
    for (const object of hidden.objects) await api.delete(object);
    for (const object of before.objects) await api.delete(object);
    await gone(before.clusterIPs);
    assert.equal(await answers(hidden.clusterIPs), false);
    assert.equal(await answers(mesh.clusterIPs), true);
    await quiet.check();
  });

  await test.step("the label added: cluster IPs and node ports stop within 3 s", async () => {
    await cluster.setLabel("mesh", "disabled");
    await gone(mesh.clusterIPs);
    await within("the node port is gone", async () => await nodePort() === undefined);
    await quiet.check(goesOut);
  });

  await test.step("the label removed: what was there and what came meanwhile is served within 3 s", async () => {
    const meanwhile = await add("mesh", "meanwhile");
    await cluster.setLabel("mesh", null);
    await there(mesh.clusterIPs);
    await there(meanwhile.clusterIPs);
    await within("the node port answers", async () => await nodePort() === "a");
    await quiet.check(comesBack);
  });

  await test.step("a value other than disabled changes nothing", async () => {
    await cluster.setLabel("mesh", "Disabled");
    await cluster.setLabel("born-out", "enabled");
    await there((await add("born-out", "back")).clusterIPs);
    assert.equal(await answers(mesh.clusterIPs), true);
    await cluster.setLabel("mesh", null);
    await quiet.check(comesBack);
  });

  await test.step("an opted-out namespace that is deleted and made anew without the label is served", async () => {
    await cluster.setLabel("mesh", "disabled");
    await gone(mesh.clusterIPs);
    for (const object of mesh.objects) await api.delete(object);
    await api.delete(namespaceObject("mesh"));
    await api.create(namespaceObject("mesh"));
    for (const object of mesh.objects) await api.create(object);
    await there(mesh.clusterIPs);
    await quiet.check({ lists: 2, watches: 4 });
  });

  await test.step("a Service moved out of an opted-out namespace is served at its new place", async () => {
    await cluster.setLabel("mesh", "disabled");
    await gone(mesh.clusterIPs);
    for (const object of mesh.objects) await api.delete(object);
    const moved = mesh.objects.map((object) => ({
      ...object,
      metadata: { ...object.metadata, namespace: "plain" },
    }));
    for (const object of moved) await api.create(object);
    await there(mesh.clusterIPs);
    await quiet.check(goesOut);
  });

  await test.step("a label that flaps 10 times a second ends as it was left", async () => {
    const flapping = await add("plain", "flapping");
    await there(flapping.clusterIPs);
    for (let i = 0; i < 30; i++) {
      await cluster.setLabel("plain", i % 2 === 0 ? "disabled" : null);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await there(flapping.clusterIPs);
    assert.ok(proxy.isRunning, proxy.log());
    // Changes are gathered for a second at least, and these went on for three.
    await quiet.check({ lists: 4, watches: 10 });
  });
});
