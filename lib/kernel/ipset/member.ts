/** Members of sets as their parts: the kernel takes parts, people read text. */
import { cidrOf, formatIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { IpsetDefinition, IpsetType } from "./ipset.ts";

/** What a member is made of; which parts there are belongs to the type. */
export interface IpsetMember {
  readonly address?: Uint8Array;
  readonly protocol?: number;
  readonly port?: number;
  readonly second?: Uint8Array;
  /** Of `hash:ip,port,net`. */
  readonly prefixLength?: number;
}

/** The types with what their members are made of. */
const partsOf: Readonly<Record<IpsetType, number>> = {
  "bitmap:port": 1,
  "hash:ip": 1,
  "hash:ip,port": 2,
  "hash:ip,port,ip": 3,
  "hash:ip,port,net": 3,
};

const protocolNumbers: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };
const protocolNames: ReadonlyMap<number, string> = new Map(
  Object.entries(protocolNumbers).map(([name, number]) => [number, name]),
);

/** Whether the program makes sets of this type, so that their members can be read. */
export function isKnownType(type: string): type is IpsetType {
  return Object.hasOwn(partsOf, type);
}

/** The parts of a text. Throws `TypeError` for one that is no canonical member of such a set. */
export function parseMember(text: string, set: IpsetDefinition): IpsetMember {
  const member = partsIn(text, set);
  if (member && memberText(member, set.type) === text) return member;
  throw new TypeError(`Cannot use "${text}" as a member of set "${set.name}" (${set.type})`);
}

/** The canonical text of the parts, as the tool prints it. */
export function memberText(member: IpsetMember, type: IpsetType): string {
  const { address, port = 0, second } = member;
  if (type === "bitmap:port") return String(port);
  const first = address ? formatIp(address) : "";
  if (type === "hash:ip") return first;
  const protocol = member.protocol ?? 0;
  const two = `${first},${protocolNames.get(protocol) ?? protocol}:${port}`;
  if (type === "hash:ip,port") return two;
  const last = second ? formatIp(second) : "";
  const whole = (second?.length ?? 0) * 8;
  const { prefixLength = whole } = member;
  return `${two},${last}${prefixLength === whole ? "" : `/${prefixLength}`}`;
}

function partsIn(text: string, set: IpsetDefinition): IpsetMember | undefined {
  const words = text.split(",");
  if (words.length !== partsOf[set.type]) return undefined;
  if (set.type === "bitmap:port") {
    const port = portOf(text);
    return port === undefined ? undefined : { port };
  }
  const address = addressOf(words[0], set.family);
  if (!address || set.type === "hash:ip") return address && { address };
  const [name, portText = ""] = words[1].split(":");
  const port = portOf(portText);
  const protocol = protocolNumbers[name];
  if (port === undefined || protocol === undefined) return undefined;
  if (set.type === "hash:ip,port") return { address, protocol, port };
  const [lastText, length] = words[2].split("/");
  const second = addressOf(lastText, set.family);
  if (!second) return undefined;
  if (set.type === "hash:ip,port,ip") {
    return length === undefined ? { address, protocol, port, second } : undefined;
  }
  const prefixLength = length === undefined ? second.length * 8 : Number(length);
  if (!(prefixLength >= 0 && prefixLength <= second.length * 8)) return undefined;
  const { network } = cidrOf(second, prefixLength);
  return { address, protocol, port, second: network, prefixLength };
}

function addressOf(text: string, family: IpFamily): Uint8Array | undefined {
  const bytes = parseIp(text);
  return bytes?.length === (family === "IPv4" ? 4 : 16) ? bytes : undefined;
}

function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}
