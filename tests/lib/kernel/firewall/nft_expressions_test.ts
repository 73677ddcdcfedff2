/** Each expression of anybody's rules as the step that it is; what cannot be foretold is called so. */
import assert from "node:assert/strict";
import type { FirewallExpression, FirewallSet } from "../../../../lib/kernel/firewall/firewall.ts";
import {
  firewallVerdict,
  readExpressions,
  setNamesOf,
} from "../../../../lib/kernel/firewall/nft_expressions.ts";
import {
  BitwiseAttr,
  CmpAttr,
  CtAttr,
  DynsetAttr,
  ExprAttr,
  FibAttr,
  ImmediateAttr,
  LookupAttr,
  MetaAttr,
  PayloadAttr,
  PayloadBase,
  RangeAttr,
  XtAttr,
} from "../../../../lib/kernel/nf_tables/expression_wire.ts";
import { DataAttr, VerdictAttr, VerdictCode } from "../../../../lib/kernel/nf_tables/wire.ts";
import { type Attribute, expression, expressionList } from "../nf_tables/written_attributes.ts";

const bytes = Uint8Array.of(10, 128, 0, 1);
const plain: readonly Attribute[] = [[DataAttr.value, bytes]];
const empty = new Uint8Array();
const known: FirewallSet = { name: "known", fieldBytes: [4], elements: [] };

function stepOf(name: string, ...data: readonly Attribute[]): FirewallExpression {
  const setOf = (each: string) => each === known.name ? known : undefined;
  const steps = readExpressions(expressionList(expression(name, ...data)), {
    setOf,
    family: "IPv4",
  });
  assert.equal(steps.length, 1);
  return steps[0];
}

const verdict = (code: number, ...more: readonly Attribute[]): Attribute => [
  ImmediateAttr.data,
  [[DataAttr.verdict, [[VerdictAttr.code, code], ...more]]],
];
const mask: Attribute = [BitwiseAttr.mask, plain];
const xor: Attribute = [BitwiseAttr.xor, plain];
const unknownBits = { kind: "load-unknown", what: "bitwise", into: 2 } as const;

type Row = readonly [name: string, data: readonly Attribute[], step: FirewallExpression];

const rows: readonly Row[] = [
  [
    "payload",
    [
      [PayloadAttr.base, PayloadBase.network],
      [PayloadAttr.offset, 16],
      [PayloadAttr.length, 4],
      [PayloadAttr.into, 1],
    ],
    { kind: "payload", base: "network", offset: 16, length: 4, into: 1 },
  ],
  [
    "payload",
    [[PayloadAttr.base, PayloadBase.transport], [PayloadAttr.length, 2], [PayloadAttr.into, 1]],
    { kind: "payload", base: "transport", offset: 0, length: 2, into: 1 },
  ],
  [
    "payload",
    [[PayloadAttr.base, 0], [PayloadAttr.into, 1]],
    { kind: "payload", base: "other", offset: 0, length: 0, into: 1 },
  ],
  [
    "payload",
    [[PayloadAttr.base, PayloadBase.network]],
    { kind: "decide-unknown", what: "a changed packet" },
  ],
  ["meta", [[MetaAttr.key, 3], [MetaAttr.into, 1]], { kind: "meta", key: 3, into: 1 }],
  ["meta", [[MetaAttr.key, 3], [MetaAttr.from, 1]], { kind: "set-meta", key: 3, from: 1 }],
  ["ct", [[CtAttr.key, 2], [CtAttr.into, 1]], { kind: "ct", key: 2, into: 1 }],
  [
    "ct",
    [[CtAttr.key, 2], [CtAttr.into, 1], [CtAttr.direction, Uint8Array.of(0)]],
    { kind: "ct", key: 2, into: 1 },
  ],
  [
    "ct",
    [[CtAttr.key, 2], [CtAttr.into, 1], [CtAttr.direction, Uint8Array.of(1)]],
    { kind: "load-unknown", what: "ct reply", into: 1 },
  ],
  ["ct", [[CtAttr.key, 3]], { kind: "passive", what: "ct" }],
  [
    "fib",
    [[FibAttr.result, 3], [FibAttr.flags, 2], [FibAttr.into, 1]],
    { kind: "fib", result: 3, flags: 2, into: 1 },
  ],
  [
    "immediate",
    [[ImmediateAttr.into, 1], [ImmediateAttr.data, plain]],
    { kind: "immediate", into: 1, value: bytes },
  ],
  ["immediate", [[ImmediateAttr.into, 1]], { kind: "immediate", into: 1, value: empty }],
  ["immediate", [verdict(VerdictCode.drop)], { kind: "verdict", verdict: { kind: "drop" } }],
  [
    "immediate",
    [verdict(VerdictCode.jump, [VerdictAttr.chain, "a"])],
    { kind: "verdict", verdict: { kind: "jump", chain: "a" } },
  ],
  ["immediate", [verdict(3)], { kind: "decide-unknown", what: "a queue" }],
  [
    "cmp",
    [[CmpAttr.from, 1], [CmpAttr.op, 1], [CmpAttr.data, plain]],
    { kind: "cmp", from: 1, op: 1, value: bytes },
  ],
  ["cmp", [[CmpAttr.from, 1]], { kind: "cmp", from: 1, op: 0, value: empty }],
  [
    "range",
    [[RangeAttr.from, 1], [RangeAttr.op, 1], [RangeAttr.first, plain], [RangeAttr.last, plain]],
    { kind: "range", from: 1, not: true, first: bytes, last: bytes },
  ],
  [
    "range",
    [[RangeAttr.from, 1], [RangeAttr.first, plain]],
    { kind: "range", from: 1, not: false, first: bytes, last: empty },
  ],
  [
    "bitwise",
    [[BitwiseAttr.from, 1], [BitwiseAttr.into, 2], mask, xor],
    { kind: "bitwise", from: 1, into: 2, mask: bytes, xor: bytes },
  ],
  // NFTA_BITWISE_OP: a shift.
  ["bitwise", [[BitwiseAttr.into, 2], [6, 1], mask, xor], unknownBits],
  ["bitwise", [[BitwiseAttr.into, 2], mask], unknownBits],
  ["bitwise", [[BitwiseAttr.into, 2]], unknownBits],
  [
    "lookup",
    [[LookupAttr.set, "known"], [LookupAttr.from, 1], [LookupAttr.flags, 1]],
    { kind: "lookup", set: known, setName: "known", from: 1, not: true },
  ],
  [
    "lookup",
    [[LookupAttr.set, "other"], [LookupAttr.from, 1], [LookupAttr.into, 0]],
    { kind: "lookup", set: undefined, setName: "other", from: 1, into: 0, not: false },
  ],
  ["reject", [], { kind: "reject" }],
  ...["nat", "masq", "redir"].map((what): Row => [what, [], { kind: "translate", what }]),
  ...["counter", "log", "last", "notrack", "dup", "flow_offload"]
    .map((what): Row => [what, [], { kind: "passive", what }]),
  ["dynset", [[DynsetAttr.op, 0]], { kind: "passive", what: "dynset" }],
  ...[[DynsetAttr.op, 2], [DynsetAttr.expr, plain], [DynsetAttr.expressions, plain]]
    .map((data): Row => [
      "dynset",
      [data as unknown as Attribute],
      { kind: "match-unknown", what: "a set that the packet itself changes" },
    ]),
  ["objref", [[1, 1]], { kind: "passive", what: "counter" }],
  ["objref", [[1, 2]], { kind: "match-unknown", what: "a quota, limit or other object" }],
  ...["limit", "quota", "connlimit"]
    .map((what): Row => [what, [], { kind: "match-unknown", what }]),
  // Each has its destination register elsewhere.
  ...([
    ["byteorder", 2],
    ["exthdr", 1],
    ["hash", 2],
    ["numgen", 1],
    ["osf", 1],
    ["rt", 1],
    ["socket", 2],
    ["tunnel", 2],
    ["xfrm", 1],
  ] as const).map(([what, at]): Row => [
    what,
    [[at, 9], [3 - at, 0]],
    { kind: "load-unknown", what, into: 9 },
  ]),
  ["exthdr", [], { kind: "decide-unknown", what: 'expression "exthdr"' }],
  ["synproxy", [[1, 9]], { kind: "decide-unknown", what: 'expression "synproxy"' }],
];

