import assert from "node:assert/strict";
import fc from "fast-check";
import type { Endpoint } from "../../../../lib/snapshot/snapshot.ts";
import { inPlaces, type Places } from "../../../../lib/writers/nftables/places.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const newPod = (number: number): Endpoint => ({
  ip: `10.0.0.${number}`,
  port: 80,
  isLocal: false,
});
/** Endpoints that stay are mostly the same objects. */
const known = Array.from({ length: 10 }, (_, number) => newPod(number));
const pod = (number: number) => known[number];
const pods = (...numbers: readonly number[]) => numbers.map(pod);
/** The order in which the table has endpoints that had these places before. */
const keepPlaces = (endpoints: readonly Endpoint[], before: Places) =>
  inPlaces(servicePort({ name: "web", clusterEndpoints: endpoints }), {
    clusterEndpoints: before,
    localEndpoints: [],
  }).clusterEndpoints;
const numbers = (list: readonly Endpoint[]) => list.map(({ ip }) => Number(ip.split(".")[3]));

const cases: readonly {
  readonly name: string;
  readonly before: readonly (number | undefined)[];
  readonly after: readonly number[];
  readonly places: readonly number[];
}[] = [
  { name: "nothing was there", before: [], after: [1, 2], places: [1, 2] },
  {
    name: "the last one takes the place of one that left",
    before: [1, 2, 3, 4],
    after: [1, 3, 4],
    places: [1, 4, 3],
  },
  { name: "the last one leaves", before: [1, 2, 3], after: [1, 2], places: [1, 2] },
  { name: "a newcomer comes last", before: [2, 3], after: [1, 2, 3], places: [2, 3, 1] },
  {
    name: "a newcomer takes the place of one that left",
    before: [1, 2, 3],
    after: [1, 3, 4],
    places: [1, 4, 3],
  },
  { name: "all are others", before: [1, 2], after: [3, 4], places: [3, 4] },
  { name: "a free place is filled", before: [undefined, 1], after: [1, 2], places: [2, 1] },
  {
    name: "one that was in two places keeps the one that it has in its list",
    before: [2, 2, 1],
    after: [1, 2, 3],
    places: [3, 2, 1],
  },
  {
    name: "one that was in two places, and has another in its list, keeps the first",
    before: [2, 2, 1],
    after: [1, 3, 2],
    places: [2, 3, 1],
  },
];

for (const { after, before, name, places } of cases) {
  Deno.test(`inPlaces(): ${name}`, () => {
    for (const make of [pod, newPod]) {
      const former = before.map((number) => number === undefined ? undefined : make(number));
      assert.deepEqual(numbers(keepPlaces(pods(...after), former)), places);
    }
  });
}

Deno.test("inPlaces() gives the very list where its order is that of the places", () => {
  const list = pods(1, 2);
  assert.equal(keepPlaces(list, []), list);
  assert.equal(keepPlaces(list, pods(1, 2, 3)), list);
  assert.equal(keepPlaces(list, pods(3, 4)), list);
});

Deno.test("inPlaces() tells ports of one address apart, and takes the endpoint as it is now", () => {
  const [a, b] = [{ ...pod(1), port: 80 }, { ...pod(1), port: 81, isLocal: true }];
  assert.deepEqual(keepPlaces([a, b], [{ ip: b.ip, port: 81 }, { ip: a.ip, port: 80 }]), [b, a]);
});

Deno.test("inPlaces() holds the same endpoints, and whoever can stay stays", () => {
  const some = fc.uniqueArray(fc.integer({ min: 1, max: 9 }));
  fc.assert(fc.property(some, some, (before, after) => {
    const places = numbers(keepPlaces(pods(...after), pods(...before)));
    assert.deepEqual(places.toSorted(), after.toSorted());
    for (const [place, number] of before.entries()) {
      if (place < after.length && after.includes(number)) assert.equal(places[place], number);
    }
  }));
});

Deno.test("inPlaces() leaves session affinity and what is in order alone", () => {
  const sample = servicePort({
    name: "web",
    clusterEndpoints: pods(1, 2),
    localEndpoints: pods(2),
  });
  const before = { clusterEndpoints: pods(2, 1), localEndpoints: pods(2) };
  assert.deepEqual(numbers(inPlaces(sample, before).clusterEndpoints), [2, 1]);
  assert.equal(inPlaces(sample, before).localEndpoints, sample.localEndpoints);
  assert.equal(inPlaces(sample, sample), sample);
  const sticky = { ...sample, affinitySeconds: 60 };
  assert.equal(inPlaces(sticky, before), sticky);
});

