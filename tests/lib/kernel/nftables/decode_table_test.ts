/** Tables, chains, sets and rules of others, which ours must not be mistaken for. */
import assert from "node:assert/strict";
import {
  ChainAttr,
  DataAttr,
  ElemAttr,
  ElemFlag,
  genmsg,
  HookAttr,
  ListAttr,
  RuleAttr,
  SetAttr,
  SetFlag,
  TableAttr,
  TypeId,
  VerdictAttr,
  VerdictCode,
} from "../../../../lib/kernel/nf_tables/wire.ts";
import {
  anonymousSet,
  type AnonymousShape,
  decodeChain,
  decodeRule,
  decodeSet,
  decodeTable,
  decodeTableState,
} from "../../../../lib/kernel/nftables/decode_table.ts";
import type { NftSet } from "../../../../lib/kernel/nftables/operations.ts";
import { commentUserData } from "../../../../lib/kernel/nftables/user_data.ts";
import { type Attribute, payloadOf } from "../nf_tables/written_attributes.ts";

const of = (...attributes: readonly Attribute[]) => payloadOf(genmsg(2), attributes);

Deno.test("decodeTable() reads tables of IPv4 and IPv6, and no others", () => {
  const named = (nfproto: number) => payloadOf(genmsg(nfproto), [[TableAttr.name, "nat"]]);
  assert.deepEqual(decodeTable(named(2)), { family: "ip", name: "nat" });
  assert.deepEqual(decodeTable(named(10)), { family: "ip6", name: "nat" });
  assert.equal(decodeTable(named(1)), undefined);
  assert.equal(decodeTable(of()), undefined);
});

/** The kernel's numbers, not ours: NFTA_TABLE_FLAGS, NFTA_TABLE_OWNER, and the flags. */
const [flags, owner, dormantFlag, ownerFlag] = [2, 7, 1, 2];
const states:
  readonly (readonly [Attribute[], isDormant: boolean, ownerPort: number | undefined])[] = [
    [[], false, undefined],
    [[[flags, dormantFlag]], true, undefined],
    [[[flags, ownerFlag], [owner, 77]], false, 77],
    [[[flags, dormantFlag | ownerFlag], [owner, 77]], true, 77],
    // Without its flag the number says nothing.
    [[[owner, 77]], false, undefined],
  ];

for (const [attributes, isDormant, ownerPort] of states) {
  Deno.test(`decodeTableState() tells dormant ${isDormant}, owner ${ownerPort}`, () => {
    assert.deepEqual(decodeTableState(of(...attributes)), {
      isDormant,
      ownerPort,
      name: "",
      objects: 0,
    });
  });
}

Deno.test("decodeTableState() tells how many chains, sets and other objects there are", () => {
  const NFTA_TABLE_USE = 3;
  assert.equal(decodeTableState(of([TableAttr.name, "nat"])).name, "nat");
  assert.equal(decodeTableState(of([NFTA_TABLE_USE, 110_002])).objects, 110_002);
});

const hook = (number: number, priority: number): Attribute => [
  ChainAttr.hook,
  [[HookAttr.number, number], [HookAttr.priority, priority >>> 0]],
];

Deno.test("decodeChain() reads chains with their hooks, and whose they are", () => {
  const decoded = (...attributes: readonly Attribute[]) =>
    decodeChain(of([ChainAttr.table, "t"], [ChainAttr.name, "c"], ...attributes));
  assert.deepEqual(decoded(), { table: "t", chain: { name: "c" }, isOfOneRule: false });
  assert.equal(decoded([ChainAttr.flags, 4]).isOfOneRule, true);
  assert.equal(decoded([ChainAttr.flags, 2]).isOfOneRule, false);
  assert.deepEqual(decoded([ChainAttr.userData, commentUserData("why")]).chain.comment, "why");
  const why = commentUserData("why");
  const beside = [Uint8Array.of(...why, 7, 1, 9), Uint8Array.of(7, 2, 9, 9, ...why)];
  for (const userData of beside) {
    assert.equal(decoded([ChainAttr.userData, userData]).chain.comment, "why");
  }
  const base = (...attributes: readonly Attribute[]) => decoded(...attributes).chain.base;
  assert.deepEqual(base(hook(0, -101), [ChainAttr.type, "nat"], [ChainAttr.policy, 1]), {
    type: "nat",
    hook: "prerouting",
    priority: -101,
  });
  assert.deepEqual(base(hook(4, 99), [ChainAttr.type, "filter"], [ChainAttr.policy, 0]), {
    type: "filter",
    hook: "postrouting",
    priority: 99,
    policy: "drop",
  });
  assert.equal(base(hook(3, 0), [ChainAttr.type, "route"], [ChainAttr.policy, 1])?.type, "route");
  assert.equal(base(hook(99, 0), [ChainAttr.policy, 1])?.hook, "prerouting");
});

const key: readonly Attribute[] = [[SetAttr.name, "s"], [SetAttr.keyType, TypeId.ipv4Addr]];
const timeout: Attribute = [SetAttr.timeout, 10_800_000n];

