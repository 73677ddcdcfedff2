/** What is taken for the very rule without being read: nothing may be that says something else. */
import assert from "node:assert/strict";
import { deepEqual } from "../../../../lib/base/deep_equal.ts";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { LegacyComparison } from "../../../../lib/kernel/xtables/legacy_comparison.ts";
import { LegacyRules } from "../../../../lib/kernel/xtables/legacy_rule.ts";
import type { XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { entryOffsets, tableBytes } from "./legacy_table_bytes.ts";
import { sampleRules, sampleSets, sampleTarget } from "./sample_rules.ts";

const other = "KUBE-OTHER";

/** The entry of a rule, in front of two chains to which it may lead, with both ways to look at it. */
function entryOf(rule: XtRule, family: IpFamily) {
  const { entries } = tableBytes([
    { name: "PREROUTING", hook: 0, rules: [rule] },
    { name: sampleTarget, rules: [{ matches: [] }] },
    { name: other, rules: [] },
  ], family);
  const { sizes } = entryOffsets[family];
  const view = new DataView(entries.buffer);
  const lengthAt = (at: number) => view.getUint16(at + sizes + 2, true);
  const next = lengthAt(0);
  // A policy, and the name of the chain.
  const first = next + lengthAt(next) + lengthAt(next + lengthAt(next));
  const second = first + lengthAt(first) + lengthAt(first + lengthAt(first)) +
    lengthAt(first + lengthAt(first) + lengthAt(first + lengthAt(first)));
  const places = new Map([[sampleTarget, first], [other, second]]);
  const nameAt = (place: number) => [...places].find(([, each]) => each === place)?.[0];
  const shared = { entries, family, sets: sampleSets };
  return {
    entries,
    next,
    comparison: new LegacyComparison({ ...shared, placeOf: (chain) => places.get(chain) }),
    rules: new LegacyRules({ ...shared, chainAt: nameAt }),
  };
}

for (const family of ipFamilies) {
  const samples: readonly { readonly name: string; readonly rule: XtRule }[] = [
    ...sampleRules(family),
    {
      name: "a service's endpoint",
      rule: {
        source: { cidr: family === "IPv4" ? "10.130.255.9/32" : "fd00::a:9/128" },
        matches: [],
        target: { kind: "jump", chain: other },
      },
    },
  ];
  const compared = samples.filter(({ rule }) => !rule.inInterface && !rule.outInterface);

  Deno.test(`every kind of rule is known as itself, and as no other, ${family}`, () => {
    assert.ok(compared.length > 20);
    for (const { name, rule } of compared) {
      const { comparison, next } = entryOf(rule, family);
      assert.equal(comparison.behindSame(0, rule), next, name);
      for (const { name: another, rule: others } of samples) {
        if (deepEqual(others, rule)) continue;
        assert.equal(comparison.behindSame(0, others), undefined, `${name} is not ${another}`);
      }
    }
  });

  Deno.test(`whatever byte of a rule is another one, it is itself only where it says the same, ${family}`, () => {
    let seen = 0;
    for (const { name, rule } of compared) {
      const { comparison, entries, next, rules } = entryOf(rule, family);
      for (let at = 0; at < next; at++) {
        for (const change of [0x01, 0x80, 0xff]) {
          const was = entries[at];
          entries[at] ^= change;
          if (isSame(() => comparison.behindSame(0, rule) !== undefined)) {
            assert.ok(deepEqual(rules.at(0).rule, rule), `${name}, byte ${at}`);
          } else seen++;
          entries[at] = was;
        }
      }
    }
    assert.ok(seen > 1_000);
  });
}

Deno.test("an address of which another begins is not that one", () => {
  const to = (address: string): XtRule => ({
    destination: { cidr: `${address}/32` },
    matches: [],
    target: { kind: "dnat", address, port: 80 },
  });
  const { comparison } = entryOf(to("10.0.0.12"), "IPv4");
  assert.notEqual(comparison.behindSame(0, to("10.0.0.12")), undefined);
  for (const address of ["10.0.0.1", "10.0.0.123", "10.0.0", "10.0.0.12.0", "10.0.12"]) {
    assert.equal(comparison.behindSame(0, to(address)), undefined, address);
  }
});

Deno.test("a text beyond ASCII is never taken for bytes that are none", () => {
  const about = (text: string): XtRule => ({ matches: [{ kind: "comment", text }] });
  const { comparison, entries } = entryOf(about("caf?"), "IPv4");
  entries[entryOffsets.IPv4.matches + 32 + 3] = 0xe9;
  assert.equal(comparison.behindSame(0, about("caf\u00e9")), undefined);
});

/** False also where the bytes are garbage. */
function isSame(look: () => boolean): boolean {
  try {
    return look();
  } catch (error) {
    assert.ok(error instanceof RangeError);
    return false;
  }
}
