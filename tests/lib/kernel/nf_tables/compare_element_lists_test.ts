import assert from "node:assert/strict";
import { compareElementLists } from "../../../../lib/kernel/nf_tables/compare_element_lists.ts";
import { ElementEncoder } from "../../../../lib/kernel/nftables/encode_elements.ts";
import type { NftElement, NftSet } from "../../../../lib/kernel/nftables/operations.ts";
import { DataAttr, ElemAttr } from "../../../../lib/kernel/nf_tables/wire.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";

const set: NftSet = { name: "endpoints", key: ["addr", "index"], value: ["addr"] };

function element(index: number, address = "10.128.0.1"): NftElement {
  return { key: ["172.30.0.1", index], value: [address] };
}

function listOf(...elements: readonly NftElement[]): Uint8Array<ArrayBuffer> {
  return write(new MessageWriter(), elements);
}

/** The same elements in other bytes. */
function unmarked(...elements: readonly NftElement[]): Uint8Array<ArrayBuffer> {
  return write(new MessageWriter(4096, { marksNested: false }), elements);
}

function write(writer: MessageWriter, elements: readonly NftElement[]): Uint8Array<ArrayBuffer> {
  const encoder = new ElementEncoder(set, "ip");
  for (const each of elements) encoder.add(writer, each);
  return writer.bytes();
}

const rows = [
  {
    name: "equal lists, in any order",
    kernel: listOf(element(1), element(0)),
    isTorn: false,
    missing: listOf(),
    extra: listOf(),
  },
  {
    name: "another value is missing and too much",
    kernel: listOf(element(0), element(1, "10.128.0.2")),
    isTorn: false,
    missing: listOf(element(1)),
    extra: listOf(element(1, "10.128.0.2")),
  },
  {
    name: "an element that comes twice in place of another: a torn dump",
    kernel: listOf(element(0), element(0)),
    isTorn: true,
    missing: listOf(element(1)),
    extra: listOf(),
  },
  {
    name: "the same in other bytes",
    kernel: unmarked(element(1), element(0)),
    isTorn: false,
    missing: listOf(),
    extra: listOf(),
  },
  {
    name: "one in other bytes, and another value",
    kernel: unmarked(element(0), element(1, "10.128.0.2")),
    isTorn: false,
    missing: listOf(element(1)),
    extra: unmarked(element(1, "10.128.0.2")),
  },
  {
    name: "an element that comes twice in other bytes",
    kernel: unmarked(element(0), element(0)),
    isTorn: true,
    missing: listOf(element(1)),
    extra: listOf(),
  },
  {
    name: "lists of which one cannot be walked through by words",
    kernel: shifted(listOf(element(1), element(0, "10.128.0.3"))),
    isTorn: false,
    missing: listOf(element(0)),
    extra: listOf(element(0, "10.128.0.3")),
  },
] as const;

/** At an address that is no multiple of four. */
function shifted(list: Uint8Array): Uint8Array {
  const moved = new Uint8Array(list.length + 1).subarray(1);
  moved.set(list);
  return moved;
}

for (const { name, kernel, ...difference } of rows) {
  Deno.test(`compareElementLists(): ${name}`, () => {
    const { extra, isTorn, missing } = compareElementLists(kernel, listOf(element(0), element(1)));
    assert.deepEqual({ isTorn, missing, extra }, difference);
  });
}

/** One in the kernel's order and spelling, the other turned round and in ours: only what they say is equal. */
function turned(kind: NftSet, elements: readonly NftElement[]) {
  const [kernel, desired] = [false, true].map((marksNested) => {
    const writer = new MessageWriter(4096, { marksNested });
    const encoder = new ElementEncoder(kind, "ip");
    for (const each of marksNested ? elements.toReversed() : elements) encoder.add(writer, each);
    return writer.bytes();
  });
  return compareElementLists(kernel, desired);
}

for (
  const [name, kind, elements] of [
    ["keys of a byte", { name: "p", key: ["inet_proto"] }, [{ key: ["tcp"] }, { key: ["udp"] }]],
    ["a short comment behind a long one", set, [
      { ...element(0), comment: "longer than the other" },
      { ...element(1), comment: "xx" },
    ]],
    ["chains of several lengths", { name: "v", key: ["inet_service"], value: "verdict" }, [
      { key: [1], value: { kind: "jump", chain: "a-longer-name" } },
      { key: [2], value: { kind: "jump", chain: "abcd" } },
      { key: [3], value: { kind: "goto", chain: "abcd" } },
    ]],
  ] as const
) {
  Deno.test(`compareElementLists(): ${name}, in other bytes and another order`, () => {
    assert.deepEqual(turned(kind, elements), {
      isTorn: false,
      missing: new Uint8Array(),
      extra: new Uint8Array(),
    });
  });
}

/** An element of these attributes. */
function spelled(...parts: readonly (readonly [type: number, text: string])[]): Uint8Array {
  const writer = new MessageWriter();
  const start = writer.beginNested(1);
  for (const [type, text] of parts) {
    const part = writer.beginNested(type);
    writer.raw(DataAttr.value, new TextEncoder().encode(text));
    writer.endNested(part);
  }
  writer.endNested(start);
  return writer.bytes();
}

Deno.test("compareElementLists() does not take the end of a range for a value, nor half of a key for all of it", () => {
  const { data, key, keyEnd } = ElemAttr;
  for (
    const [kernel, desired] of [
      [spelled([key, "abcd"], [keyEnd, "efgh"]), spelled([key, "abcd"], [data, "efgh"])],
      [spelled([key, "a"]), spelled([key, "b"])],
      [spelled([key, "abcd"]), spelled([key, "abcdabcd"])],
    ]
  ) {
    const difference = { isTorn: false, missing: desired, extra: kernel };
    assert.deepEqual(compareElementLists(kernel, desired), difference);
  }
});

Deno.test("compareElementLists() tells verdicts to one chain apart, and an element for every other key", () => {
  const verdicts: NftSet = { name: "v", key: ["inet_service"], value: "verdict" };
  const encode = (element: NftElement) => {
    const writer = new MessageWriter();
    new ElementEncoder(verdicts, "ip").add(writer, element);
    return writer.bytes();
  };
  const [jump, goto] = (["jump", "goto"] as const).map((kind) =>
    encode({ key: [1], value: { kind, chain: "abcd" } })
  );
  assert.deepEqual(compareElementLists(jump, goto).missing, goto);
  const flagged = encode({ key: [], value: { kind: "drop" } });
  const unflagged = flagged.slice();
  unflagged[11] = 0;
  assert.deepEqual(compareElementLists(unflagged, flagged).missing, flagged);
});