const sets: readonly (readonly [what: string, readonly Attribute[], NftSet])[] = [
  ["a set", key, { name: "s", key: ["addr"] }],
  ["intervals", [...key, [SetAttr.flags, SetFlag.interval]], {
    name: "s",
    key: ["addr"],
    interval: true,
  }],
  [
    "a verdict map",
    [...key, [SetAttr.flags, SetFlag.map], [SetAttr.dataType, TypeId.verdict]],
    { name: "s", key: ["addr"], value: "verdict" },
  ],
  [
    "a map",
    [...key, [SetAttr.flags, SetFlag.map], [SetAttr.dataType, TypeId.inetService]],
    { name: "s", key: ["addr"], value: ["inet_service"] },
  ],
  [
    "a set that packets fill",
    [...key, [SetAttr.flags, SetFlag.dynamic | SetFlag.timeout], timeout],
    { name: "s", key: ["addr"], dynamicTimeoutSeconds: 10_800 },
  ],
  // What our language cannot say has no key.
  ["a field of another kind", [key[0], [SetAttr.keyType, 5]], { name: "s", key: [] }],
  [
    "a value of another kind",
    [...key, [SetAttr.flags, SetFlag.map], [SetAttr.dataType, 5]],
    { name: "s", key: [] },
  ],
  ["constants", [...key, [SetAttr.flags, SetFlag.constant]], { name: "s", key: [] }],
  ["elements that time out", [...key, [SetAttr.flags, SetFlag.timeout], timeout], {
    name: "s",
    key: [],
  }],
  ["packets without a time", [...key, [SetAttr.flags, SetFlag.dynamic]], { name: "s", key: [] }],
  ["an expression", [...key, [SetAttr.expr, []]], { name: "s", key: [] }],
  ["expressions", [...key, [SetAttr.expressions, []]], { name: "s", key: [] }],
];

for (const [what, attributes, set] of sets) {
  Deno.test(`decodeSet() reads ${what}`, () => {
    const listed = decodeSet(of(...attributes), "ip");
    assert.deepEqual(listed, { kind: "named", set, count: undefined });
    const counted = decodeSet(of(...attributes, [SetAttr.count, 5]), "ip");
    assert.equal(counted.kind === "named" && counted.count, 5);
  });
}

const shape: AnonymousShape = {
  keyTypeId: TypeId.ipv4Addr,
  keyBytes: 4,
  interval: true,
  isVerdictMap: false,
};

Deno.test("decodeSet() keeps the shape of a rule's own set", () => {
  const listed = (flags: number, data: number) =>
    decodeSet(
      of(...key, [SetAttr.keyLength, 4], [SetAttr.flags, flags], [SetAttr.dataType, data]),
      "ip",
    );
  const { anonymous, interval, map } = SetFlag;
  assert.deepEqual(listed(anonymous | interval, 0), { kind: "anonymous", name: "s", shape });
  assert.deepEqual(listed(anonymous | map, TypeId.verdict), {
    kind: "anonymous",
    name: "s",
    shape: { ...shape, interval: false, isVerdictMap: true },
  });
});

/** One element of a list. */
function element(last: number, ...more: readonly Attribute[]): Attribute {
  const bytes = Uint8Array.of(10, 0, 0, last);
  return [ListAttr.element, [[ElemAttr.key, [[DataAttr.value, bytes]]], ...more]];
}

function listOf(...elements: readonly Attribute[]): Uint8Array {
  return payloadOf(new Uint8Array(), elements);
}

Deno.test("anonymousSet() sorts elements, and leaves out an end that ends nothing", () => {
  const end: Attribute = [ElemAttr.flags, ElemFlag.intervalEnd];
  const { elements } = anonymousSet(shape, listOf(element(9, end), element(1), element(0, end)));
  assert.deepEqual(elements, [
    { key: Uint8Array.of(10, 0, 0, 1) },
    { key: Uint8Array.of(10, 0, 0, 9), isEnd: true },
  ]);
  const verdict = (code: number, chain: string): Attribute => [ElemAttr.data, [[
    DataAttr.verdict,
    [[VerdictAttr.code, code], [VerdictAttr.chain, chain]],
  ]]];
  const map = anonymousSet(
    shape,
    listOf(element(2, verdict(VerdictCode.jump, "a")), element(1, verdict(VerdictCode.drop, ""))),
  );
  assert.deepEqual(map.elements.map(({ verdict }) => verdict), [
    { kind: "drop" },
    { kind: "jump", chain: "a" },
  ]);
});

Deno.test("a rule that was written through xtables, or has another comment, is none of ours", () => {
  const expressions: Attribute = [RuleAttr.expressions, [[ListAttr.element, [[1, "masq"]]]]];
  const listed = (...attributes: readonly Attribute[]) =>
    decodeRule(
      of([RuleAttr.chain, "c"], [RuleAttr.handle, 7n], expressions, ...attributes),
      "ip",
      new Map(),
    );
  const rule = { chain: "c", statements: [{ kind: "masquerade", fullyRandom: false }] } as const;
  const plain = listed();
  assert.deepEqual([plain.chain, plain.handle], ["c", 7n]);
  assert.equal(plain.matches(rule), true);
  assert.equal(plain.matches({ ...rule, chain: "d" }), false);
  assert.equal(plain.matches({ ...rule, comment: "why" }), false);
  const commented = listed([RuleAttr.userData, commentUserData("why")]);
  assert.equal(commented.matches({ ...rule, comment: "why" }), true);
  assert.equal(commented.matches(rule), false);
  assert.equal(listed([RuleAttr.compat, []]).matches(rule), false);
  const bare = decodeRule(of([RuleAttr.chain, "c"]), "ip", new Map());
  assert.equal(bare.handle, 0n);
  assert.equal(bare.matches({ chain: "c", statements: [] }), true);
});
