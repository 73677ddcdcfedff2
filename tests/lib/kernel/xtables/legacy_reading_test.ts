/** What tables of the older engine say, of their bytes alone. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { LegacyReading } from "../../../../lib/kernel/xtables/legacy_reading.ts";
import type { XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { ruleText } from "../../../../lib/kernel/xtables/text.ts";
import { ToolWords } from "../../../../lib/kernel/xtables/tool_words.ts";
import { entryOffsets, tableBytes, type TableChain } from "./legacy_table_bytes.ts";
import { sampleRules, sampleSets, sampleTarget } from "./sample_rules.ts";

/** A tool that prints what the test says, and how often it was asked. */
function toolOf(save: () => string) {
  const asked = { times: 0 };
  const words = new ToolWords((_, table) => {
    asked.times++;
    return Promise.resolve(`*${table}\n${save()}COMMIT\n`);
  });
  return { asked, words };
}

const silent = toolOf(() => "");

function read(chains: readonly TableChain[], family: IpFamily, words = silent.words) {
  const blobs = new Map([["nat" as const, tableBytes(chains, family)]]);
  return LegacyReading.of(blobs, { family, sets: sampleSets, words });
}

const accept = { matches: [], target: { kind: "accept" } } as const;
const jumpTo = (chain: string): XtRule => ({ matches: [], target: { kind: "jump", chain } });
const prerouting = { name: "PREROUTING", hook: 0 };

for (const family of ipFamilies) {
  const samples = sampleRules(family);

  Deno.test(`every kind of rule is read as what it says, ${family}`, async () => {
    for (const { name, rule, text } of samples) {
      const reading = await read([
        { ...prerouting, rules: [rule] },
        { name: sampleTarget, rules: [] },
      ], family);
      const rules = (await reading.rules("nat", ["PREROUTING"])).get("PREROUTING");
      assert.deepEqual(rules?.map((each) => [each.key, each.rule]), [[text, rule]], name);
      const wanted = (...rules: readonly XtRule[]) => new Map([["PREROUTING", rules]]);
      assert.deepEqual(await reading.differing("nat", wanted(rule)), [], name);
      assert.deepEqual(await reading.differing("nat", wanted(rule, rule)), ["PREROUTING"], name);
    }
    assert.equal(silent.asked.times, 0);
  });

  Deno.test(`chains are read with their rules, and which the kernel calls itself, ${family}`, async () => {
    const reading = await read([
      { ...prerouting, rules: [jumpTo("B"), accept] },
      { name: "OUTPUT", hook: 3, rules: [] },
      { name: "A", rules: [] },
      { name: "B", rules: [accept, { matches: [] }, jumpTo("A")] },
    ], family);
    assert.deepEqual(
      reading.chains.map(({ isBuiltIn, name, table }) => [table, name, isBuiltIn]),
      [
        ["nat", "PREROUTING", true],
        ["nat", "OUTPUT", true],
        ["nat", "A", false],
        ["nat", "B", false],
      ],
    );
    const names = ["B", "PREROUTING", "A", "OUTPUT", "GONE"];
    const keys = [...await reading.rules("nat", names)].map(([name, rules]) => [
      name,
      rules.map(({ jump, key }) => jump === undefined ? key : `${key} (${jump})`),
    ]);
    assert.deepEqual(keys, [
      ["B", ["-j ACCEPT", "", "-j A (A)"]],
      ["PREROUTING", ["-j B (B)", "-j ACCEPT"]],
      ["A", []],
      ["OUTPUT", []],
    ]);
    const wanted = new Map([["A", []], ["GONE", []], ["B", [accept]], ["PREROUTING", [
      jumpTo("A"),
      accept,
    ]]]);
    assert.deepEqual(await reading.differing("nat", wanted), ["GONE", "B", "PREROUTING"]);
    assert.deepEqual(await reading.differing("filter", new Map([["A", []]])), ["A"]);
    assert.equal((await reading.rules("filter", ["A"])).size, 0);
  });

  const { addressBytes, flags, interfaces, matches, protocol } = entryOffsets[family];
  /** Bytes that say more than our language can. */
  const unsaid: readonly (readonly [name: string, edit: (entry: Uint8Array) => void])[] = [
    ["a mask with a hole", (entry) => entry[2 * addressBytes + 1] = 0x7f],
    ["an address beside its mask", (entry) => entry[addressBytes - 1] = 1],
    ["an address without a mask", (entry) => entry[addressBytes] = 1],
    ["all addresses but all", (entry) => {
      entry.fill(0, 0, 4 * addressBytes);
      entry[flags + 1] = 8;
    }],
    ["a part of an interface's name", (entry) => entry[interfaces + 2 * 16 + 4] = 0],
    ["all interfaces but all", (entry) => {
      entry.fill(0, interfaces, interfaces + 64);
      entry[flags + 1] = 2;
    }],
    ["no interface at all", (entry) => {
      entry.fill(0, interfaces, interfaces + 64);
      entry[interfaces] = 0x2b;
      entry[flags + 1] = 1;
    }],
    ["another protocol", (entry) => entry[protocol] = 47],
    ["all protocols but one", (entry) => entry[flags + 1] |= 0x40],
    ["a flag", (entry) => entry[flags] |= family === "IPv4" ? 1 : 2],
    ["a goto that goes nowhere", (entry) => entry[flags] |= family === "IPv4" ? 2 : 4],
    ["another match", (entry) => entry[matches + 2]++],
    ["another revision", (entry) => entry[matches + 31] = 9],
    ["another target", (entry) => entry[entry.length - 8 - 30] = 0x41],
    ["another verdict", (entry) => entry.fill(0xc0, entry.length - 8, entry.length - 7)],
    ...family === "IPv6"
      ? [["a protocol that does not count", (entry: Uint8Array) => entry[flags] = 0] as const]
      : [],
  ];
  const plain: XtRule = {
    source: { cidr: family === "IPv4" ? "10.0.0.0/16" : "fd00::/16" },
    inInterface: { name: "eth0" },
    protocol: "tcp",
    matches: [{ kind: "comment", text: "x" }],
    target: { kind: "accept" },
  };

  Deno.test(`a rule that says more than our language can is none of ours, ${family}`, async () => {
    for (const [name, edit] of [["nothing", () => undefined] as const, ...unsaid]) {
      const { words } = toolOf(() => "");
      const reading = await read([{ ...prerouting, rules: [plain], edit }], family, words);
      const [rule] = (await reading.rules("nat", ["PREROUTING"])).get("PREROUTING") ?? [];
      const isSaid = name === "nothing";
      assert.equal(rule.key, isSaid ? ruleText(plain, family) : "? rule 1", name);
      assert.equal(rule.rule !== undefined, isSaid, name);
      const wanted = new Map([["PREROUTING", [plain]]]);
      assert.deepEqual(
        await reading.differing("nat", wanted),
        isSaid ? [] : ["PREROUTING"],
        name,
      );
    }
  });
}

