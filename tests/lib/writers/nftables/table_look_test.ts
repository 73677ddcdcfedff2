import assert from "node:assert/strict";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import { elementKey } from "../../../../lib/kernel/nftables/element_identity.ts";
import type { NftElement, NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, everyShape, servicePort } from "./samples.ts";

/** A table that is as it should be, in a kernel that counts elements or does not. */
async function settled({ tellsCounts }: { readonly tellsCounts: boolean }): Promise<Harness> {
  const harness = new Harness({ nftables: new FakeNftables({ tellsCounts }) });
  await harness.put(...everyShape("IPv4"));
  await harness.maintain();
  return harness;
}

/** So many Services with two endpoints each: five elements a Service. */
async function large(count: number): Promise<Harness> {
  const harness = new Harness();
  await harness.put(...Array.from({ length: count }, (_, i) => web(i)));
  return harness;
}

function web(number: number, ...pods: readonly (readonly [number, number])[]) {
  return servicePort({
    name: `web-${number}`,
    clusterIP: addresses.IPv4.clusterIP(number + 256),
    clusterEndpoints: endpoints("IPv4", ...(pods.length > 0 ? pods : [[9, 1], [9, 2]] as const)),
  });
}

/** Which elements the writer asks for from now on. */
function asked({ nftables }: Harness, after: () => void | Promise<void> = () => {}): string[] {
  const names: string[] = [];
  const ask = nftables.holdsElements.bind(nftables);
  nftables.holdsElements = async (table, set, elements) => {
    names.push(...elements.map((element) => `${set.name} ${elementKey(element)}`));
    const answer = await ask(table, set, elements);
    await after();
    return answer;
  };
  return names;
}

const key = ["172.30.0.10", "tcp", 80];
const edits: readonly { readonly name: string; readonly operations: readonly NftOperation[] }[] = [
  {
    name: "an element",
    operations: [{ kind: "delete-elements", set: "service-ips", elements: [{ key }] }],
  },
  {
    name: "an element's value",
    operations: [
      { kind: "delete-elements", set: "service-ips", elements: [{ key }] },
      {
        kind: "add-elements",
        set: "service-ips",
        elements: [{ key, value: { kind: "drop" } }],
      },
    ],
  },
  {
    name: "an address for node ports",
    operations: [
      { kind: "delete-elements", set: "nodeport-ips", elements: [{ key: ["192.168.0.1"] }] },
    ],
  },
];

for (const tellsCounts of [true, false]) {
  for (const { name, operations } of edits) {
    Deno.test(`drifted() finds ${name} in a kernel that ${tellsCounts ? "counts" : "does not count"}`, async () => {
      const harness = await settled({ tellsCounts });
      await harness.tamper(...operations);
      assert.equal(await harness.drifted(), true);
      await harness.all();
      harness.nftables.moveGeneration();
      assert.equal(await harness.drifted(), false);
    });
  }
}

Deno.test("drifted() finds by counts what is there too much, without asking for elements", async () => {
  const harness = await settled({ tellsCounts: true });
  const names = asked(harness);
  const element: NftElement = { key: ["198.51.100.99", "tcp", 80], value: { kind: "drop" } };
  await harness.tamper({ kind: "add-elements", set: "service-ips", elements: [element] });
  assert.equal(await harness.drifted(), true);
  assert.deepEqual(names, []);
});

Deno.test("drifted() asks for each element once, and for none again before somebody else commits", async () => {
  const harness = await large(300);
  const names = asked(harness);
  harness.nftables.moveGeneration();
  assert.equal(await harness.drifted(), false);
  assert.equal(names.length, 1 + 300 * 4);
  assert.equal(new Set(names).size, names.length);
  assert.equal(await harness.drifted(), false);
  assert.equal(names.length, 1 + 300 * 4);
});

Deno.test("drifted() asks for just the chains that are there, also for those that are to go", async () => {
  const harness = await settled({ tellsCounts: true });
  const { nftables } = harness;
  const list = nftables.listTable.bind(nftables);
  const asked: (readonly string[])[] = [];
  nftables.listTable = async (table, expected = []) => {
    asked.push(expected);
    return await list(table);
  };
  const there = async () => (await list(tableOf("IPv4")))?.chains.map(({ name }) => name).sort();
  let chains = new Set<number>();
  for (const [i, { key }] of everyShape("IPv4").entries()) {
    if (i % 3 === 0) await harness.remove(key);
    await harness.clock.advance(10_000);
    nftables.moveGeneration();
    assert.equal(await harness.drifted(), false);
    assert.deepEqual(asked.at(-1)?.toSorted(), await there());
    chains = chains.add(asked.at(-1)?.length ?? 0);
    if (i % 5 === 0) await harness.maintain();
  }
  assert.ok(chains.size > 3, `${[...chains]}`);
});

Deno.test("drifted() ends when a sync waits, and goes on where it was", async () => {
  const harness = await large(300);
  let stop = new AbortController();
  const names = asked(harness, () => stop.abort());
  harness.nftables.moveGeneration();
  let calls = 0;
  for (; names.length < 1 + 300 * 4; calls++) {
    stop = new AbortController();
    assert.equal(await harness.drifted(stop.signal), false);
    assert.ok(names.length <= (calls + 1) * 500, `${names.length} in ${calls + 1} calls`);
  }
  assert.equal(calls, 3);
  assert.equal(new Set(names).size, names.length);
});

Deno.test("drifted() takes nothing for foreign that was written between two calls", async () => {
  const harness = await large(300);
  const stop = AbortSignal.abort();
  harness.nftables.moveGeneration();
  assert.equal(await harness.drifted(stop), false);
  await harness.change(
    Array.from({ length: 300 }, (_, i) => web(i, [9, 3], [9, 4])).slice(0, 250),
    Array.from({ length: 20 }, (_, i) => web(280 + i).key),
  );
  for (let call = 0; call < 5; call++) assert.equal(await harness.drifted(stop), false);
  assert.equal(await harness.drifted(), false);
});

Deno.test("drifted() still finds what was changed behind a round's back", async () => {
  const harness = await large(300);
  harness.nftables.moveGeneration();
  assert.equal(await harness.drifted(AbortSignal.abort()), false);
  const [first] = [web(0)].map(({ clusterIP }) => ({ key: [clusterIP, "tcp", 80] }));
  await harness.tamper(
    { kind: "delete-elements", set: "service-ips", elements: [first] },
    { kind: "add-elements", set: "service-ips", elements: [{ ...first, value: { kind: "drop" } }] },
  );
  let looks = 0;
  while (!await harness.drifted()) {
    assert.ok(++looks < 5);
    await harness.clock.advance(2000);
  }
});

Deno.test("drifted() spends no more on elements than a thirty-second part of the time, and what was saved up", async () => {
  const harness = await large(300);
  const { clock, nftables } = harness;
  let spentMs = 0;
  const ask = nftables.holdsElements.bind(nftables);
  nftables.holdsElements = async (table, set, elements) => {
    if (set.name !== "endpoints") return await ask(table, set, elements);
    spentMs += 50;
    await clock.advance(50);
    return await ask(table, set, elements);
  };
  for (let second = 0; second < 60; second++) {
    nftables.moveGeneration();
    assert.equal(await harness.drifted(), false);
    await clock.advance(1000);
  }
  // A second was saved up before, and a step may begin with the last of it.
  assert.ok(spentMs > 60_000 / 32 && spentMs <= 66_000 / 32 + 1_050, `${spentMs} ms`);
});
