/**
 * Keys and values between `NftField` and bytes. Fields of a concatenation are padded to 4 bytes each;
 * a single field is not padded. `index` is the one number in host order (little-endian here).
 */
import { prefixLengthOf, readAddress, writeAddress, writeAddressRange } from "./addresses.ts";
import { familyFacts } from "./family.ts";
import type { NftFamily, NftField, NftFieldType } from "./operations.ts";
import { TypeId } from "../nf_tables/wire.ts";

/** One field's place. */
interface FieldPlace {
  readonly type: NftFieldType;
  readonly offset: number;
  readonly size: number;
}

/** How a list of fields lies in bytes. */
export interface FieldLayout {
  readonly places: readonly FieldPlace[];
  readonly bytes: number;
  /** nft's number for the type, concatenations packed. */
  readonly typeId: number;
}

/** The layout of these fields in a family. */
export function fieldLayout(types: readonly NftFieldType[], family: NftFamily): FieldLayout {
  const places: FieldPlace[] = [];
  let offset = 0;
  let typeId = 0;
  for (const type of types) {
    const size = fieldSize(type, family);
    places.push({ type, offset, size });
    offset += (size + 3) & ~3;
    typeId = typeId * 64 + fieldTypeId(type, family);
  }
  return { places, bytes: types.length === 1 ? places[0].size : offset, typeId };
}

/** The field types that nft's number stands for, or undefined when one is not of our language. */
export function fieldTypesOf(typeId: number, family: NftFamily): NftFieldType[] | undefined {
  const types: NftFieldType[] = [];
  for (let rest = typeId; rest !== 0; rest = Math.floor(rest / 64)) {
    const type = fieldTypes.find((each) => fieldTypeId(each, family) === rest % 64);
    if (type === undefined) return undefined;
    types.unshift(type);
  }
  return types;
}

/** Writes exact values; `into` has the layout's size and is written completely. */
export function writeFields(
  layout: FieldLayout,
  fields: readonly NftField[],
  into: Uint8Array,
): void {
  const { places } = layout;
  if (fields.length !== places.length) throw wrongCount(fields, places.length);
  for (let i = 0; i < places.length; i++) writeField(places[i], fields[i], into);
}

/** Writes the lower and the upper bound of each field. */
export function writeFieldRanges(
  layout: FieldLayout,
  fields: readonly NftField[],
  bounds: { readonly first: Uint8Array; readonly last: Uint8Array },
): void {
  const { places } = layout;
  if (fields.length !== places.length) throw wrongCount(fields, places.length);
  for (const [i, place] of places.entries()) {
    const field = fields[i];
    if (place.type === "addr") {
      const { first, last } = bounds;
      const { offset: at, size } = place;
      writeAddressRange(String(field), size, {
        first: { into: first, at },
        last: { into: last, at },
      });
    } else {
      const dash = typeof field === "string" ? field.indexOf("-") : -1;
      const text = String(field);
      writeField(place, dash < 0 ? field : text.slice(0, dash), bounds.first);
      writeField(place, dash < 0 ? field : text.slice(dash + 1), bounds.last);
    }
  }
}

/** Reads exact values. */
export function readFields(layout: FieldLayout, bytes: Uint8Array): NftField[] {
  checkSize(layout, bytes);
  const fields: NftField[] = [];
  for (const place of layout.places) fields.push(readField(place, bytes));
  return fields;
}

/** Reads the fields of an interval: a CIDR where it is one, else `first-last`. */
export function readFieldRanges(
  layout: FieldLayout,
  bounds: { readonly first: Uint8Array; readonly last: Uint8Array },
): NftField[] {
  checkSize(layout, bounds.first);
  checkSize(layout, bounds.last);
  return layout.places.map((place) => {
    const end = place.offset + place.size;
    const first = bounds.first.subarray(place.offset, end);
    const last = bounds.last.subarray(place.offset, end);
    const low = readField(place, bounds.first);
    const high = readField(place, bounds.last);
    if (low === high) return low;
    const prefixLength = place.type === "addr" ? prefixLengthOf(first, last) : -1;
    return prefixLength < 0 ? `${low}-${high}` : `${low}/${prefixLength}`;
  });
}

const fieldTypes: readonly NftFieldType[] = ["addr", "inet_proto", "inet_service", "index"];
const protocols = { tcp: 6, udp: 17, sctp: 132 } as const;

function fieldSize(type: NftFieldType, family: NftFamily): number {
  switch (type) {
    case "addr":
      return familyFacts(family).addressBytes;
    case "inet_proto":
      return 1;
    case "inet_service":
      return 2;
    case "index":
      return 4;
  }
}

function fieldTypeId(type: NftFieldType, family: NftFamily): number {
  switch (type) {
    case "addr":
      return familyFacts(family).addressTypeId;
    case "inet_proto":
      return TypeId.inetProto;
    case "inet_service":
      return TypeId.inetService;
    case "index":
      return TypeId.integer;
  }
}

function writeField(place: FieldPlace, field: NftField, into: Uint8Array): void {
  const at = place.offset;
  switch (place.type) {
    case "addr":
      if (typeof field !== "string") throw wrongField(place.type, field);
      writeAddress(field, place.size, { into, at });
      return;
    case "inet_proto":
      into[at] = protocolNumber(field);
      if (into.length > 1) into[at + 1] = into[at + 2] = into[at + 3] = 0;
      return;
    case "inet_service": {
      const port = wholeNumber(place.type, field, 0xffff);
      into[at] = port >> 8;
      into[at + 1] = port & 0xff;
      if (into.length > 2) into[at + 2] = into[at + 3] = 0;
      return;
    }
    case "index": {
      const index = wholeNumber(place.type, field, 0xffffffff);
      into[at] = index & 0xff;
      into[at + 1] = (index >>> 8) & 0xff;
      into[at + 2] = (index >>> 16) & 0xff;
      into[at + 3] = index >>> 24;
    }
  }
}

function readField(place: FieldPlace, bytes: Uint8Array): NftField {
  const at = place.offset;
  switch (place.type) {
    case "addr":
      return readAddress(bytes, at, place.size);
    case "inet_proto":
      return protocolName(bytes[at]);
    case "inet_service":
      return (bytes[at] << 8) | bytes[at + 1];
    case "index":
      return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>>
        0;
  }
}

function protocolNumber(field: NftField): number {
  if (field === "tcp" || field === "udp" || field === "sctp") return protocols[field];
  // Foreign elements may hold any other protocol; they are read as its number.
  return wholeNumber("inet_proto", field, 0xff);
}

function protocolName(number: number): NftField {
  if (number === protocols.tcp) return "tcp";
  if (number === protocols.udp) return "udp";
  return number === protocols.sctp ? "sctp" : number;
}

function wholeNumber(type: NftFieldType, field: NftField, max: number): number {
  const number = typeof field === "number" ? field : Number(field);
  if (field === "" || !Number.isInteger(number) || number < 0 || number > max) {
    throw wrongField(type, field);
  }
  return number;
}

function wrongField(type: NftFieldType, field: NftField): RangeError {
  return new RangeError(`Cannot encode "${field}": it is no value of type ${type}`);
}

function wrongCount(fields: readonly NftField[], expected: number): RangeError {
  return new RangeError(
    `Cannot encode "${fields.join(" . ")}": ${expected} fields are expected`,
  );
}

function checkSize(layout: FieldLayout, bytes: Uint8Array): void {
  if (bytes.length === layout.bytes) return;
  throw new RangeError(
    `Cannot decode a key of ${bytes.length} bytes: ${layout.bytes} are expected`,
  );
}