Deno.test("what our language cannot decode is asked of the tool once, as long as the chain says the same", async () => {
  const other = (entry: Uint8Array, index: number) => {
    if (index === 0) entry[entryOffsets.IPv4.matches + 31] = 9;
  };
  const said = { matches: [{ kind: "comment", text: "x" }], target: { kind: "drop" } } as const;
  const chain = { ...prerouting, rules: [said, accept], edit: other };
  let save = ":PREROUTING ACCEPT [0:0]\n-A PREROUTING -m comment --comment x -j DROP\n" +
    "-A PREROUTING -j ACCEPT\n";
  const { asked, words } = toolOf(() => save);
  const keysOf = async (chains: readonly TableChain[]) => {
    const reading = await read(chains, "IPv4", words);
    const rules = (await reading.rules("nat", ["PREROUTING"])).get("PREROUTING");
    return rules?.map(({ key }) => key);
  };
  const keys = ["-m comment --comment x -j DROP", "-j ACCEPT"];
  assert.deepEqual(await keysOf([chain]), keys);
  assert.deepEqual(await keysOf([{ name: "A", rules: [accept] }, chain]), keys);
  assert.equal(asked.times, 1);
  // Another content, of which the tool is asked too late.
  const turned = { ...chain, rules: [said, accept, accept] };
  assert.deepEqual(await keysOf([turned]), ["? rule 1", "-j ACCEPT", "-j ACCEPT"]);
  save = save.replace("-j ACCEPT\n", "-j DROP\n");
  const swapped = { ...chain, rules: [{ ...said, target: { kind: "return" } } as const, accept] };
  assert.deepEqual(await keysOf([swapped]), ["? rule 1", "-j ACCEPT"]);
  assert.equal(asked.times, 3);
});

Deno.test("a chain surely holds the rules that it has, in their order and no others", async () => {
  const rules = [accept, jumpTo("A"), { matches: [] }];
  const reading = await read([{ ...prerouting, rules }, { name: "A", rules: [] }], "IPv4");
  const holds = (...wanted: readonly XtRule[]) => reading.holds("nat", "PREROUTING", wanted);
  assert.equal(holds(...rules), true);
  assert.deepEqual(
    [holds(), holds(...rules.toReversed()), holds(...rules, accept), holds(accept, jumpTo("A"))],
    [false, false, false, false],
  );
  assert.deepEqual([reading.holds("nat", "A", []), reading.holds("nat", "GONE", [])], [
    true,
    false,
  ]);
  assert.equal(reading.holds("filter", "PREROUTING", rules), false);
});

Deno.test("what leads to a chain is known also where the rest is not", async () => {
  const edit = (entry: Uint8Array) => entry[entryOffsets.IPv4.matches + 31] = 9;
  const rule = { ...jumpTo("A"), matches: [{ kind: "comment", text: "x" }] } as const;
  const chains = [{ ...prerouting, rules: [rule], edit }, { name: "A", rules: [] }];
  const reading = await read(chains, "IPv4");
  const rules = (await reading.rules("nat", ["PREROUTING"])).get("PREROUTING");
  assert.deepEqual(rules, [{ key: "? rule 1", jump: "A" }]);
});

Deno.test("a place behind what looks like a chain's name is no chain", async () => {
  const dnat = { kind: "dnat", address: "10.0.0.1", port: 80 } as const;
  const rule: XtRule = { matches: [], target: dnat };
  const looksLikeHead = (entry: Uint8Array) => {
    entry.fill(0, entry.length - 32);
    entry[entry.length - 32] = 0x41;
  };
  const blob = tableBytes([
    {
      ...prerouting,
      rules: [rule, jumpTo("A")],
      edit: (entry, i) => i === 0 && looksLikeHead(entry),
    },
    { name: "A", rules: [] },
  ], "IPv4");
  const read = async () => {
    const blobs = new Map([["nat" as const, blob]]);
    const options = { family: "IPv4", sets: sampleSets, words: silent.words } as const;
    const reading = await LegacyReading.of(blobs, options);
    return (await reading.rules("nat", ["PREROUTING"])).get("PREROUTING")?.[1].jump;
  };
  assert.equal(await read(), "A");
  const view = new DataView(blob.entries.buffer);
  const first = view.getUint16(entryOffsets.IPv4.sizes + 2, true);
  const second = first + view.getUint16(first + entryOffsets.IPv4.sizes + 2, true);
  view.setInt32(second - 8, first, true);
  assert.equal(await read(), undefined);
});
