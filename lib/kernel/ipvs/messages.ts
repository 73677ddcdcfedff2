/**
 * Servers and destinations on the wire. Integers are in host order, ports and masks in network order;
 * an address takes 16 bytes in either family.
 */
import { formatIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { readAttributes, readString, readU16be, readU32 } from "../netlink/attributes.ts";
import type { NetlinkMessage } from "../netlink/messages.ts";
import type { NetlinkRequest } from "../netlink/request.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import type {
  IpvsChange,
  IpvsDestination,
  IpvsDestinationState,
  IpvsEndpoint,
  IpvsForwarding,
  IpvsFrontend,
  IpvsProtocol,
  IpvsServer,
  IpvsTimeouts,
} from "./ipvs.ts";
import {
  CommandAttr,
  DestinationAttr,
  genlHeader,
  IpvsCommand,
  ServiceAttr,
  ServiceFlag,
} from "./wire.ts";

const ADDRESS_BYTES = 16;
const GENL_HEADER_BYTES = 4;
/** Every bit of the flags is meant. */
const WHOLE_MASK = 0xffffffff;

const familyNumbers: Readonly<Record<IpFamily, number>> = { IPv4: 2, IPv6: 10 };
const protocolNumbers: Readonly<Record<IpvsProtocol, number>> = { tcp: 6, udp: 17, sctp: 132 };
/** In the order of their numbers. */
const forwardings: readonly IpvsForwarding[] = [
  "masquerade",
  "local",
  "tunnel",
  "route",
  "bypass",
];

/** A change as a request to the family of this number. */
export function changeRequest(change: IpvsChange, family: number): Omit<NetlinkRequest, "op"> {
  return {
    type: family,
    family: headers[change.kind],
    attributes: (writer) => writeChange(writer, change),
  };
}

/** A start sends thousands of each. */
const headers: Readonly<Record<IpvsChange["kind"], Uint8Array>> = {
  "add-server": genlHeader(IpvsCommand.newService),
  "edit-server": genlHeader(IpvsCommand.setService),
  "delete-server": genlHeader(IpvsCommand.deleteService),
  "add-destination": genlHeader(IpvsCommand.newDestination),
  "edit-destination": genlHeader(IpvsCommand.setDestination),
  "delete-destination": genlHeader(IpvsCommand.deleteDestination),
};

function writeChange(writer: MessageWriter, change: IpvsChange): void {
  const start = writer.beginNested(CommandAttr.service);
  writeFrontendParts(writer, change.server);
  if (change.kind === "add-server" || change.kind === "edit-server") {
    writeSettings(writer, change.server);
  }
  writer.endNested(start);
  if (!("destination" in change)) return;
  const destination = writer.beginNested(CommandAttr.destination);
  writeEndpoint(writer, change.destination, change.server.family);
  if (change.kind !== "delete-destination") writeDestination(writer, change.destination);
  writer.endNested(destination);
}

/** What names a server, in a message about it. */
export function writeFrontend(writer: MessageWriter, frontend: IpvsFrontend): void {
  const start = writer.beginNested(CommandAttr.service);
  writeFrontendParts(writer, frontend);
  writer.endNested(start);
}

function writeFrontendParts(writer: MessageWriter, frontend: IpvsFrontend): void {
  const { address, family, port, protocol } = frontend;
  writer.u16(ServiceAttr.family, familyNumbers[family]);
  writer.u16(ServiceAttr.protocol, protocolNumbers[protocol]);
  writer.raw(ServiceAttr.address, addressBytes(address), ADDRESS_BYTES);
  writer.u16be(ServiceAttr.port, port);
}

function writeSettings(writer: MessageWriter, server: IpvsServer): void {
  const { family, flags, persistencePrefix, persistenceSeconds, scheduler } = server;
  writer.string(ServiceAttr.scheduler, scheduler);
  const bits = flags | (persistenceSeconds === undefined ? 0 : ServiceFlag.persistent);
  writer.raw(
    ServiceAttr.flags,
    new Uint8Array(Uint32Array.of(bits, WHOLE_MASK).buffer),
  );
  writer.u32(ServiceAttr.timeout, persistenceSeconds ?? 0);
  writeNetmask(writer, family, persistencePrefix);
}

/** IPv6 has a length where IPv4 has a mask. */
function writeNetmask(writer: MessageWriter, family: IpFamily, prefix: number | undefined): void {
  if (family === "IPv6") return writer.u32(ServiceAttr.netmask, prefix ?? 128);
  const mask = prefix === undefined ? 0xffffffff : (0xffffffff << (32 - prefix)) >>> 0;
  writer.u32be(ServiceAttr.netmask, mask);
}

function writeEndpoint(
  writer: MessageWriter,
  { address, port }: IpvsEndpoint,
  family: IpFamily,
): void {
  writer.raw(DestinationAttr.address, addressBytes(address), ADDRESS_BYTES);
  writer.u16be(DestinationAttr.port, port);
  writer.u16(DestinationAttr.family, familyNumbers[family]);
}

function writeDestination(writer: MessageWriter, { forwarding, weight }: IpvsDestination): void {
  writer.u32(DestinationAttr.forwarding, forwardings.indexOf(forwarding));
  writer.u32(DestinationAttr.weight, weight);
  writer.u32(DestinationAttr.upperThreshold, 0);
  writer.u32(DestinationAttr.lowerThreshold, 0);
}

