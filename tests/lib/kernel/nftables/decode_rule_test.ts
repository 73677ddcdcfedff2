/** Expressions that others write: what is not quite ours must not be taken for ours. */
import assert from "node:assert/strict";
import {
  BitwiseAttr,
  CmpAttr,
  CtAttr,
  DYNSET_UPDATE,
  DynsetAttr,
  ExprAttr,
  FibAttr,
  ImmediateAttr,
  LookupAttr,
  MasqAttr,
  MetaAttr,
  NAT_DNAT,
  NatAttr,
  NUMGEN_RANDOM,
  NumgenAttr,
  PayloadAttr,
  PayloadBase,
  RANGE_NOT,
  RangeAttr,
  RejectAttr,
} from "../../../../lib/kernel/nf_tables/expression_wire.ts";
import { DataAttr, VerdictAttr, VerdictCode } from "../../../../lib/kernel/nf_tables/wire.ts";
import { decodeExpressions } from "../../../../lib/kernel/nftables/decode_rule.ts";
import {
  type AnonymousSet,
  type Expression,
  Fib,
  NatFlag,
  RejectType,
} from "../../../../lib/kernel/nftables/expressions.ts";
import { type Attribute, expression, expressionList } from "../nf_tables/written_attributes.ts";

const set: AnonymousSet = {
  keyField: "addr",
  keyTypeId: 7,
  keyBytes: 4,
  interval: false,
  isVerdictMap: false,
  elements: [],
};

function decoded(name: string, ...data: readonly Attribute[]): Expression | undefined {
  return decodeExpressions(expressionList(expression(name, ...data)), new Map([["__set0", set]]))
    ?.[0];
}

const bytes = Uint8Array.of(10, 128, 0, 1);
const plain = (value: Uint8Array): readonly Attribute[] => [[DataAttr.value, value]];

const payload: readonly Attribute[] = [
  [PayloadAttr.into, 1],
  [PayloadAttr.base, PayloadBase.network],
  [PayloadAttr.offset, 16],
  [PayloadAttr.length, 4],
];
const fib: readonly Attribute[] = [[FibAttr.into, 1], [FibAttr.flags, Fib.daddr]];
const numgen: readonly Attribute[] = [[NumgenAttr.into, 1], [NumgenAttr.modulus, 7]];
const range: readonly Attribute[] = [
  [RangeAttr.from, 1],
  [RangeAttr.first, plain(bytes)],
  [RangeAttr.last, plain(bytes)],
];
const bitwise: readonly Attribute[] = [
  [BitwiseAttr.from, 1],
  [BitwiseAttr.into, 2],
  [BitwiseAttr.mask, plain(bytes)],
  [BitwiseAttr.xor, plain(bytes)],
];
const dynset: readonly Attribute[] = [
  [DynsetAttr.set, "clients"],
  [DynsetAttr.op, DYNSET_UPDATE],
  [DynsetAttr.key, 1],
];
const nat: readonly Attribute[] = [
  [NatAttr.type, NAT_DNAT],
  [NatAttr.nfproto, 2],
  [NatAttr.addressMin, 1],
];
const natFlags = NatFlag.address | NatFlag.port;

