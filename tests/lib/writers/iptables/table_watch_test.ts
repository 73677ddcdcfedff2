/** Edits of others where only whole tables can be read. */
import assert from "node:assert/strict";
import type { XtChange, XtTable } from "../../../../lib/kernel/xtables/rules.ts";
import { chainsOf } from "../../../../lib/writers/iptables/names.ts";
import { Harness } from "./harness.ts";
import { endpoints, servicePort, snapshotOf } from "./samples.ts";

const web = servicePort({
  name: "web",
  clusterIP: "172.30.0.10",
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
const apiChain = chainsOf(api).cluster;
const flush: XtChange = { kind: "flush-chain", table: "nat", chain };

/** A writer whose readings take so long, with the tables that each read, and the chains that were compared. */
async function watched(readingMs = 0) {
  const harness = new Harness({ backend: "legacy" });
  await harness.full(snapshot);
  for (const table of ["nat", "mangle"] as const) {
    harness.xtables.edit("IPv4", [{ kind: "add-table", table }]);
  }
  // So that what was written is known to be right.
  harness.restart();
  await harness.full(snapshot);
  const readings: string[] = [];
  const compared: string[] = [];
  const read = harness.xtables.read.bind(harness.xtables);
  harness.xtables.read = async (family, tables: readonly XtTable[]) => {
    readings.push(tables.join(" "));
    harness.clock.pass(readingMs);
    const reading = await read(family, tables);
    return {
      chains: reading.chains,
      rules: (table, names) => (compared.push(...names), reading.rules(table, names)),
      differing: (table, wanted) => (
        compared.push(...wanted.keys()), reading.differing(table, wanted)
      ),
    };
  };
  const edit = (...changes: readonly XtChange[]) => harness.xtables.edit("IPv4", changes);
  /** Looks again after so long, and gives what was read and compared. */
  const look = async (afterMs: number, isDifferent = false) => {
    harness.clock.pass(afterMs);
    assert.equal(await harness.drifted(), isDifferent);
    return { readings: readings.splice(0), compared: compared.splice(0) };
  };
  return { harness, edit, look, compared, readings };
}

/** As many rules as before in the chain. */
async function replaceRule(harness: Harness, chain: string): Promise<void> {
  const reading = await harness.xtables.read("IPv4", ["nat"]);
  const [first] = (await reading.rules("nat", [chain])).get(chain) ?? [];
  assert.ok(first.rule);
  harness.xtables.edit("IPv4", [
    { kind: "delete-rule", table: "nat", chain, rule: first.rule },
    { kind: "insert-rule", table: "nat", chain, rule: { ...first.rule, matches: [] } },
  ]);
}

Deno.test("only tables whose size moved are read, and of them only chains that changed are compared", async () => {
  const { edit, look } = await watched();
  assert.deepEqual(await look(2_000), { readings: [], compared: [] });
  edit({ kind: "append-rule", table: "mangle", chain: "OUTPUT", rule: accept });
  assert.deepEqual(await look(2_000), { readings: ["mangle"], compared: [] });
  edit({ kind: "append-rule", table: "nat", chain: "OUTPUT", rule: accept });
  assert.deepEqual(await look(2_000), { readings: ["nat"], compared: ["OUTPUT"] });
  edit({ kind: "add-table", table: "raw" });
  assert.deepEqual(await look(2_000), { readings: [], compared: [] });
  edit(
    { kind: "add-chain", table: "filter", chain: "CNI-1" },
    { kind: "add-chain", table: "mangle", chain: "CNI-1" },
  );
  assert.deepEqual((await look(2_000)).readings, ["filter mangle"]);
  assert.deepEqual(await look(2_000), { readings: [], compared: [] });
});

Deno.test("looking takes a thirtieth of the time however busy others are", async () => {
  const { edit, look } = await watched(300);
  const timesIn = async (seconds: number, name: string) => {
    let times = 0;
    for (let second = 0; second < seconds; second += 2) {
      edit({ kind: "add-chain", table: "nat", chain: `CNI-${name}-${second}` });
      const { readings } = await look(2_000);
      times += readings.filter((tables) => tables === "nat").length;
    }
    return times;
  };
  // What was saved up is spent without waiting.
  assert.equal(await timesIn(10, "first"), 5);
  const later = await timesIn(60, "later");
  assert.ok(later >= 5 && later <= 7, String(later));
});

Deno.test("a flush beside a neighbour's first edit is found at the next look", async () => {
  const { edit, look } = await watched(300);
  edit({ kind: "append-rule", table: "nat", chain: "OUTPUT", rule: accept });
  assert.deepEqual((await look(2_000)).readings, ["nat"]);
  edit(flush);
  assert.deepEqual((await look(2_000, true)).readings, ["nat"]);
});

Deno.test("a neighbour's rule that comes and goes costs looks at leisure, and puts no flush off", async () => {
  const { edit, look } = await watched(300);
  const rule = { table: "nat", chain: "OUTPUT", rule: accept } as const;
  const readings: string[] = [];
  for (let second = 0; second < 120; second += 4) {
    edit({ kind: "append-rule", ...rule });
    readings.push(...(await look(2_000)).readings);
    edit({ kind: "delete-rule", ...rule });
    readings.push(...(await look(2_000)).readings);
  }
  assert.deepEqual(readings.filter((tables) => tables === "nat"), ["nat"]);
  const times = readings.length - 1;
  assert.ok(times >= 5 && times <= 7, String(times));
  edit({ kind: "append-rule", ...rule }, flush);
  assert.deepEqual((await look(2_000, true)).readings, ["nat"]);
});

Deno.test("an edit that a neighbour's rule makes up for in size is found at leisure", async () => {
  const { edit, harness, look } = await watched(300);
  const rule = { table: "nat", chain: "OUTPUT", rule: accept } as const;
  edit({ kind: "append-rule", ...rule });
  await look(2_000);
  const reading = await harness.xtables.read("IPv4", ["nat"]);
  const [ours] = (await reading.rules("nat", [chain])).get(chain) ?? [];
  assert.ok(ours.rule);
  edit({ kind: "delete-rule", table: "nat", chain, rule: ours.rule });
  await look(2_000, true);
});

Deno.test("a size that was about to be put right, and was not, is looked at when it comes back", async () => {
  const { edit, harness, look } = await watched(300);
  const reading = await harness.xtables.read("IPv4", ["nat"]);
  const ours = (await reading.rules("nat", [chain])).get(chain) ?? [];
  edit(flush);
  await look(2_000, true);
  // The first time nobody knows what was refused.
  harness.xtables.failNextCommit({ refusal: "not-permitted", message: "no" }, 2);
  await assert.rejects(harness.full(snapshot));
  for (const { rule } of ours) {
    assert.ok(rule);
    edit({ kind: "append-rule", table: "nat", chain, rule });
  }
  await harness.full(snapshot);
  await look(2_000);
  edit(flush);
  assert.deepEqual((await look(2_000, true)).readings, ["nat"]);
});

Deno.test("the size of a table that somebody changed while it was read is not known to be right", async () => {
  const { edit, harness, look } = await watched(300);
  const { read } = harness.xtables;
  harness.xtables.read = (family, tables) => {
    harness.xtables.read = read;
    // Gone before anybody saw it.
    edit({ kind: "delete-chain", table: "nat", chain: "CNI-1" });
    return read(family, tables);
  };
  const came: XtChange = { kind: "add-chain", table: "nat", chain: "CNI-1" };
  edit(came);
  assert.equal((await look(2_000)).readings[0], "nat");
  await look(2_000);
  edit(came);
  assert.equal((await look(2_000)).readings[0], "nat");
});

Deno.test("a rule in the place of another is found within three quarters of a minute", async () => {
  const { compared, edit, harness, look, readings } = await watched();
  edit({ kind: "append-rule", table: "mangle", chain: "OUTPUT", rule: accept });
  await look(1_000);
  await replaceRule(harness, chain);
  readings.splice(0);
  compared.splice(0);
  assert.deepEqual(await look(43_999), { readings: [], compared: [] });
  const found = await look(1, true);
  assert.deepEqual(found.readings, ["filter nat mangle"]);
  assert.ok(found.compared.includes(chain) && !found.compared.includes(apiChain));
  await harness.full(snapshot);
  assert.equal(await harness.drifted(), false);
});

Deno.test("what we wrote is read again once, as others may have written at the same moment", async () => {
  const { compared, harness, look } = await watched();
  await harness.some(snapshotOf("IPv4", [web]), api);
  await harness.some(snapshot, api);
  compared.splice(0);
  const found = await look(2_000);
  assert.deepEqual(found.readings, ["filter nat mangle"]);
  assert.ok(found.compared.includes(apiChain) && !found.compared.includes(chain));
  assert.deepEqual(await look(2_000), { readings: [], compared: [] });
});

Deno.test("a rule that somebody changed beside a commit of ours is found", async () => {
  const { harness, look } = await watched();
  const { commit } = harness.xtables;
  harness.xtables.commit = async (family, changes, options) => {
    const receipt = await commit.call(harness.xtables, family, changes, options);
    harness.xtables.edit(family, [flush]);
    harness.xtables.commit = commit;
    return receipt && { ...receipt, after: await harness.xtables.stamp(family) };
  };
  await harness.some(snapshotOf("IPv4", [web]), api);
  const found = await look(0, true);
  assert.ok(found.compared.includes(chain));
});

Deno.test("looking at what we wrote takes a sixtieth of the time, and makes no edit of others wait", async () => {
  const { edit, harness, look } = await watched(300);
  let times = 0;
  for (let second = 0; second < 60; second += 2) {
    await harness.some(snapshotOf("IPv4", second % 4 === 0 ? [web] : [web, api]), api);
    times += (await look(2_000)).readings.length;
  }
  assert.ok(times >= 3 && times <= 4, String(times));
  edit(flush);
  assert.deepEqual((await look(0, true)).readings, ["nat"]);
});

Deno.test("a look that made room for a change goes on where it was", async () => {
  const services = Array.from({ length: 300 }, (_, i) =>
    servicePort({
      name: `s${i}`,
      clusterIP: `172.30.1.${i % 250}`,
      clusterEndpoints: endpoints("IPv4", [1, 2 + i % 200]),
    }));
  const many = snapshotOf("IPv4", services);
  const { compared, harness, look } = await watched();
  await harness.full(many);
  compared.splice(0);
  const stop = new AbortController();
  const { read } = harness.xtables;
  harness.xtables.read = async (family, tables) => {
    const reading = await read(family, tables);
    const differing: typeof reading.differing = (table, wanted) => {
      // Somebody wants to write while own chains are compared.
      if (wanted.has(chainsOf(services[0]).cluster)) stop.abort();
      return reading.differing(table, wanted);
    };
    return { chains: reading.chains, rules: reading.rules, differing };
  };
  harness.clock.pass(2_000);
  assert.equal(await harness.writer.drifted(stop.signal), false);
  const before = compared.splice(0).filter((name) => name.startsWith("KUBE-S"));
  const { compared: after } = await look(2_000);
  const rest = after.filter((name) => name.startsWith("KUBE-S"));
  assert.ok(before.length >= 300 && rest.length >= 100, `${before.length} ${rest.length}`);
  assert.deepEqual(before.filter((name) => rest.includes(name) && /-SVC-|-SEP-/.test(name)), []);
});

Deno.test("a look that takes long puts none off for longer than three quarters of a minute", async () => {
  const { harness, look } = await watched(3_000);
  await harness.some(snapshotOf("IPv4", [web]), api);
  assert.equal((await look(0)).readings.length, 1);
  await harness.some(snapshot, api);
  assert.equal((await look(41_999)).readings.length, 0);
  assert.equal((await look(1)).readings.length, 1);
});

Deno.test("readings unasked come every three quarters of a minute, and compare nothing that did not change", async () => {
  const { look } = await watched(200);
  for (let times = 0; times < 3; times++) {
    assert.deepEqual((await look(44_700)).readings, [], String(times));
    assert.deepEqual(await look(300), { readings: ["filter nat mangle"], compared: [] });
  }
});

Deno.test("a repair compares what others touched and what is wanted otherwise, and no other own chain", async () => {
  const { compared, edit, harness, look } = await watched();
  edit(flush);
  await look(0, true);
  await harness.full(snapshot);
  assert.ok(compared.includes(chain) && !compared.includes(apiChain));
  compared.splice(0);
  // An endpoint came while somebody was at work.
  const larger = servicePort({
    name: "api",
    clusterIP: "172.30.0.11",
    clusterEndpoints: endpoints("IPv4", [1, 3], [2, 3]),
  });
  edit(flush);
  await look(0, true);
  compared.splice(0);
  await harness.full(snapshotOf("IPv4", [web, larger]));
  assert.ok(compared.includes(chain) && compared.includes(apiChain));
  assert.equal(await harness.drifted(), false);
});

Deno.test("what a sync that did not come to its end left is compared by the next one", async () => {
  const { compared, edit, harness, look } = await watched();
  edit(flush);
  await look(0, true);
  // The first time nobody knows what was refused.
  harness.xtables.failNextCommit({ refusal: "not-permitted", message: "no" }, 2);
  await assert.rejects(harness.full(snapshot));
  compared.splice(0);
  await harness.full(snapshot);
  assert.ok(compared.includes(chain) && compared.includes(apiChain));
  assert.equal(await harness.drifted(), false);
  // Nothing of a reading counts whose repair was given up.
  const stop = new AbortController();
  edit(flush);
  await look(0, true);
  const { commit } = harness.xtables;
  harness.xtables.commit = () => {
    stop.abort();
    return Promise.reject(stop.signal.reason);
  };
  await assert.rejects(harness.writer.sync(snapshot, { kind: "all" }, stop.signal));
  harness.xtables.commit = commit;
  compared.splice(0);
  await harness.full(snapshot);
  assert.ok(compared.includes(chain));
  assert.equal(await harness.drifted(), false);
});

Deno.test("what others did while rules were put right is found at the next look", async () => {
  const { edit, harness, look } = await watched(300);
  await harness.some(snapshotOf("IPv4", [web]), api);
  await harness.some(snapshot, api);
  await look(0);
  edit(flush);
  await look(0, true);
  const { commit } = harness.xtables;
  harness.xtables.commit = async (family, changes, options) => {
    const receipt = await commit.call(harness.xtables, family, changes, options);
    harness.xtables.edit(family, [flush]);
    harness.xtables.commit = commit;
    return receipt && { ...receipt, after: await harness.xtables.stamp(family) };
  };
  await harness.full(snapshot);
  await look(2_000, true);
  await harness.full(snapshot);
  assert.equal(await harness.drifted(), false);
});

Deno.test("what others did beside a commit of ours is found", async () => {
  const { harness, look } = await watched();
  const { commit } = harness.xtables;
  harness.xtables.commit = (family, changes, options) => {
    harness.xtables.edit(family, [{
      kind: "flush-chain",
      table: "filter",
      chain: "KUBE-FORWARD",
    }]);
    harness.xtables.commit = commit;
    return harness.xtables.commit(family, changes, options);
  };
  await harness.some(snapshotOf("IPv4", [web]), api);
  assert.deepEqual((await look(0, true)).readings, ["filter"]);
});

/** A program that starts again over right rules, and what it read. */
async function restarted() {
  const harness = new Harness({ backend: "legacy" });
  await harness.full(snapshot);
  harness.restart();
  let readings = 0;
  const read = harness.xtables.read.bind(harness.xtables);
  harness.xtables.read = (...asked) => (readings++, read(...asked));
  const edit = (...changes: readonly XtChange[]) => harness.xtables.edit("IPv4", changes);
  return { harness, edit, readings: () => readings };
}

Deno.test("what a start read ahead is not read again, once", async () => {
  const { harness, readings } = await restarted();
  harness.writer.readAhead();
  harness.clock.pass(4_000);
  for (const count of [1, 2]) {
    assert.equal((await harness.full(snapshot)).written, 0);
    assert.equal(readings(), count);
  }
});

Deno.test("what a start read ahead counts neither when somebody wrote since, nor when it is old", async () => {
  const edited = await restarted();
  edited.harness.writer.readAhead();
  edited.edit(flush);
  assert.ok((await edited.harness.full(snapshot)).written > 0);
  assert.equal(edited.readings(), 2);
  const old = await restarted();
  old.harness.writer.readAhead();
  await replaceRule(old.harness, chain);
  const readings = old.readings();
  old.harness.clock.pass(6_000);
  assert.ok((await old.harness.full(snapshot)).written > 0);
  assert.equal(old.readings(), readings + 1);
});

Deno.test("what could not be read ahead is read when it is needed, and says then what is wrong", async () => {
  const { harness } = await restarted();
  const { read } = harness.xtables;
  harness.xtables.read = () => Promise.reject(new Error("no right to"));
  harness.writer.readAhead();
  await assert.rejects(harness.full(snapshot), { message: "no right to" });
  harness.writer.readAhead();
  await new Promise((resolve) => setTimeout(resolve));
  harness.xtables.read = read;
  assert.equal((await harness.full(snapshot)).written, 0);
});
