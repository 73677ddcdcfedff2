/**
 * Sets and members on the wire: nfgenmsg { u8 family, u8 version, u16be resource }, then attributes, all
 * integers in network order and marked as such, but for line numbers.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import {
  forEachAttribute,
  readAttributes,
  readString,
  readU16be,
  readU32,
  readU32be,
  readU8,
} from "../netlink/attributes.ts";
import type { NetlinkMessage } from "../netlink/messages.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import { HASH_SIZE, type IpsetDefinition, type IpsetInfo, MAX_MEMBERS } from "./ipset.ts";
import { type IpsetMember, isKnownType, memberText } from "./member.ts";
import {
  AddressAttr,
  DataAttr,
  GENMSG_BYTES,
  LIST_HEADERS,
  NET_ORDER,
  PROTOCOL,
  SetAttr,
  SetFamily,
} from "./wire.ts";

/** The header behind nlmsghdr. */
export function setHeader(): Uint8Array {
  return new Uint8Array(GENMSG_BYTES);
}

/** What each message begins with. */
export function writeName(writer: MessageWriter, name: string): void {
  writer.u8(SetAttr.protocol, PROTOCOL);
  writer.string(SetAttr.name, name);
}

/** A question about the set that rules hold by this number. */
export function writeIndex(writer: MessageWriter, index: number): void {
  writer.u8(SetAttr.protocol, PROTOCOL);
  writer.u16be(SetAttr.index | NET_ORDER, index);
}

/** A question about a type of sets. */
export function writeType(writer: MessageWriter, set: IpsetDefinition): void {
  writer.u8(SetAttr.protocol, PROTOCOL);
  writer.string(SetAttr.type, set.type);
  writer.u8(SetAttr.family, familyNumber(set));
}

/** A question about sets without their members: of all, or of one. */
export function writeHeadersOnly(writer: MessageWriter): void {
  writer.u8(SetAttr.protocol, PROTOCOL);
  writer.u32be(SetAttr.flags | NET_ORDER, LIST_HEADERS);
}

/** A new set. */
export function writeSet(writer: MessageWriter, set: IpsetDefinition, revision: number): void {
  writeName(writer, set.name);
  writer.string(SetAttr.type, set.type);
  writer.u8(SetAttr.revision, revision);
  writer.u8(SetAttr.family, familyNumber(set));
  const data = writer.beginNested(SetAttr.data);
  if (set.type === "bitmap:port") {
    writer.u16be(DataAttr.firstPort | NET_ORDER, 0);
    writer.u16be(DataAttr.lastPort | NET_ORDER, 65_535);
  } else {
    writer.u32be(DataAttr.hashSize | NET_ORDER, HASH_SIZE);
    writer.u32be(DataAttr.maxElements | NET_ORDER, MAX_MEMBERS);
  }
  writer.endNested(data);
}

/** One member of a list of members; `line` tells it from the others in a refusal. */
export function writeMember(writer: MessageWriter, member: IpsetMember, line: number): void {
  const data = writer.beginNested(SetAttr.data);
  if (member.address) writeAddress(writer, DataAttr.address, member.address);
  if (member.port !== undefined) writer.u16be(DataAttr.firstPort | NET_ORDER, member.port);
  if (member.protocol !== undefined) writer.u8(DataAttr.protocol, member.protocol);
  if (member.second) writeAddress(writer, DataAttr.second, member.second);
  if (member.prefixLength !== undefined) writer.u8(DataAttr.secondLength, member.prefixLength);
  writer.u32(DataAttr.line, line);
  writer.endNested(data);
}

/** How many bytes `writeMember` takes at most. */
export const MEMBER_BYTES = 84;

/** The newest revision that the kernel has of a type. */
export function readNewestRevision({ payload }: NetlinkMessage): number {
  const revision = readAttributes(payload.subarray(GENMSG_BYTES)).get(SetAttr.revision);
  return revision ? readU8(revision) : 0;
}