for (const [i, [name, data, step]] of rows.entries()) {
  Deno.test(`readExpressions() takes "${name}" for ${step.kind}, row ${i + 1}`, () => {
    assert.deepEqual(stepOf(name, ...data), step);
  });
}

Deno.test("readExpressions() reads the steps of a rule in their order, structures of xtables among them", () => {
  const structure = (kind: string, name: string) =>
    expression(kind, [XtAttr.name, name], [XtAttr.revision, 0], [XtAttr.info, new Uint8Array(4)]);
  const list = expressionList(
    expression("counter"),
    structure("match", "comment"),
    structure("target", "REJECT"),
    [[ExprAttr.name, "log"]],
    [],
  );
  const steps = readExpressions(list, { setOf: () => undefined, family: "IPv4" });
  assert.deepEqual(steps, [
    { kind: "passive", what: "counter" },
    { kind: "passive", what: "comment" },
    { kind: "reject" },
    { kind: "passive", what: "log" },
    { kind: "decide-unknown", what: 'expression ""' },
  ]);
});

Deno.test("setNamesOf() names the sets that lookups look into, and nothing else", () => {
  const list = expressionList(
    expression("lookup", [LookupAttr.set, "a"]),
    expression("dynset", [DynsetAttr.set, "b"]),
    expression("lookup", [LookupAttr.from, 1]),
    [[ExprAttr.name, "lookup"]],
    expression("lookup", [LookupAttr.set, "c"]),
    [],
  );
  assert.deepEqual(setNamesOf(list), ["a", "c"]);
});

Deno.test("firewallVerdict() knows every verdict but those of userspace", () => {
  const of = (code: number, chain?: string) => firewallVerdict(code, chain);
  assert.deepEqual(of(VerdictCode.accept), { kind: "accept" });
  assert.deepEqual(of(VerdictCode.drop), { kind: "drop" });
  assert.deepEqual(of(VerdictCode.return), { kind: "return" });
  assert.deepEqual(of(0xffffffff), { kind: "continue" });
  assert.deepEqual(of(VerdictCode.jump, "a"), { kind: "jump", chain: "a" });
  assert.deepEqual(of(VerdictCode.goto, "a"), { kind: "goto", chain: "a" });
  for (const code of [VerdictCode.jump, VerdictCode.goto, 3, 4]) assert.equal(of(code), undefined);
});
