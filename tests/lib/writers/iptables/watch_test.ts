import assert from "node:assert/strict";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtRules } from "../../../../lib/kernel/xtables/xtables.ts";
import { chainsOf } from "../../../../lib/writers/iptables/names.ts";
import { Harness } from "./harness.ts";
import { endpoints, servicePort, snapshotOf } from "./samples.ts";

const web = servicePort({
  name: "web",
  clusterIP: "172.30.0.10",
  nodePort: 30080,
  clusterEndpoints: endpoints("IPv4", [1, 2], [2, 2]),
});
const api = servicePort({
  name: "api",
  clusterIP: "172.30.0.11",
  clusterEndpoints: endpoints("IPv4", [1, 3]),
});
const snapshot = snapshotOf("IPv4", [web, api]);
const accept = { matches: [], target: { kind: "accept" } } as const;
const chain = chainsOf(web).cluster;

const edits: readonly (readonly [name: string, changes: readonly XtChange[]])[] = [
  ["a chain of a Service is flushed", [{ kind: "flush-chain", table: "nat", chain }]],
  ["a rule is added to one", [{ kind: "append-rule", table: "nat", chain, rule: accept }]],
  ["a shared chain is flushed", [{ kind: "flush-chain", table: "nat", chain: "KUBE-SERVICES" }]],
  ["a static chain is flushed", [{ kind: "flush-chain", table: "filter", chain: "KUBE-FORWARD" }]],
  ["a jump is removed", [{ kind: "flush-chain", table: "filter", chain: "INPUT" }]],
  ["a canary is removed", [{ kind: "delete-chain", table: "mangle", chain: "KUBE-PROXY-CANARY" }]],
  ["a chain looks like ours", [
    { kind: "add-chain", table: "nat", chain: "KUBE-SEP-AAAAAAAAAAAAAAAA" },
  ]],
  ["an unused chain is removed", [
    { kind: "flush-chain", table: "nat", chain: "KUBE-SERVICES" },
    { kind: "flush-chain", table: "nat", chain: chainsOf(api).cluster },
    { kind: "delete-chain", table: "nat", chain: chainsOf(api).cluster },
  ]],
];

for (const backend of ["nft", "legacy"] as const) {
  for (const [name, changes] of edits) {
    Deno.test(`drifted() sees when ${name}, ${backend}`, async () => {
      const harness = new Harness({ backend });
      await harness.full(snapshot);
      assert.equal(await harness.drifted(), false);
      harness.xtables.edit("IPv4", changes);
      assert.equal(await harness.drifted(), true);
      await harness.full(snapshot);
      assert.equal(await harness.drifted(), false);
    });
  }

  Deno.test(`drifted() sees them also after changes of our own, ${backend}`, async () => {
    for (const [name, changes] of edits.slice(0, 4)) {
      const harness = new Harness({ backend });
      await harness.full(snapshotOf("IPv4", [web]));
      await harness.some(snapshot, api);
      assert.equal(await harness.drifted(), false);
      harness.xtables.edit("IPv4", changes);
      assert.equal(await harness.drifted(), true, name);
    }
  });

  Deno.test(`drifted() leaves what others have to them, ${backend}`, async () => {
    const harness = new Harness({ backend });
    await harness.full(snapshot);
    harness.xtables.edit("IPv4", [
      { kind: "add-chain", table: "nat", chain: "CNI-1" },
      { kind: "append-rule", table: "nat", chain: "CNI-1", rule: accept },
      { kind: "insert-rule", table: "filter", chain: "FORWARD", rule: accept },
      {
        kind: "append-rule",
        table: "nat",
        chain: "CNI-1",
        rule: { matches: [], target: { kind: "jump", chain: "KUBE-MARK-MASQ" } },
      },
    ]);
    assert.equal(await harness.drifted(), false);
  });
}

Deno.test("drifted() reads nothing while only our own commits moved the state", async () => {
  const harness = new Harness();
  let readings = 0;
  const read = harness.xtables.read.bind(harness.xtables);
  harness.xtables.read = (family, tables) => (readings++, read(family, tables));
  await harness.full(snapshotOf("IPv4", [web]));
  await harness.some(snapshot, api);
  await harness.some(snapshotOf("IPv4", [web]), api);
  assert.equal(await harness.drifted(), false);
  assert.equal(readings, 1);
  harness.xtables.edit("IPv4", [{ kind: "add-chain", table: "nat", chain: "CNI-1" }]);
  assert.equal(await harness.drifted(), false);
  assert.equal(await harness.drifted(), false);
  assert.equal(readings, 2);
});