/** A set of a list of sets, without its members. */
export function readInfo({ payload }: NetlinkMessage): IpsetInfo | undefined {
  const attributes = readAttributes(payload.subarray(GENMSG_BYTES));
  const name = attributes.get(SetAttr.name);
  const type = attributes.get(SetAttr.type);
  // A set that takes several messages tells its type in the first one.
  if (!name || !type) return undefined;
  const data = readAttributes(attributes.get(SetAttr.data) ?? new Uint8Array());
  const number = (attribute: number) => {
    const value = data.get(attribute);
    return value ? readU32be(value) : 0;
  };
  return {
    name: readString(name),
    type: readString(type),
    family: familyOf(attributes.get(SetAttr.family)),
    memberCount: number(DataAttr.elements),
    references: number(DataAttr.references),
  };
}

/** Members that a message of a list brings: of which set, and of which type if it says so. */
export interface ListedMembers {
  readonly type: string | undefined;
  readonly members: readonly IpsetMember[];
}

/** Reads a part of a set's list. */
export function readMembers({ payload }: NetlinkMessage): ListedMembers {
  const attributes = readAttributes(payload.subarray(GENMSG_BYTES));
  const type = attributes.get(SetAttr.type);
  const members: IpsetMember[] = [];
  forEachAttribute(attributes.get(SetAttr.members) ?? new Uint8Array(), (kind, value) => {
    if (kind === SetAttr.data) members.push(readMember(value));
  });
  return { type: type && readString(type), members };
}

/** The text of a listed member. Throws `RangeError` for a type whose members the program cannot read. */
export function listedText(member: IpsetMember, set: { name: string; type: string }): string {
  if (isKnownType(set.type)) return memberText(member, set.type);
  throw new RangeError(`Cannot read set "${set.name}": its type is "${set.type}"`);
}

/** The number of an answer to `byName`, and the name of one to `byIndex`. */
export function readIndexAnswer(
  { payload }: NetlinkMessage,
): { readonly index?: number; readonly name?: string } {
  const attributes = readAttributes(payload.subarray(GENMSG_BYTES));
  const index = attributes.get(SetAttr.index);
  const name = attributes.get(SetAttr.name);
  return {
    ...(index && { index: readU16be(index) }),
    ...(name && { name: readString(name) }),
  };
}

/** The line that a refusal names: the kernel writes it into the copy of our message that it sends back. */
export function readRefusedLine({ payload }: NetlinkMessage): number | undefined {
  // The error number, the header of our message, and what follows that.
  const line = readAttributes(payload.subarray(4 + 16 + GENMSG_BYTES)).get(SetAttr.line);
  return line && readU32(line);
}

function readMember(bytes: Uint8Array): IpsetMember {
  const attributes = readAttributes(bytes);
  const address = attributes.get(DataAttr.address);
  const port = attributes.get(DataAttr.firstPort);
  const protocol = attributes.get(DataAttr.protocol);
  const second = attributes.get(DataAttr.second);
  const length = attributes.get(DataAttr.secondLength);
  return {
    ...(address && { address: readAddress(address) }),
    ...(protocol && { protocol: readU8(protocol) }),
    ...(port && { port: readU16be(port) }),
    ...(second && { second: readAddress(second) }),
    ...(length && { prefixLength: readU8(length) }),
  };
}

function writeAddress(writer: MessageWriter, type: number, bytes: Uint8Array): void {
  const start = writer.beginNested(type);
  writer.raw(AddressAttr[bytes.length === 4 ? "IPv4" : "IPv6"] | NET_ORDER, bytes);
  writer.endNested(start);
}

function readAddress(nested: Uint8Array): Uint8Array {
  const attributes = readAttributes(nested);
  const v4 = attributes.get(AddressAttr.IPv4);
  return v4 ? v4.subarray(0, 4) : attributes.get(AddressAttr.IPv6)?.subarray(0, 16) ??
    new Uint8Array(16);
}

function familyNumber(set: IpsetDefinition): number {
  return set.type === "bitmap:port" ? SetFamily.none : SetFamily[set.family];
}

function familyOf(value: Uint8Array | undefined): IpFamily | undefined {
  const number = value && readU8(value);
  return number === SetFamily.IPv4 ? "IPv4" : number === SetFamily.IPv6 ? "IPv6" : undefined;
}
