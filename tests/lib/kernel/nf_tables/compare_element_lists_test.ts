import assert from "node:assert/strict";
import { compareElementLists } from "../../../../lib/kernel/nf_tables/compare_element_lists.ts";
import { ElementEncoder } from "../../../../lib/kernel/nftables/encode_elements.ts";
import type { NftElement, NftSet } from "../../../../lib/kernel/nftables/operations.ts";
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
