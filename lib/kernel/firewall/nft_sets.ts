/** Sets of anybody as they stand in a dump: elements as ranges of keys. */
import { forEachAttribute, readAttributes, readU32be } from "../netlink/attributes.ts";
import { ElementCursor } from "../nf_tables/element_cursor.ts";
import { attributesOf, ElemFlag, SetAttr, SetDescAttr, SetFlag } from "../nf_tables/wire.ts";
import { compareBytes, decrement } from "../nftables/bytes.ts";
import type { FirewallElement, FirewallSet } from "./firewall.ts";
import { firewallVerdict } from "./nft_expressions.ts";
import { readString } from "../netlink/attributes.ts";

/** What a set is, without its elements. */
export interface SetShape {
  readonly name: string;
  readonly fieldBytes: readonly number[];
  /** Elements are the beginnings and ends of ranges. */
  readonly isInterval: boolean;
}

/** The shape of a set in the answer to a question for sets. */
export function readSetShape(payload: Uint8Array): SetShape {
  const found = readAttributes(attributesOf(payload));
  const number = (type: number) => {
    const value = found.get(type);
    return value ? readU32be(value) : 0;
  };
  const description = readAttributes(found.get(SetAttr.desc) ?? new Uint8Array());
  const fields = fieldsOf(description.get(SetDescAttr.concat) ?? new Uint8Array());
  const flags = number(SetAttr.flags);
  const isConcatenation = (flags & SetFlag.concat) !== 0 && fields.length > 0;
  return {
    name: readString(found.get(SetAttr.name) ?? new Uint8Array()),
    fieldBytes: isConcatenation ? fields : [number(SetAttr.keyLength)],
    isInterval: (flags & SetFlag.interval) !== 0 && !isConcatenation,
  };
}

/** NFTA_LIST_ELEM { NFTA_SET_FIELD_LEN } of each field, each padded to 4 bytes in the key. */
function fieldsOf(concat: Uint8Array): number[] {
  const fields: number[] = [];
  forEachAttribute(concat, (_, field) => {
    forEachAttribute(field, (_, length) => fields.push((readU32be(length) + 3) & ~3));
  });
  return fields;
}

/** The set with the elements of its dump. */
export function readSet(shape: SetShape, list: Uint8Array): FirewallSet {
  const { fieldBytes, isInterval, name } = shape;
  const points: Point[] = [];
  const cursor = new ElementCursor(list);
  while (cursor.next()) {
    const key = cursor.view(cursor.key).slice();
    const end = cursor.view(cursor.keyEnd);
    const verdict = cursor.verdictCode >= 0
      ? firewallVerdict(cursor.verdictCode, readString(cursor.view(cursor.chain)))
      : undefined;
    const value = cursor.view(cursor.data);
    points.push({
      first: key,
      last: end.length > 0 ? end.slice() : key,
      isEnd: (cursor.flags & ElemFlag.intervalEnd) !== 0,
      ...((cursor.flags & ElemFlag.catchAll) !== 0 && { isCatchAll: true as const }),
      ...(verdict && { verdict }),
      ...(value.length > 0 && { value: value.slice() }),
    });
  }
  return { name, fieldBytes, elements: isInterval ? rangesOf(points) : points };
}

interface Point extends FirewallElement {
  /** One behind the last key of a range. */
  readonly isEnd: boolean;
}

/** A beginning reaches up to the next point, whatever that is; the last one to the highest key. */
function rangesOf(points: readonly Point[]): readonly FirewallElement[] {
  const whole = points.filter(({ isCatchAll }) => isCatchAll);
  const sorted = points.filter(({ isCatchAll }) => !isCatchAll)
    .sort((a, b) => compareBytes(a.first, b.first));
  return [
    ...sorted.flatMap((point, at) => {
      if (point.isEnd) return [];
      const last = sorted[at + 1]?.first.slice() ?? new Uint8Array(point.first.length).fill(0xff);
      if (sorted[at + 1]) decrement(last);
      return [{ ...point, last }];
    }),
    ...whole,
  ];
}