Deno.test("drifted() reads only the chains that others touched", async () => {
  const harness = new Harness();
  await harness.full(snapshot);
  const { asked } = askedOf(harness);
  harness.xtables.edit("IPv4", [{ kind: "add-table", table: "raw" }]);
  harness.xtables.edit("IPv6", [{ kind: "add-table", table: "nat" }]);
  harness.xtables.edit("IPv4", [{ kind: "add-chain", table: "mangle", chain: "CNI-1" }]);
  harness.xtables.edit("IPv4", [
    { kind: "append-rule", table: "mangle", chain: "CNI-1", rule: accept },
  ]);
  // A chain of others that came is listed once, at leisure.
  assert.equal(await harness.drifted(), false);
  asked.splice(0);
  harness.xtables.edit("IPv4", [
    { kind: "append-rule", table: "mangle", chain: "CNI-1", rule: accept },
  ]);
  assert.equal(await harness.drifted(), false);
  assert.deepEqual(asked, []);
  harness.xtables.edit("IPv4", [
    { kind: "insert-rule", table: "filter", chain: "FORWARD", rule: accept },
  ]);
  assert.equal(await harness.drifted(), false);
  assert.deepEqual(asked, ["FORWARD"]);
  assert.equal(await harness.drifted(), false);
  assert.deepEqual(asked, ["FORWARD"], "once");
});

Deno.test("a repair reads the own chains that others touched, and those that are wanted otherwise", async () => {
  for (const isLost of [false, true]) {
    const harness = new Harness();
    await harness.full(snapshot);
    const own = chainsOf(api).cluster;
    const edit = () => harness.xtables.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain }]);
    edit();
    if (isLost) harness.xtables.loseNotices();
    assert.equal(await harness.drifted(), true);
    const { asked } = askedOf(harness);
    await harness.full(snapshot);
    assert.ok(asked.includes(chain));
    assert.equal(asked.includes(own), isLost);
    // What a sync that did not come to its end left is read by the next one.
    edit();
    assert.equal(await harness.drifted(), true);
    harness.xtables.failNextCommit({ refusal: "not-permitted", message: "no" });
    await assert.rejects(harness.full(snapshot));
    asked.splice(0);
    await harness.full(snapshot);
    assert.ok(asked.includes(own) && asked.includes(chain));
    assert.equal(await harness.drifted(), false);
  }
});

Deno.test("drifted() waits for what is told late, once", async () => {
  const harness = new Harness();
  await harness.full(snapshot);
  harness.xtables.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain: "KUBE-SERVICES" }]);
  harness.xtables.withholdNotice();
  assert.equal(await harness.drifted(), false);
  assert.equal(await harness.drifted(), true);
});

Deno.test("after a round over all rules it is known again which chains are right", async () => {
  for (const seconds of [4, 120]) {
    const harness = new Harness();
    await harness.full(snapshot);
    harness.xtables.edit("IPv4", [{ kind: "add-table", table: "raw" }]);
    harness.xtables.loseNotices();
    for (let second = 0; second < seconds; second += 2) {
      assert.equal(await harness.drifted(), false);
      harness.clock.pass(2_000);
    }
    harness.xtables.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain }]);
    const { asked } = askedOf(harness);
    await harness.full(snapshot);
    assert.ok(asked.includes(chain));
    assert.equal(asked.includes(chainsOf(api).cluster), seconds === 4, `${seconds} s`);
  }
});

/** Names of chains whose rules are asked for from now on. */
function askedOf({ xtables }: Harness): { readonly asked: string[] } {
  const asked: string[] = [];
  const { live } = xtables;
  const read = xtables.read.bind(xtables);
  assert.ok(live);
  const noting = (rules: XtRules): XtRules => ({
    rules: (table, names) => (asked.push(...names), rules.rules(table, names)),
    differing: (table, wanted) => (asked.push(...wanted.keys()), rules.differing(table, wanted)),
  });
  Object.defineProperty(xtables, "live", { value: (family: "IPv4") => noting(live(family)) });
  xtables.read = async (family, tables) => {
    const reading = await read(family, tables);
    return { chains: reading.chains, ...noting(reading) };
  };
  return { asked };
}

