import assert from "node:assert/strict";
import { pickPrefixes } from "../../../../lib/writers/nftables/names.ts";
import { setNames, sets } from "../../../../lib/writers/nftables/sets.ts";
import {
  affinitySetName,
  definitionOf,
  inLookupOrder,
  isSetName,
  shardName,
  shardOf,
} from "../../../../lib/writers/nftables/shards.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

Deno.test("shardOf() keeps short lists in one map and spreads long ones evenly", () => {
  const shardsOf = (count: number) => {
    const used = new Map<number, number>();
    for (let i = 0; i < 6_400; i++) {
      const shard = shardOf(`ns-${i % 100}/svc-${i}:http/TCP`, count);
      used.set(shard, (used.get(shard) ?? 0) + 1);
    }
    return used;
  };
  assert.deepEqual([1, 2, 3, 4, 5, 10, 100, 5_000].map((count) => shardsOf(count).size), [
    1,
    1,
    2,
    2,
    4,
    8,
    64,
    64,
  ]);
  const [least, most] = [Math.min, Math.max].map((extreme) => extreme(...shardsOf(1_000).values()));
  assert.ok(least > 50 && most < 150, `${least} to ${most} of 100`);
  assert.deepEqual([...shardsOf(1_000).keys()].sort((a, b) => a - b).at(-1), 63);
});

Deno.test("definitionOf() knows every set by its name, and no other", () => {
  for (const name of setNames) {
    assert.deepEqual(definitionOf(name), sets[name]);
    assert.ok(isSetName(name));
  }
  for (const map of Object.keys(pickPrefixes)) {
    assert.ok(isSetName(map));
    const definition = definitionOf(`${map}-63`);
    assert.deepEqual(definition, { ...definitionOf(map), name: `${map}-63` });
    assert.ok(isSetName(`${map}-63`));
  }
  assert.deepEqual(definitionOf("affinity-7")?.key, ["addr", "index"]);
  assert.ok(!isSetName("affinity-7"));
  const others = [
    "endpoints-0",
    "endpoints-",
    "cluster-ips-1",
    "affinity-ABCDEFGH-ns/svc",
    "theirs",
  ];
  for (const name of others) assert.equal(definitionOf(name), undefined, name);
});

Deno.test("names lead to the maps and sets they are of", () => {
  assert.equal(shardName("local-endpoints", 0), "local-endpoints");
  assert.equal(shardName("local-endpoints", 5), "local-endpoints-5");
  assert.equal(affinitySetName(64 * 3 + 7), "affinity-7");
});

Deno.test("inLookupOrder() puts what leads somewhere behind what it leads to", () => {
  assert.deepEqual(inLookupOrder(["service-ips", "endpoints-2", "cluster-picks", "endpoints"]), [
    "endpoints",
    "endpoints-2",
    "cluster-picks",
    "service-ips",
  ]);
});

const web = (count: number) =>
  servicePort({
    name: "web",
    clusterIP: addresses.IPv4.clusterIP(1),
    clusterEndpoints: endpoints(
      "IPv4",
      ...Array.from({ length: count }, (_, i) => [9, i + 1] as const),
    ),
  });

Deno.test("a map of endpoints comes with the first Service that needs it, and goes with the last", async () => {
  const harness = new Harness();
  await harness.put(web(2));
  assert.doesNotMatch(harness.nftables.dump(), /map endpoints-/);
  await harness.put(web(40));
  await harness.maintain();
  assert.match(harness.nftables.dump(), /map endpoints-\d+ /);
  assert.equal(harness.table(), await harness.cleanStart());
  harness.restart();
  assert.equal((await harness.all()).written, 0);
  await harness.put(web(1));
  await harness.maintain();
  assert.doesNotMatch(harness.nftables.dump(), /endpoints-\d|-in-\d/);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of a new process removes a map that nobody needs with all that is in it", async () => {
  const harness = new Harness();
  await harness.put(web(40));
  harness.restart();
  harness.arrange([], ["ns/web:p80/TCP"]);
  const mark = harness.nftables.commits.length;
  await harness.all();
  await harness.maintain();
  const deleted = harness.batchesSince(mark).flat().filter(({ kind }) =>
    kind === "delete-elements"
  );
  assert.ok(deleted.every((operation) => "set" in operation && operation.set !== "endpoints-1"));
  assert.equal(harness.table(), await harness.cleanStart());
});
