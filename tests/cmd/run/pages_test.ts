/** What load balancers and people are told while a proxy runs. */
import assert from "node:assert/strict";
import { FakeClock } from "../../fakes/fake_clock.ts";
import {
  nodeName,
  nodeObject,
  type ProxyRun,
  serviceObject,
  withApiserver,
  withManifests,
} from "./proxy_rig.ts";

async function status({ address }: ProxyRun, page: "healthz" | "livez"): Promise<number> {
  const answer = await fetch(`http://${address}:10256/${page}`);
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("a proxy of files is healthy without a Node", () =>
  withManifests({}, async (run) => {
    await run.said("In sync");
    assert.deepEqual([await status(run, "healthz"), await status(run, "livez")], [200, 200]);
  }));

Deno.test("load balancers leave a node that the apiserver does not know", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.delete("nodes", { name: nodeName });
    const clock = new FakeClock();
    const run = start({ clock });
    await run.until("watches", () => apiserver.openWatches.length >= 5);
    await clock.advance(31_000);
    await run.until("rules", async () => {
      await clock.advance(20);
      return run.stderr.includes("In sync");
    });
    assert.deepEqual([await status(run, "healthz"), await status(run, "livez")], [503, 200]);
    assert.equal(await run.end(), 0);
  }));

Deno.test("the first sync of all is said once", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    const run = start();
    await run.said("In sync");
    apiserver.put("services", serviceObject("cart", "172.30.0.11"));
    await run.until("the Service", async () => (await run.clusterIPs()).length === 2);
    assert.equal(await run.end(), 0);
    assert.equal(run.stderr.split("In sync").length, 2);
  }));

const leaving: readonly { readonly name: string; readonly node: object }[] = [
  {
    name: "that the autoscaler is about to remove",
    node: nodeObject("192.168.0.2", {
      spec: { taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] },
    }),
  },
  {
    name: "that is being deleted",
    node: {
      ...nodeObject(),
      metadata: { name: nodeName, deletionTimestamp: "2026-01-01T00:00:00Z" },
    },
  },
];

for (const { name, node } of leaving) {
  Deno.test(`load balancers leave a node ${name}; the proxy itself is well, and stays so when that is over`, () =>
    withApiserver(async ({ apiserver, run: start }) => {
      const run = start();
      await run.said("In sync");
      await run.until("200", async () => await status(run, "healthz") === 200);
      apiserver.put("nodes", node as ReturnType<typeof nodeObject>);
      await run.until("503", async () => await status(run, "healthz") === 503);
      assert.equal(await status(run, "livez"), 200);
      apiserver.put("nodes", nodeObject());
      await run.until("200 again", async () => await status(run, "healthz") === 200);
    }));
}
