/** Fingerprints of chains: equal while all that their rules say is the same. */
import assert from "node:assert/strict";
import { clearImmediate, setImmediate } from "node:timers";
import { TurnsNowAndThen } from "../../../../lib/base/event_loop.ts";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { legacyChains } from "../../../../lib/kernel/xtables/legacy_chains.ts";
import type { XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { entryOffsets, tableBytes, type TableChain } from "./legacy_table_bytes.ts";

const comment = (text: string) => ({ kind: "comment", text }) as const;
const jump = (chain: string, text = ""): XtRule => ({
  matches: [comment(text)],
  target: { kind: "jump", chain },
});
const mark = (value: number): XtRule => ({
  matches: [],
  target: { kind: "set-xmark", value, mask: 0x4000 },
});
const nothing: XtRule = { matches: [] };

async function prints(chains: readonly TableChain[], family: IpFamily) {
  const found = await legacyChains(tableBytes(chains, family), family);
  return new Map([...found].map(([name, { fingerprint }]) => [name, fingerprint]));
}

const base = { name: "OUTPUT", hook: 3, rules: [jump("A")] };
const first = { name: "A", rules: [jump("B", "one"), mark(1), nothing] };
const second = { name: "B", rules: [nothing] };

for (const family of ipFamilies) {
  /** Names of chains that have another fingerprint than in the table of all three. */
  const moved = async (...chains: readonly TableChain[]) => {
    const before = await prints([base, first, second], family);
    const after = await prints(chains, family);
    return [...after].filter(([name, print]) => before.get(name) !== print).map(([name]) => name);
  };
  const { flags, matches, protocol, sizes } = entryOffsets[family];

  Deno.test(`a fingerprint does not move with what stands elsewhere, nor with counters, ${family}`, async () => {
    assert.deepEqual(await moved(base, first, second), []);
    const other = { name: "C", rules: [mark(7), mark(8)] };
    assert.deepEqual(await moved(base, other, second, first), ["C"]);
    const busy = (entry: Uint8Array) => {
      entry.fill(7, matches - 16, matches);
      entry.fill(7, sizes - 4, sizes);
      entry.fill(7, sizes + 4, sizes + 8);
    };
    assert.deepEqual(await moved({ ...base, edit: busy }, { ...first, edit: busy }, second), []);
  });

  Deno.test(`a fingerprint moves with all that rules say, and with their order, ${family}`, async () => {
    const [one, two, three] = first.rules;
    const changed: readonly TableChain[] = [
      { ...first, rules: [jump("B", "two"), two, three] },
      { ...first, rules: [jump("A", "one"), two, three] },
      { ...first, rules: [one, mark(2), three] },
      { ...first, rules: [two, one, three] },
      { ...first, rules: [one, two] },
      { ...first, rules: [one, two, { matches: [], target: { kind: "accept" } }] },
      { ...first, rules: [one, two, { matches: [], target: { kind: "drop" } }] },
      { ...first, edit: (entry) => entry[protocol] = 6 },
      { ...first, edit: (entry) => entry[flags] ^= 1 },
      { ...first, edit: (entry) => entry[0] = 10 },
    ];
    for (const [index, chain] of changed.entries()) {
      assert.deepEqual(await moved(base, chain, second), ["A"], String(index));
    }
    assert.deepEqual(await moved({ ...base, policy: "drop" }, first, second), ["OUTPUT"]);
  });
}

Deno.test("a large table is gone through while others have their turn", async () => {
  const chains = Array.from({ length: 5_000 }, (_, i) => ({ name: `C-${i}`, rules: [nothing] }));
  let now = 0;
  const turns = new TurnsNowAndThen({ monotonic: () => now += 10 });
  let taken = 0;
  const count = () => {
    taken++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  const found = await legacyChains(tableBytes([base, ...chains], "IPv4"), "IPv4", turns);
  clearImmediate(immediate);
  assert.equal(found.size, 5_001);
  assert.deepEqual(found.get("C-4999")?.rules.count, 1);
  assert.equal(taken, 10);
});

Deno.test("bytes that are no table are refused instead of being read for ever", async () => {
  const blob = tableBytes([base], "IPv4");
  new DataView(blob.entries.buffer).setUint16(entryOffsets.IPv4.sizes + 2, 0, true);
  await assert.rejects(legacyChains(blob, "IPv4"), {
    name: "RangeError",
    message: "Cannot read the rules of iptables: an entry says 0 bytes",
  });
});