Deno.test("drifted() sees a replaced rule at once where it was told of it, else in a minute", async () => {
  for (const [isLost, looksBefore] of [[false, 0], [false, 20], [true, 0], [true, 20]] as const) {
    const harness = new Harness();
    await harness.full(snapshot);
    for (let i = 0; i < looksBefore; i++) {
      assert.equal(await harness.drifted(), false);
      harness.clock.pass(2_000);
    }
    if (isLost) {
      // So that all counts are known.
      harness.xtables.edit("IPv4", [{ kind: "add-table", table: "raw" }]);
      harness.xtables.loseNotices();
      for (let i = 0; i < 60; i++) {
        assert.equal(await harness.drifted(), false);
        harness.clock.pass(2_000);
      }
    }
    // As many rules as before, and as many jumps.
    const reading = await harness.xtables.read("IPv4", ["nat"]);
    const [first] = (await reading.rules("nat", [chain])).get(chain) ?? [];
    assert.ok(first.rule);
    const changed = { ...first.rule, matches: [] };
    harness.xtables.edit("IPv4", [
      { kind: "delete-rule", table: "nat", chain, rule: first.rule },
      { kind: "insert-rule", table: "nat", chain, rule: changed },
    ]);
    if (isLost) harness.xtables.loseNotices();
    let isFound = false;
    // What was not told is found in a round of a minute.
    for (let i = 0; i < (isLost ? 30 : 1) && !isFound; i++) {
      isFound = await harness.drifted();
      harness.clock.pass(2_000);
    }
    assert.equal(isFound, true, `${looksBefore} looks before, ${isLost ? "lost" : "told"}`);
    await harness.full(snapshot);
    assert.equal(await harness.drifted(), false);
  }
});

Deno.test("drifted() lists chains again only when one of them moved", async () => {
  const harness = new Harness();
  await harness.full(snapshot);
  // What commits touched is not told: then chains are listed.
  harness.xtables.edit("IPv4", [{ kind: "add-table", table: "raw" }]);
  harness.xtables.loseNotices();
  const slow = slowReadings(harness, 10_000);
  const elsewhere = async () => {
    harness.xtables.edit("IPv4", [{ kind: "add-table", table: "raw" }]);
    harness.xtables.loseNotices();
    harness.clock.pass(3_000);
    return await harness.drifted();
  };
  assert.equal(await elsewhere(), false, "lists them once");
  slow.ms = 0;
  for (let i = 0; i < 5; i++) assert.equal(await elsewhere(), false);
  assert.equal(slow.readings, 1, "a digest told");
  harness.xtables.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain }]);
  harness.clock.pass(3_000);
  assert.equal(await harness.drifted(), true);
  await harness.full(snapshot);
  // What is ours moves the digest as well.
  await harness.some(snapshotOf("IPv4", [web]), api);
  assert.equal(await elsewhere(), false);
  harness.xtables.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain }]);
  harness.clock.pass(3_000);
  assert.equal(await harness.drifted(), true);
});

Deno.test("drifted() takes a fiftieth of the time where only chains of others come and go", async () => {
  const harness = new Harness();
  await harness.full(snapshot);
  const slow = slowReadings(harness, 100);
  const afterOneMore = async (name: string, waitMs: number) => {
    harness.xtables.edit("IPv4", [{ kind: "add-chain", table: "nat", chain: name }]);
    harness.clock.pass(waitMs);
    assert.equal(await harness.drifted(), false);
    return slow.readings;
  };
  assert.equal(await afterOneMore("CNI-1", 0), 1);
  assert.equal(await afterOneMore("CNI-2", 49 * 100 - 1), 1);
  assert.equal(await afterOneMore("CNI-3", 1), 2);
});

for (const backend of ["nft", "legacy"] as const) {
  Deno.test(`drifted() does not wait for its turn after it found something, ${backend}`, async () => {
    const harness = new Harness({ backend });
    await harness.full(snapshot);
    slowReadings(harness, 1_000);
    for (const [name, changes] of edits.slice(0, 3)) {
      harness.xtables.edit("IPv4", changes);
      assert.equal(await harness.drifted(), true, name);
      await harness.full(snapshot);
      // What was just put right takes nobody's turn.
      assert.equal(await harness.drifted(), false, name);
    }
  });
}

/** Each reading takes so long. */
function slowReadings(harness: Harness, ms: number): { readings: number; ms: number } {
  const counted = { readings: 0, ms };
  const read = harness.xtables.read.bind(harness.xtables);
  harness.xtables.read = async (family, tables) => {
    counted.readings++;
    harness.clock.pass(counted.ms);
    return await read(family, tables);
  };
  return counted;
}
