import assert from "node:assert/strict";
import { readAttributes, readU32be, readU64be } from "../../../../lib/kernel/netlink/attributes.ts";
import { readMessages } from "../../../../lib/kernel/netlink/messages.ts";
import { compareElementLists } from "../../../../lib/kernel/nf_tables/compare_element_lists.ts";
import { ElementCursor } from "../../../../lib/kernel/nf_tables/element_cursor.ts";
import { decodeElements } from "../../../../lib/kernel/nftables/decode_elements.ts";
import { encodeBatch } from "../../../../lib/kernel/nftables/encode.ts";
import type { NftElement, NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { ElemListAttr, GENMSG_BYTES, Msg } from "../../../../lib/kernel/nf_tables/wire.ts";

const table = { family: "ip", name: "kube-proxy" } as const;
const set = { name: "ips", key: ["addr", "index"], value: ["addr"] } as const;
const setOf = (name: string) => name === set.name ? set : undefined;

function elements(count: number): NftElement[] {
  return Array.from({ length: count }, (_, i) => ({
    key: ["172.30.0.1", i],
    value: ["10.128.0.1"],
  }));
}

function elementList(bytes: Uint8Array): Uint8Array {
  const lists = [...readMessages(bytes)].filter(({ type }) => type === Msg.newSetElem)
    .map(({ payload }) =>
      readAttributes(payload.subarray(GENMSG_BYTES)).get(ElemListAttr.elements)
    );
  return Uint8Array.from(lists.flatMap((list) => [...list ?? []]));
}

Deno.test("encodeBatch() starts another message before an element list outgrows its length", () => {
  const operations: NftOperation[] = [{
    kind: "add-elements",
    set: "ips",
    elements: elements(9000),
  }];
  const { bytes, messages } = encodeBatch(table, operations, { setOf });
  const sent = [...readMessages(bytes)].filter(({ type }) => type === Msg.newSetElem);
  assert.ok(sent.length > 1);
  assert.ok(sent.every(({ payload }) => payload.length < 0xffff));
  const firsts = messages.flatMap(({ firstElement }) => firstElement ?? []);
  assert.equal(firsts.length, sent.length);
  const cursor = new ElementCursor(elementList(bytes));
  let count = 0;
  while (cursor.next()) {
    const index = cursor.view(cursor.key)[4] |
      (cursor.view(cursor.key)[5] << 8);
    assert.equal(index, count++);
  }
  assert.equal(count, 9000);
});

Deno.test("encodeBatch() tells the kernel in milliseconds when an element goes", () => {
  const clients = { name: "clients", key: ["addr"], timeoutSeconds: 90 } as const;
  const { bytes } = encodeBatch(table, [{
    kind: "add-elements",
    set: clients.name,
    elements: [{ key: ["192.168.0.9"], timeoutSeconds: 61 }],
  }], { setOf: () => clients });
  const element = readAttributes(elementList(bytes)).get(1);
  // NFTA_SET_ELEM_TIMEOUT
  const timeout = element && readAttributes(element).get(4);
  assert.equal(timeout && readU64be(timeout), 61_000n);
});

Deno.test("encodeBatch() numbers its messages and knows the operation of each", () => {
  const operations: NftOperation[] = [
    { kind: "add-table" },
    { kind: "add-elements", set: "ips", elements: [] },
    {
      kind: "add-rule",
      rule: {
        chain: "a",
        statements: [{
          kind: "random-verdict",
          verdicts: [{ kind: "drop" }, { kind: "accept" }],
        }],
      },
    },
  ];
  const { bytes, messages } = encodeBatch(table, operations, { setOf, generation: 77 });
  const sent = [...readMessages(bytes)];
  assert.deepEqual(sent.map(({ sequence }) => sequence), sent.map((_, i) => i));
  assert.deepEqual(sent.map(({ type }) => type), [
    Msg.batchBegin,
    Msg.newTable,
    Msg.newSet,
    Msg.newSetElem,
    Msg.newRule,
    Msg.batchEnd,
  ]);
  assert.deepEqual(messages.map(({ operation }) => operation), [-1, 0, 2, 2, 2, -1]);
  const generation = readAttributes(sent[0].payload.subarray(GENMSG_BYTES)).get(1);
  assert.equal(generation && readU32be(generation), 77);
});

const wrong: readonly { name: string; operation: NftOperation; error: RegExp }[] = [
  {
    name: "elements of an unknown set",
    operation: { kind: "add-elements", set: "none", elements: elements(1) },
    error: /the set's type is not known/,
  },
  {
    name: "an element without its value",
    operation: { kind: "add-elements", set: "ips", elements: [{ key: ["172.30.0.1", 1] }] },
    error: /it has no value where data is expected/,
  },
  {
    name: "an element with too few fields",
    operation: { kind: "delete-elements", set: "ips", elements: [{ key: ["172.30.0.1"] }] },
    error: /2 fields are expected/,
  },
  {
    name: "a comment that is too long",
    operation: { kind: "add-chain", chain: { name: "a", comment: "x".repeat(255) } },
    error: /shorten the comment/,
  },
  {
    name: "literals of a concatenation",
    operation: {
      kind: "add-rule",
      rule: {
        chain: "a",
        statements: [{ kind: "match", select: ["saddr", "dport"], in: { values: [80] } }],
      },
    },
    error: /literal values take one selector/,
  },
  {
    name: "no literal",
    operation: {
      kind: "add-rule",
      rule: {
        chain: "a",
        statements: [{ kind: "match", select: ["dport"], in: { values: [] } }],
      },
    },
    error: /compares with no value/,
  },
  {
    name: "an interface name that nft cannot print",
    operation: {
      kind: "add-rule",
      rule: { chain: "a", statements: [{ kind: "match-interface", name: 'a"b' }] },
    },
    error: /is no interface name/,
  },
];
for (const { name, operation, error } of wrong) {
  Deno.test(`encodeBatch() throws on ${name}`, () => {
    assert.throws(() => encodeBatch(table, [operation], { setOf }), error);
  });
}

Deno.test("compareElementLists() finds each kind of difference among many that agree", () => {
  const encode = (list: readonly NftElement[]) =>
    elementList(
      encodeBatch(table, [{ kind: "add-elements", set: "ips", elements: list }], { setOf }).bytes,
    );
  const kernel = elements(3000);
  const desired = [...kernel.slice(0, 2999), { key: ["172.30.0.2", 0], value: ["10.128.0.1"] }];
  desired[5] = { ...kernel[5], value: ["10.128.0.2"] };
  desired[6] = { ...kernel[6], comment: "named" };
  const { missing, extra } = compareElementLists(encode(kernel), encode(desired));
  assert.deepEqual(missing, encode([desired[5], desired[6], desired[2999]]));
  assert.deepEqual(extra, encode([kernel[5], kernel[6], kernel[2999]]));
});

Deno.test("encodeBatch() writes the catch-all element without a key, and it is read back so", () => {
  const element: NftElement = { key: [], value: ["10.128.0.1"], comment: "all others" };
  for (const kind of ["add-elements", "delete-elements"] as const) {
    const { bytes } = encodeBatch(table, [{ kind, set: "ips", elements: [element] }], { setOf });
    const [{ payload }] = [...readMessages(bytes)].filter(({ type }) =>
      type === Msg.newSetElem || type === Msg.delSetElem
    );
    const list = readAttributes(payload.subarray(GENMSG_BYTES)).get(ElemListAttr.elements);
    const decoded = decodeElements(list ?? new Uint8Array(), set, "ip");
    assert.deepEqual(decoded, [kind === "add-elements" ? element : { key: [] }]);
  }
});
