/** Elements as a kernel dumps them, in its own order, read back as they were written. */
import assert from "node:assert/strict";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { copyElement, ElementCursor } from "../../../../lib/kernel/nf_tables/element_cursor.ts";
import { DataAttr, ElemAttr, VerdictAttr } from "../../../../lib/kernel/nf_tables/wire.ts";
import { decodeElements } from "../../../../lib/kernel/nftables/decode_elements.ts";
import { ElementEncoder } from "../../../../lib/kernel/nftables/encode_elements.ts";
import type { NftElement, NftFamily, NftSet } from "../../../../lib/kernel/nftables/operations.ts";
import { payloadOf } from "../nf_tables/written_attributes.ts";

function listOf(set: NftSet, family: NftFamily, elements: readonly NftElement[]): Uint8Array {
  const writer = new MessageWriter();
  const encoder = new ElementEncoder(set, family);
  for (const element of elements) encoder.add(writer, element);
  return writer.bytes();
}

/** The same elements, last first: starts and ends of intervals come in any order. */
function turnedRound(list: Uint8Array): Uint8Array {
  const elements: Uint8Array[] = [];
  const cursor = new ElementCursor(list);
  while (cursor.next()) elements.unshift(copyElement(cursor));
  return Uint8Array.from(elements.flatMap((each) => [...each]));
}

const rows: readonly (readonly [what: string, NftSet, NftFamily, readonly NftElement[]])[] = [
  ["addresses", { name: "s", key: ["addr"] }, "ip", [{ key: ["10.128.0.1"] }, {
    key: ["10.0.0.0"],
  }]],
  [
    "values, with a comment",
    { name: "m", key: ["addr", "index"], value: ["addr", "inet_service"] },
    "ip6",
    [{ key: ["fd00::1", 7], value: ["fd00::2", 8080], comment: "why" }],
  ],
  [
    "verdicts, and that of all others",
    { name: "v", key: ["inet_proto", "inet_service"], value: "verdict" },
    "ip",
    [
      { key: ["tcp", 80], value: { kind: "goto", chain: "pick-1" } },
      { key: ["udp", 53], value: { kind: "drop" }, comment: "no" },
      { key: [], value: { kind: "return" } },
    ],
  ],
  [
    "ranges of several fields",
    { name: "r", key: ["addr", "inet_service", "addr"], interval: true },
    "ip",
    [
      { key: ["10.0.0.0/8", 80, "172.30.0.1/32"] },
      { key: ["10.0.0.1-10.0.0.5", "80-90", "0.0.0.0/0"] },
    ],
  ],
];

for (const [what, set, family, elements] of rows) {
  Deno.test(`decodeElements() reads ${what}`, () => {
    const plain = (all: readonly NftElement[]) =>
      all.map((each) => JSON.stringify(each).replaceAll("/32", "")).sort();
    assert.deepEqual(
      plain(decodeElements(listOf(set, family, elements), set, family)),
      plain(elements),
    );
  });
}

const tree: NftSet = { name: "t", key: ["addr"], interval: true };
const intervals: readonly (readonly [what: string, readonly string[]])[] = [
  ["one", ["10.0.0.0/8"]],
  ["neighbours", ["10.0.0.0/9", "10.128.0.0/9"]],
  ["some with room between them", ["10.0.0.0/24", "172.30.0.0/16", "192.168.1.1/32"]],
  ["up to the highest address", ["10.0.0.0/8", "240.0.0.0/4"]],
  ["everything", ["0.0.0.0/0"]],
  ["what is no prefix", ["10.0.0.1-10.0.0.6"]],
];

for (const [what, texts] of intervals) {
  Deno.test(`decodeElements() reads intervals in any order: ${what}`, () => {
    const elements = texts.map((text, at): NftElement => ({ key: [text], comment: `${at}` }));
    const list = listOf(tree, "ip", elements);
    for (const each of [list, turnedRound(list)]) {
      const found = decodeElements(each, tree, "ip")
        .map(({ comment, key: [field] }) => `${String(field).replace("/32", "")} ${comment}`);
      assert.deepEqual(found, texts.map((text, at) => `${text.replace("/32", "")} ${at}`));
    }
  });
}

Deno.test("decodeElements() gives the element without a key beside intervals", () => {
  const map: NftSet = { ...tree, value: "verdict" };
  const elements: readonly NftElement[] = [
    { key: [], value: { kind: "drop" } },
    { key: ["10.0.0.0/8"], value: { kind: "accept" } },
  ];
  assert.deepEqual(decodeElements(listOf(map, "ip", elements), map, "ip"), elements);
});

Deno.test("decodeElements() leaves out a verdict that our language cannot say", () => {
  const set: NftSet = { name: "v", key: ["addr"], value: "verdict" };
  const list = payloadOf(new Uint8Array(), [[1, [
    [ElemAttr.key, [[DataAttr.value, Uint8Array.of(10, 0, 0, 1)]]],
    [ElemAttr.data, [[DataAttr.verdict, [[VerdictAttr.code, 3]]]]],
  ]]]);
  assert.deepEqual(decodeElements(list, set, "ip"), [{ key: ["10.0.0.1"] }]);
});

const misfits: readonly (readonly [NftSet, NftElement, RegExp])[] = [
  [
    { name: "s", key: ["addr"] },
    { key: ["10.0.0.1"], value: { kind: "drop" } },
    /has a verdict where no value/,
  ],
  [
    { name: "s", key: ["addr"], value: "verdict" },
    { key: ["10.0.0.1"] },
    /has no value where a verdict/,
  ],
  [
    { name: "s", key: ["addr"], value: ["addr"] },
    { key: ["10.0.0.1"], value: { kind: "drop" } },
    /has a verdict where data is expected/,
  ],
  [
    { name: "s", key: ["addr"], value: "verdict" },
    { key: ["10.0.0.1"], value: ["10.0.0.2"] },
    /"10\.0\.0\.1" of "s": it has data where a verdict/,
  ],
];

for (const [set, element, says] of misfits) {
  Deno.test(`ElementEncoder refuses what does not fit its set: ${says.source}`, () => {
    assert.throws(() => listOf(set, "ip", [element]), says);
  });
}
