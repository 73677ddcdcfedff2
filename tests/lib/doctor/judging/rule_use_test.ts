/** What a rule uses, step by step. */
import assert from "node:assert/strict";
import {
  allRules,
  chainsAfter,
  looksAtPorts,
  namesAddress,
  namesInterface,
  usesMarkBit,
} from "../../../../lib/doctor/judging/rule_use.ts";
import type { FirewallExpression } from "../../../../lib/kernel/firewall/firewall.ts";
import { chain, nftTable, rule, verdict } from "../cases/node_facts.ts";

const number = (value: number) => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
};
const loadMark: FirewallExpression = { kind: "meta", key: 3, into: 1 };
const setMark: FirewallExpression = { kind: "set-meta", key: 3, from: 1 };
const bits = (mask: number, xor: number, from = 1): FirewallExpression => ({
  kind: "bitwise",
  from,
  into: 1,
  mask: number(mask),
  xor: number(xor),
});
const cmp = (value: Uint8Array, from = 1): FirewallExpression => ({
  kind: "cmp",
  from,
  op: 0,
  value,
});
const immediate = (value: Uint8Array): FirewallExpression => ({
  kind: "immediate",
  into: 1,
  value,
});

const bit = 14;
const ours = 1 << bit;
const marks:
  readonly (readonly [what: string, steps: readonly FirewallExpression[], uses: boolean])[] = [
    ["nothing", [], false],
    ["a target that sets it", [{ kind: "set-mark", value: ours, mask: ours }], true],
    ["a target that clears it", [{ kind: "set-mark", value: 0, mask: ours }], true],
    ["a target that flips it", [{ kind: "set-mark", value: ours, mask: 0 }], true],
    ["a target for another bit", [{ kind: "set-mark", value: 1, mask: 1 }], false],
    ["a match that asks for it", [{ kind: "match-mark", value: 0, mask: ours, not: false }], true],
    ["a match for another bit", [{ kind: "match-mark", value: 1, mask: 1, not: false }], false],
    ["a comparison of the whole mark", [loadMark, cmp(number(ours))], true],
    ["a comparison with another mark", [loadMark, cmp(number(1))], false],
    ["a comparison of something else", [loadMark, cmp(number(ours), 2)], false],
    ["a comparison without the mark", [cmp(number(ours))], false],
    ["few bits of the mark", [loadMark, bits(ours, 0), cmp(number(0))], true],
    ["few other bits of it", [loadMark, bits(1, 0), cmp(number(0))], false],
    ["bits of something else", [loadMark, bits(ours, 0, 2)], false],
    ["a mark that gets it", [loadMark, bits(0xffffffff, ours), setMark], true],
    ["a mark that loses it", [loadMark, bits(~ours >>> 0, 0), setMark], true],
    ["a mark that loses another bit", [loadMark, bits(~1 >>> 0, 0), setMark], false],
    ["a whole mark that has it", [immediate(number(ours)), setMark], true],
    ["a whole mark that has it not", [immediate(number(1)), setMark], false],
    ["a number that becomes no mark", [immediate(number(ours))], false],
    ["less than a number", [immediate(number(ours).slice(0, 3)), setMark], false],
    ["a mark of fewer bytes", [loadMark, cmp(number(ours).slice(0, 2))], false],
  ];

for (const [what, steps, uses] of marks) {
  Deno.test(`usesMarkBit() is ${uses} for ${what}`, () => {
    assert.equal(usesMarkBit(rule(...steps), bit), uses);
  });
}

Deno.test("chainsAfter() gives the chains of verdicts, and those of verdict maps", () => {
  const elements = [
    { first: number(1), last: number(1), verdict: { kind: "goto", chain: "b" } },
    { first: number(2), last: number(2), verdict: { kind: "drop" } },
    { first: number(3), last: number(3) },
  ] as const;
  const lookup = (into?: number): FirewallExpression => ({
    kind: "lookup",
    set: { name: "m", fieldBytes: [4], elements },
    setName: "m",
    from: 1,
    not: false,
    ...(into !== undefined && { into }),
  });
  assert.deepEqual(chainsAfter(rule(verdict("a"), lookup(0))), ["a", "b"]);
  assert.deepEqual(chainsAfter(rule(lookup(), lookup(1), verdict("drop"))), []);
  const unread: FirewallExpression = { ...lookup(0), set: undefined } as FirewallExpression;
  assert.deepEqual(chainsAfter(rule(unread)), []);
});

Deno.test("allRules() gives each with its place, but for chains that were not read", () => {
  const table = nftTable("ip nat", [chain("A", [rule(verdict("drop"))]), chain("B", [])]);
  const unread = { ...table, chains: [{ ...table.chains[0], rules: undefined }] };
  const places = allRules([table, unread]).map(({ chain, place }) => `${chain.name}: ${place}`);
  assert.equal(places.length, 1);
  assert.match(places[0], /^A: table ip nat, chain A, handle \d+$/);
});

const name = (text: string) => new TextEncoder().encode(text);

Deno.test("namesInterface() takes a whole name only", () => {
  const names = (value: Uint8Array) => namesInterface(rule(cmp(value)), name("kube-ipvs0"));
  assert.equal(names(name("kube-ipvs0")), true);
  assert.equal(names(name("kube-ipvs0\0\0\0\0\0\0")), true);
  assert.equal(names(name("kube-ipvs01\0")), false);
  assert.equal(names(name("kube-ipvs")), false);
  assert.equal(names(name("kube-ipvs1")), false);
  assert.equal(namesInterface(rule(immediate(name("kube-ipvs0"))), name("kube-ipvs0")), false);
});

Deno.test("namesAddress() finds one that is compared with, loaded or translated to", () => {
  const wanted = new Set(["ac1e0001"]);
  const [one, other] = [Uint8Array.of(172, 30, 0, 1), Uint8Array.of(172, 30, 0, 2)];
  const to = (first: Uint8Array, last: Uint8Array): FirewallExpression => ({
    kind: "translate",
    what: "DNAT",
    to: { first, last },
  });
  const rows: readonly (readonly [FirewallExpression, boolean])[] = [
    [cmp(one), true],
    [cmp(other), false],
    [cmp(one.slice(0, 3)), false],
    [immediate(one), true],
    [to(one, other), true],
    [to(other, one), true],
    [to(other, other), false],
    [{ kind: "translate", what: "DNAT" }, false],
    [{ kind: "reject" }, false],
  ];
  for (const [step, is] of rows) assert.equal(namesAddress(rule(step), wanted), is, step.kind);
});

Deno.test("looksAtPorts() is about what stands behind the addresses", () => {
  const load = (base: "network" | "transport" | "other"): FirewallExpression => ({
    kind: "payload",
    base,
    offset: 2,
    length: 2,
    into: 1,
  });
  assert.equal(looksAtPorts(rule(load("transport"))), true);
  assert.equal(looksAtPorts(rule(load("network"), load("other"), cmp(number(80)))), false);
});
