import assert from "node:assert/strict";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const { clusterIP, external } = addresses.IPv4;

const web = (number: number, count: number, more: { readonly nodePort?: number } = {}) =>
  servicePort({
    name: `web${number}`,
    clusterIP: clusterIP(number),
    clusterEndpoints: endpoints(
      "IPv4",
      ...Array.from({ length: count }, (_, i) => [9, i + 1] as const),
    ),
    ...more,
  });

/** A writer whose table holds little, and how many it says it skips. */
function small(mostElements: number) {
  const told: number[] = [];
  const metrics = {
    syncFailed: () => {},
    cleanupFailed: () => {},
    skipped: (_: unknown, count: number) => {
      if (told.at(-1) !== count) told.push(count);
    },
  };
  return { harness: new Harness({ mostElements, metrics }), told };
}

const sentence = (name: string, needed: number, of: string) =>
  `Cannot program Service port "ns/${name}:p80/TCP": it needs ${needed} elements, and of the ${of} ` +
  "are left; give it fewer ports, addresses or endpoints; it is tried again when it changes and " +
  "whenever the table is compared as a whole";

Deno.test("sync() leaves out the giant that a node cannot hold, says so, and serves the others", async () => {
  const { harness, told } = small(100);
  harness.arrange([web(1, 90), web(2, 30), web(3, 40)]);
  const { notices } = await harness.all();
  assert.deepEqual(notices.map(({ message }) => message), [
    sentence("web1", 92, "100 that a node can hold 26"),
  ]);
  assert.deepEqual(told, [1]);
  assert.equal((await harness.all()).notices.length, 1);
  harness.arrange([], ["ns/web1:p80/TCP"]);
  assert.equal(harness.table(), await harness.cleanStart());
  assert.deepEqual((await harness.all()).notices, []);
});

Deno.test("sync() of a change beyond what a node can hold removes that Service port, until there is room", async () => {
  const { harness, told } = small(100);
  await harness.put(web(1, 30), web(2, 30));
  const { full, notices } = await harness.put(web(1, 70));
  assert.equal(full, false);
  assert.deepEqual(notices.map(({ message }) => message), [
    sentence("web1", 72, "100 that a node can hold 68"),
  ]);
  await harness.maintain();
  const table = harness.table();
  harness.arrange([], ["ns/web1:p80/TCP"]);
  assert.equal(table, await harness.cleanStart());
  await harness.remove("ns/web2:p80/TCP");
  assert.deepEqual((await harness.put(web(1, 71))).notices, []);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
  assert.deepEqual(told, [1, 0]);
});

Deno.test("sync() counts every frontend, and what is there once", async () => {
  const { harness } = small(100);
  assert.equal((await harness.put(web(1, 40, { nodePort: 30_001 }))).notices.length, 0);
  for (let i = 0; i < 5; i++) {
    assert.deepEqual((await harness.put(web(1, 45 + i % 2, { nodePort: 30_001 }))).notices, []);
  }
  assert.equal((await harness.put(web(2, 10))).notices.length, 1);
  const wide = { ...web(3, 1), externalIPs: [external(1)], loadBalancerVIPs: [external(2)] };
  assert.equal((await harness.put(wide)).notices.length, 1);
  assert.deepEqual((await harness.put(web(4, 1))).notices, []);
});

Deno.test("sync() of a Service port that cannot be written gives its room to others", async () => {
  const { harness } = small(100);
  await harness.put(web(1, 90));
  const broken = { ...web(1, 90), port: 0 };
  assert.equal((await harness.put(broken)).notices.length, 1);
  assert.deepEqual((await harness.put(web(2, 90))).notices, []);
});
