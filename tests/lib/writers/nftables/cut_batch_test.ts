import assert from "node:assert/strict";
import { BatchMeasure } from "../../../../lib/kernel/nftables/batch_measure.ts";
import { encodeBatch } from "../../../../lib/kernel/nftables/encode.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { BatchBuilder } from "../../../../lib/writers/nftables/batch.ts";
import { cutBatches } from "../../../../lib/writers/nftables/cut_batch.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { sets } from "../../../../lib/writers/nftables/sets.ts";
import { definitionOf, shardName } from "../../../../lib/writers/nftables/shards.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const largestBatch = 20_000;
const table = tableOf("IPv4");
const { clusterIP, external, loadBalancer } = addresses.IPv4;

/** Endpoints have a node of 200 pods each. */
function podOf(number: number): readonly [node: number, pod: number] {
  return [9 + Math.floor(number / 200), 1 + number % 200];
}

/** A Service with so many endpoints, from a number on. */
function giant(count: number, first = 0, rest: Partial<ServicePort> = {}): ServicePort {
  const pods = Array.from({ length: count }, (_, i) => podOf(first + i));
  return servicePort({
    name: "giant",
    clusterIP: clusterIP(1),
    externalIPs: [external(1)],
    nodePort: 30_001,
    clusterEndpoints: endpoints("IPv4", ...pods),
    ...rest,
  });
}

/** A writer whose socket takes little; looks at the table after each batch that it commits. */
function watched(look: (nftables: FakeNftables) => Promise<void> = () => Promise.resolve()) {
  const nftables = new FakeNftables({ largestBatch });
  const harness = new Harness({ nftables });
  const commit = nftables.commit.bind(nftables);
  const commits = { count: 0 };
  nftables.commit = async (...args) => {
    const receipt = await commit(...args);
    if (receipt) commits.count++;
    await look(nftables);
    return receipt;
  };
  return { commits, harness, nftables };
}

/** Each frontend that leads to a choice among K endpoints has K of them. */
async function assertServed(nftables: FakeNftables): Promise<void> {
  if (!await nftables.listTable(table)) return;
  for (const { key, value } of await nftables.listElements(table, sets["service-ips"])) {
    const chain = value && "kind" in value && value.kind === "goto" ? value.chain : "";
    const [, count = 0, shard = 0] = /^pick-(\d+)(?:-in-(\d+))?$/.exec(chain)?.map(Number) ?? [];
    const set = definitionOf(shardName("endpoints", shard || 0));
    const listed = await nftables.listElements(table, set);
    const keys = new Set(listed.map((element) => element.key.join()));
    for (let i = 0; i < count; i++) {
      assert.ok(keys.has([...key, i].join()), `${key} lacks endpoint ${i} of ${count}`);
    }
  }
}

Deno.test("a Service that is too large for one batch is written in several, and never lacks an endpoint", async () => {
  const { commits, harness } = watched(assertServed);
  for (const [count, first] of [[300, 0], [200, 250], [400, 100]] as const) {
    commits.count = 0;
    assert.deepEqual((await harness.put(giant(count, first))).notices, []);
    assert.ok(commits.count > 2, `${commits.count} batches`);
    await harness.maintain();
    assert.equal(harness.table(), await harness.cleanStart());
  }
  commits.count = 0;
  await harness.remove("ns/giant:p80/TCP");
  assert.ok(commits.count > 1, `${commits.count} batches`);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("a batch that fits is not cut", async () => {
  const { commits, harness } = watched();
  await harness.put(giant(3));
  await harness.maintain();
  commits.count = 0;
  await harness.put(giant(3, 7));
  assert.equal(commits.count, 1);
});

Deno.test("batches are as full as the socket lets them be", async () => {
  const { commits, harness } = watched();
  await harness.all();
  commits.count = 0;
  await harness.put(giant(1_000));
  // Three lists of a thousand elements of at least 56 bytes.
  const least = Math.ceil(3 * 1_000 * 56 / largestBatch);
  assert.ok(commits.count <= least * 1.5 + 3, `${commits.count} batches, at least ${least}`);
});

Deno.test("cutBatches() keeps the order, fills no batch beyond the limit, and knows whose each is", () => {
  const bytes = 4_000;
  const builder = new BatchBuilder();
  const names = Array.from({ length: 200 }, (_, i) => `chain-${i}`);
  for (const [i, name] of names.entries()) {
    builder.add({ kind: "add-chain", chain: { name } }, `ns/${Math.floor(i / 20)}`);
  }
  const whole = builder.build(["ns/all"]);
  const setOf = () => undefined;
  const measure = new BatchMeasure({ table, setOf });
  const parts = [...cutBatches([whole], { bytes, measure })];
  assert.ok(parts.length > 2);
  assert.deepEqual(parts.flatMap(({ operations }) => operations), whole.operations);
  for (const { operations, ownerOf, owners } of parts) {
    assert.ok(encodeBatch(table, operations, { setOf }).bytes.length <= bytes);
    const failures = operations.map((_, operation) => ({ operation, errno: 1, message: "" }));
    assert.deepEqual(owners, [...new Set(failures.map(ownerOf))]);
  }
  assert.deepEqual([...cutBatches([whole], { bytes: Infinity, measure })], [whole]);
});

Deno.test("a Service with too many ranges for one batch lets nobody in while they change", async () => {
  const guarded = (ranges: number, second: number) =>
    servicePort({
      name: "guarded",
      clusterIP: clusterIP(1),
      loadBalancerVIPs: [loadBalancer(1)],
      sourceRanges: Array.from(
        { length: ranges },
        (_, i) => `10.${second}${i >> 8}.${i & 255}.0/24`,
      ),
      clusterEndpoints: endpoints("IPv4", [9, 1]),
    });
  const isGuarded = async (nftables: FakeNftables) => {
    const rules = (await nftables.listTable(table))?.rules ?? [];
    assert.ok(rules.some(({ chain }) => chain === "firewall-tcp"));
  };
  const { commits, harness } = watched(isGuarded);
  await harness.put(guarded(500, 1));
  commits.count = 0;
  assert.deepEqual((await harness.put(guarded(500, 2))).notices, []);
  assert.ok(commits.count > 1, `${commits.count} batches`);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("a table of another kind is made anew in batches that the socket takes", async () => {
  const { commits, harness, nftables } = watched();
  await nftables.commit(table, [
    { kind: "add-table" },
    { kind: "add-set", set: { name: "endpoints", key: ["addr"] } },
  ]);
  harness.arrange([giant(500)]);
  commits.count = 0;
  assert.deepEqual((await harness.all()).notices, []);
  assert.ok(commits.count > 3);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("what cannot be cut costs its own Service only, and is named", async () => {
  const { harness } = watched();
  const pinned = giant(2_000, 0, { affinitySeconds: 60 });
  const other = servicePort({ ...giant(2), name: "other", clusterIP: clusterIP(2), nodePort: 0 });
  const small = { ...other, key: "ns/other:p80/TCP", externalIPs: [] };
  harness.arrange([pinned, small]);
  const { notices } = await harness.all();
  assert.deepEqual(notices.map(({ service }) => service), ["ns/giant:p80/TCP"]);
  assert.match(notices[0].message, /message too long for the socket \(EMSGSIZE\)/);
  harness.arrange([], [pinned.key]);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});
