/** The legacy backend on real tables, with the machine's tools. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { FakeCommands } from "../../../lib/kernel/fake_commands.ts";
import { legacyChains } from "../../../lib/kernel/xtables/legacy_chains.ts";
import { LegacyComparison } from "../../../lib/kernel/xtables/legacy_comparison.ts";
import { LegacyXtables } from "../../../lib/kernel/xtables/legacy_xtables.ts";
import type { XtChange } from "../../../lib/kernel/xtables/rules.ts";
import { checkBehaviour, checkCompositions } from "../../lib/kernel/xtables/behaviour.ts";
import { XtNamespace } from "./namespace.ts";
import { sampleChains, sampleChanges, sampleText } from "../../lib/kernel/xtables/sample_chains.ts";

Deno.test("the legacy backend behaves as the fake", async (t) => {
  await checkBehaviour(t, openLegacy);
});

Deno.test("the legacy backend takes changes one by one, and all of them together", async (t) => {
  await checkCompositions(t, openLegacy);
});

Deno.test("what is put together and given up changes nothing, and lets the next one go", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.legacy();
  const place = { table: "nat", chain: "A" } as const;
  await xtables.commit("IPv4", [{ kind: "add-chain", ...place }]);
  const before = await xtables.stamp("IPv4");
  const composition = xtables.compose("IPv4");
  composition.add([{ kind: "append-rule", ...place, rule: { matches: [] } }]);
  await composition.abandon();
  assert.equal(await xtables.stamp("IPv4"), before);
  await xtables.commit("IPv4", [{ kind: "delete-chain", ...place }]);
  assert.notEqual(await xtables.stamp("IPv4"), before);
});

async function openLegacy() {
  const namespace = await XtNamespace.create();
  return Object.assign(namespace.legacy(), {
    [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose](),
  });
}

for (const family of ipFamilies) {
  Deno.test(`our changes are what the tool makes of the same text, ${family}`, async () => {
    await using ours = await XtNamespace.create();
    await using theirs = await XtNamespace.create();
    for (const namespace of [theirs, ours]) await namespace.addSampleObjects();
    await theirs.restore(sampleText(family), { family, backend: "legacy" });
    await ours.legacy().commit(family, sampleChanges(family));
    for (const table of ["nat", "filter"]) {
      const saved = await ours.save({ family, table, backend: "legacy" });
      assert.equal(saved, await theirs.save({ family, table, backend: "legacy" }));
      await ours.restore(saved, { family, backend: "legacy", test: true });
    }
  });

  Deno.test(`rules are read as what they say, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    await namespace.addSampleObjects();
    await namespace.restore(sampleText(family), { family, backend: "legacy" });
    const commands = new FakeCommands({});
    const tables = namespace.legacyTables();
    const xtables = new LegacyXtables({ commands, tables, sets: namespace.sets() });
    const reading = await xtables.read(family, ["nat", "filter"]);
    for (const { chain, name, rule, table, text } of sampleChains(family)) {
      const found = (await reading.rules(table, [chain])).get(chain);
      assert.deepEqual(found?.map((each) => [each.key, each.rule]), [[text, rule]], name);
      assert.deepEqual(await reading.differing(table, new Map([[chain, [rule]]])), [], name);
      assert.deepEqual(await reading.differing(table, new Map([[chain, []]])), [chain], name);
    }
    const chains = reading.chains.filter(({ table }) => table === "filter");
    assert.deepEqual(
      chains.filter(({ isBuiltIn }) => isBuiltIn).map(({ name }) => name),
      ["INPUT", "FORWARD", "OUTPUT"],
    );
    assert.deepEqual(commands.ran, [], "no tool is needed");
  });

  Deno.test(`what the tool wrote is known as it is, without being read, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    await namespace.addSampleObjects();
    await namespace.restore(sampleText(family), { family, backend: "legacy" });
    const sets = namespace.sets();
    let known = 0;
    for (const table of ["nat", "filter"] as const) {
      const blob = await namespace.legacyTables().blob(family, table);
      const chains = await legacyChains(blob, family);
      const placeOf = (chain: string) => chains.get(chain)?.rules.from;
      const comparison = new LegacyComparison({ entries: blob.entries, family, sets, placeOf });
      for (const { chain, name, rule, ...sample } of sampleChains(family)) {
        if (sample.table !== table || rule.inInterface || rule.outInterface) continue;
        const { from, to } = chains.get(chain)?.rules ?? { from: 0, to: 0 };
        assert.equal(comparison.behindSame(from, rule), to, name);
        known++;
      }
    }
    assert.ok(known > 20);
  });

  Deno.test(`fingerprints move with the rules of their chains alone, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    await namespace.addSampleObjects();
    await namespace.restore(sampleText(family), { family, backend: "legacy" });
    const xtables = namespace.legacy();
    const prints = async () => {
      const { chains } = await xtables.read(family, ["nat", "filter"]);
      return new Map(chains.map((each) => [`${each.table} ${each.name}`, each.fingerprint]));
    };
    /** Chains that have another fingerprint after somebody gave the tool these lines. */
    const moved = async (...lines: readonly string[]) => {
      const before = await prints();
      await namespace.restore([...lines, "COMMIT", ""].join("\n"), { family, backend: "legacy" });
      const after = await prints();
      const names = new Set([...before.keys(), ...after.keys()]);
      return [...names].filter((name) => before.get(name) !== after.get(name));
    };
    assert.deepEqual(await moved("*nat"), []);
    assert.deepEqual(await moved("*nat", "-I OUTPUT -p gre -j ACCEPT"), ["nat OUTPUT"]);
    assert.deepEqual(await moved("*nat", ":AAA - [0:0]", "-A AAA -j RETURN"), ["nat AAA"]);
    assert.deepEqual(await moved("*nat", "-R AAA 1 -j ACCEPT"), ["nat AAA"]);
    assert.deepEqual(await moved("*filter", ":FORWARD DROP [0:0]"), ["filter FORWARD"]);
    // What leads to a chain, and how often it was met, is no part of what it says.
    assert.deepEqual(await moved("*nat", "-A OUTPUT -j AAA"), ["nat OUTPUT"]);
    await namespace.run(["ip", "link", "set", "lo", "up"]);
    const before = await prints();
    const address = family === "IPv4" ? "127.0.0.1" : "::1";
    await namespace.run(["bash", "-c", `echo x > /dev/udp/${address}/9`]);
    assert.deepEqual(await prints(), before);
  });

  Deno.test(`a rule that only the tool has words for is read in its words, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    const texts = ["-p tcp -m tcp --dport 1:2 -j ACCEPT", "-j ACCEPT", "-m limit --limit 1/sec"];
    const rules = texts.map((text) => `-A OUTPUT ${text}\n`).join("");
    await namespace.restore(`*filter\n${rules}COMMIT\n`, { family, backend: "legacy" });
    const reading = await namespace.legacy().read(family, ["filter"]);
    const found = (await reading.rules("filter", ["OUTPUT"])).get("OUTPUT");
    assert.deepEqual(found?.map(({ key }) => key), [`? ${texts[0]}`, texts[1], `? ${texts[2]}`]);
  });
}

Deno.test("looking at tables that are not there does not make them", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.legacy();
  assert.equal(await xtables.stamp("IPv4"), "");
  assert.deepEqual((await xtables.read("IPv4", ["nat", "filter"])).chains, []);
  assert.deepEqual(namespace.legacyTables().loaded("IPv4"), []);
});

Deno.test("a stamp moves with what is in any table of the family, and with nothing else", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.legacy();
  const receipt = await xtables.commit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", table: "nat", chain: "A" },
  ]);
  const stamp = await xtables.stamp("IPv4");
  assert.deepEqual(receipt, { before: "", after: stamp, isOwn: true });
  assert.match(stamp, /^nat \d+\/\d+$/);
  await namespace.run(["ip6tables-legacy", "-N", "B"]);
  await namespace.run(["iptables-nft", "-t", "nat", "-N", "B"]);
  assert.equal(await xtables.stamp("IPv4"), stamp);
  await namespace.run(["iptables-legacy", "-t", "nat", "-A", "A", "-j", "ACCEPT"]);
  assert.notEqual(await xtables.stamp("IPv4"), stamp);
});

Deno.test("tables are written one after the other: those before a refused one stay written", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.legacy();
  const changes: readonly XtChange[] = [
    { kind: "add-chain", table: "filter", chain: "A" },
    { kind: "add-chain", table: "nat", chain: "A" },
    {
      kind: "append-rule",
      table: "nat",
      chain: "A",
      rule: { matches: [], target: { kind: "reject" } },
    },
  ];
  await assert.rejects(xtables.commit("IPv4", changes), {
    name: "XtablesError",
    message: "Cannot change rules of iptables: line 7 failed",
  });
  const { chains } = await xtables.read("IPv4", ["filter", "nat"]);
  assert.deepEqual(
    chains.filter(({ name }) => name === "A").map(({ table }) => table),
    ["filter"],
  );
});

for (const family of ipFamilies) {
  Deno.test(`chains are seen without a tool, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    await namespace.addSampleObjects();
    await namespace.restore(sampleText(family), { family, backend: "legacy" });
    const { chains } = await namespace.legacy().read(family, ["nat"]);
    const own = chains.filter(({ isBuiltIn }) => !isBuiltIn).map(({ name }) => name);
    assert.deepEqual(namespace.legacyTables().chains(family, "nat").toSorted(), own.toSorted());
    assert.ok(own.length > 20);
  });
}

for (const family of ipFamilies) {
  Deno.test(`chains of a large table are found without holding anybody up, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    const names = Array.from({ length: 20_000 }, (_, index) => `KUBE-SVC-${index}`);
    const rules = names.map((name) => `-A ${name} -p tcp -j RETURN\n`).join("");
    const chains = names.map((name) => `:${name} - [0:0]\n`).join("");
    await namespace.restore(`*nat\n${chains}${rules}COMMIT\n`, { family, backend: "legacy" });
    const tables = namespace.legacyTables();
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const wanted = ["KUBE-SVC-19999", "KUBE-SVC-20000", "ERROR", "KUBE-SVC-0"];
    const found = await tables.among(family, "nat", wanted);
    clearInterval(timer);
    assert.deepEqual(found, ["KUBE-SVC-0", "KUBE-SVC-19999"]);
    assert.ok(turns >= 2, `${turns} turns`);
    assert.deepEqual(await tables.among(family, "nat", names.slice(0, 2)), names.slice(0, 2));
  });
}