/** Ours, as our own encoder and the kernel write them. */
const ours: readonly (readonly [name: string, data: readonly Attribute[], meaning: Expression])[] =
  [
    ["payload", payload, { kind: "payload", base: "network", offset: 16, length: 4, into: 1 }],
    [
      "payload",
      [[PayloadAttr.into, 2], [PayloadAttr.base, PayloadBase.transport], [PayloadAttr.length, 2]],
      { kind: "payload", base: "transport", offset: 0, length: 2, into: 2 },
    ],
    ["meta", [[MetaAttr.key, 16], [MetaAttr.into, 1]], { kind: "meta", key: 16, into: 1 }],
    ["meta", [[MetaAttr.key, 3], [MetaAttr.from, 1]], { kind: "meta-set", key: 3, from: 1 }],
    ["ct", [[CtAttr.key, 2], [CtAttr.into, 1]], { kind: "ct", key: 2, into: 1 }],
    [
      "fib",
      [...fib, [FibAttr.result, Fib.resultType]],
      { kind: "fib", flags: Fib.daddr, into: 1 },
    ],
    [
      "numgen",
      [...numgen, [NumgenAttr.type, NUMGEN_RANDOM], [NumgenAttr.offset, 3]],
      { kind: "numgen", modulus: 7, offset: 3, into: 1 },
    ],
    [
      "cmp",
      [[CmpAttr.from, 1], [CmpAttr.op, 1], [CmpAttr.data, plain(bytes)]],
      { kind: "cmp", op: 1, from: 1, data: bytes },
    ],
    [
      "range",
      [...range, [RangeAttr.op, RANGE_NOT]],
      { kind: "range-not", from: 1, first: bytes, last: bytes },
    ],
    ["bitwise", bitwise, { kind: "bitwise", from: 1, into: 2, mask: bytes, xor: bytes }],
    [
      "lookup",
      [[LookupAttr.set, "service-ips"], [LookupAttr.from, 1], [LookupAttr.into, 0]],
      {
        kind: "lookup",
        target: { kind: "named", name: "service-ips" },
        from: 1,
        into: 0,
        not: false,
      },
    ],
    [
      "lookup",
      [[LookupAttr.set, "__set0"], [LookupAttr.from, 1], [LookupAttr.flags, 1]],
      { kind: "lookup", target: { kind: "anonymous", set }, from: 1, not: true },
    ],
    [
      "immediate",
      [[ImmediateAttr.into, 1], [ImmediateAttr.data, plain(bytes)]],
      { kind: "immediate", into: 1, data: bytes },
    ],
    [
      "immediate",
      [[ImmediateAttr.data, [[DataAttr.verdict, [
        [VerdictAttr.code, VerdictCode.jump],
        [VerdictAttr.chain, "pick-1"],
      ]]]]],
      { kind: "verdict", verdict: { kind: "jump", chain: "pick-1" } },
    ],
    ["dynset", dynset, { kind: "update-set", set: "clients", key: 1, timeoutSeconds: 0 }],
    [
      "dynset",
      [...dynset, [DynsetAttr.timeout, 10_800_000n]],
      { kind: "update-set", set: "clients", key: 1, timeoutSeconds: 10_800 },
    ],
    ["nat", nat, { kind: "dnat", nfproto: 2, address: 1, flags: NatFlag.address }],
    [
      "nat",
      [...nat, [NatAttr.addressMax, 1], [NatAttr.portMin, 2], [NatAttr.portMax, 2]],
      { kind: "dnat", nfproto: 2, address: 1, port: 2, flags: natFlags },
    ],
    [
      "nat",
      [...nat, [NatAttr.flags, NatFlag.fullyRandom | NatFlag.address]],
      { kind: "dnat", nfproto: 2, address: 1, flags: NatFlag.address | NatFlag.fullyRandom },
    ],
    ["masq", [[MasqAttr.flags, 16]], { kind: "masq", flags: 16 }],
    ["masq", [], { kind: "masq", flags: 0 }],
    [
      "reject",
      [[RejectAttr.type, RejectType.icmpUnreachable], [RejectAttr.code, Uint8Array.of(3)]],
      { kind: "reject", type: RejectType.icmpUnreachable, code: 3 },
    ],
    // The kernel keeps a code of a reset that means nothing.
    [
      "reject",
      [[RejectAttr.type, RejectType.tcpReset], [RejectAttr.code, Uint8Array.of(3)]],
      { kind: "reject", type: RejectType.tcpReset, code: 0 },
    ],
    ["reject", [], { kind: "reject", type: RejectType.icmpUnreachable, code: 0 }],
  ];

for (const [i, [name, data, meaning]] of ours.entries()) {
  Deno.test(`decodeExpressions() reads ${meaning.kind} of "${name}", row ${i + 1}`, () => {
    assert.deepEqual(decoded(name, ...data), meaning);
  });
}