/** Whether a dump's server is one by firewall mark. */
export function isMarkServer({ payload }: NetlinkMessage): boolean {
  return serverAttributes(payload).has(ServiceAttr.mark);
}

/** A server of a dump; undefined for one by firewall mark, of protocols that are not ours, and of the other family where one is asked for. */
export function readServer(
  { payload }: NetlinkMessage,
  only?: IpFamily,
): IpvsServer | undefined {
  const attributes = serverAttributes(payload);
  const family = keyOf(familyNumbers, u16Of(attributes.get(ServiceAttr.family)));
  if (only !== undefined && family !== only) return undefined;
  const protocol = keyOf(protocolNumbers, u16Of(attributes.get(ServiceAttr.protocol)));
  const address = attributes.get(ServiceAttr.address);
  const port = attributes.get(ServiceAttr.port);
  const scheduler = attributes.get(ServiceAttr.scheduler);
  const flags = attributes.get(ServiceAttr.flags);
  if (!family || !protocol || !address || !port || !scheduler || !flags) return undefined;
  const bits = readU32(flags);
  const timeout = attributes.get(ServiceAttr.timeout);
  const prefix = prefixOf(attributes.get(ServiceAttr.netmask), family);
  const isPersistent = (bits & ServiceFlag.persistent) !== 0;
  return {
    family,
    protocol,
    address: formatIp(address.subarray(0, family === "IPv4" ? 4 : ADDRESS_BYTES)),
    port: readU16be(port),
    scheduler: readString(scheduler),
    flags: (bits & ~(ServiceFlag.persistent | ServiceFlag.hashed)) >>> 0,
    ...(isPersistent && { persistenceSeconds: timeout ? readU32(timeout) : 0 }),
    ...(prefix !== undefined && { persistencePrefix: prefix }),
  };
}

function serverAttributes(payload: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const message = readAttributes(payload.subarray(GENL_HEADER_BYTES));
  return readAttributes(message.get(CommandAttr.service) ?? new Uint8Array());
}

/** A destination of a dump; undefined for one without the parts that every destination has. */
export function readDestination({ payload }: NetlinkMessage): IpvsDestinationState | undefined {
  const message = readAttributes(payload.subarray(GENL_HEADER_BYTES));
  const attributes = readAttributes(message.get(CommandAttr.destination) ?? new Uint8Array());
  const address = attributes.get(DestinationAttr.address);
  const port = attributes.get(DestinationAttr.port);
  // Destinations of the other family are reached by tunnels.
  const isV4 = u16Of(attributes.get(DestinationAttr.family)) === familyNumbers.IPv4;
  const number = (type: number) => {
    const value = attributes.get(type);
    return value ? readU32(value) : 0;
  };
  const forwarding = forwardings[number(DestinationAttr.forwarding)];
  if (!address || !port || !forwarding) return undefined;
  return {
    address: formatIp(address.subarray(0, isV4 ? 4 : ADDRESS_BYTES)),
    port: readU16be(port),
    forwarding,
    weight: number(DestinationAttr.weight) | 0,
    activeConnections: number(DestinationAttr.active),
    inactiveConnections: number(DestinationAttr.inactive),
  };
}

/** The timeouts of an answer. */
export function readTimeouts({ payload }: NetlinkMessage): IpvsTimeouts {
  const attributes = readAttributes(payload.subarray(GENL_HEADER_BYTES));
  const seconds = (type: number) => {
    const value = attributes.get(type);
    return value ? readU32(value) : 0;
  };
  return {
    tcp: seconds(CommandAttr.timeoutTcp),
    tcpFin: seconds(CommandAttr.timeoutTcpFin),
    udp: seconds(CommandAttr.timeoutUdp),
  };
}

/** Timeouts in a request; 0 leaves what is. */
export function writeTimeouts(writer: MessageWriter, timeouts: Partial<IpvsTimeouts>): void {
  writer.u32(CommandAttr.timeoutTcp, timeouts.tcp ?? 0);
  writer.u32(CommandAttr.timeoutTcpFin, timeouts.tcpFin ?? 0);
  writer.u32(CommandAttr.timeoutUdp, timeouts.udp ?? 0);
}

/** Undefined for single clients, and for a mask with a hole, which nobody makes. */
function prefixOf(netmask: Uint8Array | undefined, family: IpFamily): number | undefined {
  if (!netmask) return undefined;
  const length = family === "IPv6"
    ? readU32(netmask)
    : Math.clz32(~new DataView(netmask.buffer, netmask.byteOffset).getUint32(0));
  return length === (family === "IPv6" ? 128 : 32) ? undefined : length;
}

function keyOf<K extends string>(numbers: Readonly<Record<K, number>>, number: number | undefined) {
  for (const key in numbers) if (numbers[key] === number) return key;
  return undefined;
}

function u16Of(value: Uint8Array | undefined): number | undefined {
  return value && value.length >= 2 ? value[0] | (value[1] << 8) : undefined;
}

function addressBytes(text: string): Uint8Array {
  const bytes = parseIp(text);
  if (!bytes) throw new TypeError(`Cannot use "${text}" in an IPVS request: no IP address`);
  return bytes;
}