const web = (...numbers: readonly number[]) =>
  servicePort({
    name: "web",
    clusterIP: addresses.IPv4.clusterIP(1),
    externalIPs: [addresses.IPv4.external(1)],
    nodePort: 30_001,
    clusterEndpoints: endpoints("IPv4", ...numbers.map((number) => [9, number] as const)),
  });

/** How many elements each batch since the mark deletes and adds in maps of endpoints. */
function endpointsWritten(harness: Harness, mark: number): readonly [number, number] {
  const operations = harness.batchesSince(mark).flat();
  const count = (kind: "add-elements" | "delete-elements") =>
    operations.reduce(
      (sum, operation) =>
        operation.kind === kind && operation.set.includes("endpoints") &&
          !operation.set.startsWith("no-")
          ? sum + operation.elements.length
          : sum,
      0,
    );
  return [count("delete-elements"), count("add-elements")];
}

Deno.test("sync() of one endpoint less writes two elements a frontend, and one more writes one", async () => {
  const all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
  const harness = new Harness();
  await harness.put(web(...all));
  let mark = harness.nftables.commits.length;
  await harness.put(web(...all.filter((number) => number !== 3)));
  assert.deepEqual(endpointsWritten(harness, mark), [6, 3]);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
  mark = harness.nftables.commits.length;
  await harness.put(web(...all));
  assert.deepEqual(endpointsWritten(harness, mark), [0, 3]);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
  assert.equal(await harness.drifted(), false);
});

Deno.test("sync() of a new process keeps the places it finds, and repairs what is wrong in them", async () => {
  const harness = new Harness();
  await harness.put(web(1, 2, 3, 4, 5, 6));
  await harness.put(web(1, 3, 4, 5, 6));
  await harness.maintain();
  harness.restart();
  assert.equal((await harness.all()).written, 0);
  const clusterIP = addresses.IPv4.clusterIP(1);
  const [set] = /map (endpoints-\d+) \{[^\n]* \. 3 : /.exec(harness.nftables.dump())?.slice(1) ??
    [];
  const at = (place: number) => [clusterIP, "tcp", 80, place];
  // One endpoint in two places, and so one that nobody reaches.
  await harness.tamper(
    { kind: "delete-elements", set, elements: [{ key: at(0) }] },
    { kind: "add-elements", set, elements: [{ key: at(0), value: ["10.128.9.4", 8080] }] },
  );
  assert.equal(await harness.drifted(), true);
  harness.restart();
  assert.ok((await harness.all()).written > 0);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of a new process repairs whatever somebody did to the places", async () => {
  const count = 6;
  const frontends = [
    [addresses.IPv4.clusterIP(1), "tcp", 80],
    [addresses.IPv4.external(1), "tcp", 80],
    ["tcp", 30_001],
  ] as const;
  const edit = fc.record({
    frontend: fc.integer({ min: 0, max: frontends.length - 1 }),
    place: fc.integer({ min: 0, max: count - 1 }),
    pod: fc.option(fc.integer({ min: 1, max: count + 2 }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
      const harness = new Harness();
      await harness.put(web(...Array.from({ length: count }, (_, i) => i + 1)));
      const shard = /map endpoints(-\d+)? \{[^\n]* \. 5 : /.exec(harness.nftables.dump())?.[1] ??
        "";
      const seen = new Set<string>();
      for (const { frontend, place, pod } of edits) {
        const set = (frontend === 2 ? "nodeport-endpoints" : "endpoints") + shard;
        const key = [...frontends[frontend], place];
        if (seen.has(key.join())) continue;
        seen.add(key.join());
        await harness.tamper({ kind: "delete-elements", set, elements: [{ key }] });
        if (pod === undefined) continue;
        const elements = [{ key, value: [`10.128.9.${pod}`, 8080] }];
        await harness.tamper({ kind: "add-elements", set, elements });
      }
      harness.restart();
      await harness.all();
      assert.equal(harness.table(), await harness.cleanStart());
      assert.equal(await harness.drifted(), false);
      harness.restart();
      assert.equal((await harness.all()).written, 0);
    }),
    { numRuns: 40 },
  );
});
