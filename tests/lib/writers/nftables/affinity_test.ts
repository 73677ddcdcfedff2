import assert from "node:assert/strict";
import type { NftOperation, NftSet } from "../../../../lib/kernel/nftables/operations.ts";
import { nftText } from "../../../../lib/kernel/nftables/text.ts";
import { endpointNames, tableOf } from "../../../../lib/writers/nftables/names.ts";
import { affinitySetName } from "../../../../lib/writers/nftables/shards.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const web = (pods: readonly number[], affinitySeconds: number) =>
  servicePort({
    name: "web",
    clusterIP: addresses.IPv4.clusterIP(1),
    affinitySeconds,
    clusterEndpoints: endpoints("IPv4", ...pods.map((pod) => [9, pod] as const)),
  });

/** The operations since a mark, as text, without the names that hashes make long. */
function textSince(harness: Harness, mark: number): readonly string[] {
  return harness.batchesSince(mark).map((batch) =>
    nftText(tableOf("IPv4"), batch)
      .replaceAll(/[A-Z2-7]{8}-ns\/web\/tcp\/p80(__10\.128\.9\.)?/g, "")
      .replaceAll(" ip kube-proxy", "")
      .replaceAll(/affinity-\d+/g, "affinity-n").replaceAll(/offset \d+/g, "offset n")
  );
}

Deno.test("sync() of another affinity time rewrites rules and touches no set: clients stay", async () => {
  const harness = new Harness();
  await harness.put(web([1], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1], 90));
  assert.deepEqual(textSince(harness, mark), [
    "flush chain endpoint-1/8080\n" +
    "add rule endpoint-1/8080 update @affinity-n " +
    "{ ip saddr . numgen random mod 1 offset n timeout 90s }\n" +
    "add rule endpoint-1/8080 meta l4proto tcp dnat to 10.128.9.1:8080\n",
  ]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of a new endpoint makes its chain before anything leads there", async () => {
  const harness = new Harness();
  await harness.put(web([1], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1, 2], 60));
  const [prepare, main, ...more] = textSince(harness, mark);
  assert.match(prepare, /^add set affinity-n .*\nadd chain endpoint-2\/8080\n/);
  assert.doesNotMatch(prepare, /service-/);
  assert.match(main, /^flush chain service-\n/);
  assert.match(main, /numgen random mod 2/);
  assert.deepEqual(more, []);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of an endpoint that left empties its chain, and a later batch deletes it", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1], 60));
  await harness.maintain();
  const [main, tidy] = textSince(harness, mark);
  assert.match(main, /^flush chain service-\n[^]*flush chain endpoint-2\/8080\n$/);
  assert.equal(
    tidy,
    "flush chain endpoint-2/8080\ndelete set affinity-n\ndelete chain endpoint-2/8080\n",
  );
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() takes an endpoint back that left a moment ago, with its clients", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  await harness.put(web([1], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1, 2], 60));
  assert.ok(textSince(harness, mark).every((text) => !/delete|add set/.test(text)));
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() goes from affinity to lists and back", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  for (const seconds of [0, 60, 0]) {
    const report = await harness.put(web([1, 2], seconds));
    assert.equal(report.full, false);
    await harness.maintain();
    assert.equal(harness.table(), await harness.cleanStart());
  }
});

Deno.test("sync() of a new process adopts chains and sets of affinity", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  harness.restart();
  assert.equal((await harness.all()).written, 0);
});

Deno.test("maintain() forgets the clients of an endpoint that left, and nobody else's", async () => {
  const [gone, neighbour] = podsWithOneSet();
  const harness = new Harness();
  await harness.put(web([gone, neighbour], 60));
  await harness.tamper(
    ...[gone, neighbour].map(pinOf).map(({ number, set }): NftOperation => ({
      kind: "add-elements",
      set,
      elements: [{ key: ["192.0.2.1", number] }, { key: ["192.0.2.2", number] }],
    })),
  );
  await harness.put(web([neighbour], 60));
  await harness.maintain();
  const { number } = pinOf(neighbour);
  assert.deepEqual(clientsIn(harness), [`192.0.2.1 . ${number}`, `192.0.2.2 . ${number}`]);
  const mark = harness.nftables.commits.length;
  await harness.maintain();
  assert.equal(harness.nftables.commits.length, mark);
});

Deno.test("maintain() goes on when a set of clients is gone too", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  await harness.remove("ns/web:p80/TCP");
  await harness.maintain();
  const mark = harness.nftables.commits.length;
  await harness.maintain();
  assert.equal(harness.nftables.commits.length, mark);
  assert.equal(harness.table(), await harness.cleanStart());
});

/** Two pods whose clients are remembered in one set, in sorted order. */
function podsWithOneSet(): readonly [number, number] {
  const setOf = (pod: number) => {
    const [endpoint] = endpoints("IPv4", [9, pod]);
    return affinitySetName(endpointNames(web([pod], 60), endpoint).number);
  };
  const other = Array.from({ length: 90 }, (_, i) => i + 11).find((pod) =>
    setOf(pod) === setOf(10)
  );
  assert.ok(other);
  return [10, other];
}

/** The number of an endpoint and the set that remembers its clients. */
function pinOf(pod: number): { readonly number: number; readonly set: string } {
  const [endpoint] = endpoints("IPv4", [9, pod]);
  const { number } = endpointNames(web([pod], 60), endpoint);
  return { number, set: affinitySetName(number) };
}

function clientsIn(harness: Harness): readonly string[] {
  return [...harness.nftables.dump().matchAll(/set affinity-\d+ .* elements = \{ (.*?) \}/g)]
    .flatMap(([, clients]) => clients.split(", "));
}

Deno.test("sync() of a new process takes over the clients that an older table has for each endpoint", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  const former = (pod: number): NftSet => {
    const [endpoint] = endpoints("IPv4", [9, pod]);
    const { chain } = endpointNames(web([pod], 60), endpoint);
    return {
      name: chain.replace("endpoint-", "affinity-"),
      key: ["addr"],
      dynamicTimeoutSeconds: 10_800,
    };
  };
  for (const pod of [1, 2, 3]) {
    const set = former(pod);
    const elements = [{ key: [`192.0.2.${pod}`] }];
    await harness.tamper({ kind: "add-set", set });
    await harness.tamper({ kind: "add-elements", set: set.name, elements });
  }
  harness.restart();
  await harness.all();
  await harness.maintain();
  const pins = [1, 2].map((pod) => `192.0.2.${pod} . ${pinOf(pod).number} timeout 60s`);
  assert.deepEqual(clientsIn(harness).toSorted(), pins);
  assert.doesNotMatch(harness.nftables.dump(), /set affinity-[A-Z]/);
  harness.restart();
  assert.equal((await harness.all()).written, 0);
});