/** Near to ours, with another meaning. */
const foreign: readonly (readonly [why: string, name: string, data: readonly Attribute[]])[] = [
  ["an unknown expression", "limit", []],
  ["a field of the link layer", "payload", [...payload.slice(0, 1), [PayloadAttr.base, 0]]],
  ["a field that is written", "payload", payload.slice(1)],
  ["a field of one direction", "ct", [[CtAttr.key, 2], [CtAttr.direction, Uint8Array.of(0)]]],
  ["another result of a route", "fib", [...fib, [FibAttr.result, Fib.resultType - 1]]],
  ["a number that counts up", "numgen", [...numgen, [NumgenAttr.type, 0]]],
  ["nothing to compare with", "cmp", [[CmpAttr.from, 1]]],
  ["a range that is to match", "range", [...range, [RangeAttr.op, 0]]],
  ["a range without its end", "range", [...range.slice(0, 2), [RangeAttr.op, RANGE_NOT]]],
  ["a range without its begin", "range", [range[2], [RangeAttr.op, RANGE_NOT]]],
  // NFTA_BITWISE_OP, which every kernel sends.
  ["a shift", "bitwise", [...bitwise, [6, 1]]],
  ["bits without a mask", "bitwise", [...bitwise.slice(0, 2), bitwise[3]]],
  ["bits without what turns them", "bitwise", bitwise.slice(0, 3)],
  ["a verdict of userspace", "immediate", [[ImmediateAttr.data, [[DataAttr.verdict, [
    [VerdictAttr.code, 3],
  ]]]]]],
  ["an element that is added, not updated", "dynset", [dynset[0], [DynsetAttr.op, 0]]],
  ["an element with a value", "dynset", [...dynset, [DynsetAttr.data, 2]]],
  ["an element with a counter", "dynset", [...dynset, [DynsetAttr.expr, plain(bytes)]]],
  ["an element with counters", "dynset", [...dynset, [DynsetAttr.expressions, plain(bytes)]]],
  ["an element with flags", "dynset", [...dynset, [DynsetAttr.flags, 1]]],
  ["an update of no set", "dynset", dynset.slice(1)],
  ["another source", "nat", [[NatAttr.type, 0], ...nat.slice(1)]],
  ["a destination without an address", "nat", nat.slice(0, 2)],
  ["several destinations", "nat", [...nat, [NatAttr.addressMax, 2]]],
  ["several ports", "nat", [...nat, [NatAttr.portMin, 2], [NatAttr.portMax, 3]]],
  ["an end of ports that do not begin", "nat", [...nat, [NatAttr.portMax, 3]]],
  ["ports to masquerade to", "masq", [[MasqAttr.portMin, 1]]],
  ["an end of such ports", "masq", [[MasqAttr.portMax, 1]]],
];

for (const [why, name, data] of foreign) {
  Deno.test(`decodeExpressions() takes for none of ours: ${why}`, () => {
    assert.equal(decoded(name, ...data), undefined);
  });
}

Deno.test("decodeExpressions() reads all of a rule, or calls it foreign for one of them", () => {
  const none = new Map();
  const masquerade = expression("masq");
  assert.deepEqual(decodeExpressions(expressionList(), none), []);
  const all = decodeExpressions(
    expressionList(expression("meta", [MetaAttr.key, 3]), masquerade),
    none,
  );
  assert.deepEqual(all?.map(({ kind }) => kind), ["meta", "masq"]);
  assert.equal(decodeExpressions(expressionList(masquerade, expression("limit")), none), undefined);
  assert.equal(decodeExpressions(expressionList(masquerade, []), none), undefined);
  // An expression without settings of its own.
  const bare = decodeExpressions(expressionList([[ExprAttr.name, "masq"]]), none);
  assert.deepEqual(bare, [{ kind: "masq", flags: 0 }]);
});
