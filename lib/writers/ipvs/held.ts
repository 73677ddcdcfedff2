/**
 * What the kernel holds of ours, in one family, but for the rules. It is read from the kernel as a
 * whole, and then follows what is written.
 */
import { type Cidr, cidrContains, parseCidr, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Ipset, IpsetDefinition, IpsetInfo } from "../../kernel/ipset/ipset.ts";
import type { Ipvs, IpvsDestination, IpvsFrontend, IpvsServer } from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { Link, Links } from "../../kernel/links/links.ts";
import { endpointKey } from "./contribution.ts";
import { linkName, setOf, type SetRole, setRoles } from "./names.ts";

/** The parts of a kernel that hold it. */
export interface IpvsKernel {
  readonly ipvs: Ipvs;
  readonly ipset: Ipset;
  readonly links: Links;
}

/** A server with its destinations, by their address and port. */
export interface HeldServer {
  server: IpvsServer;
  readonly destinations: Map<string, IpvsDestination>;
}

/** What is there; the maps follow what is written. */
export interface Held {
  link: Link | undefined;
  /** Ours, by their text. */
  readonly servers: Map<string, HeldServer>;
  /** Of the link. */
  readonly addresses: Set<string>;
  /** Members of our sets; a set that is not there is not in it. */
  readonly sets: Map<SetRole, Set<string>>;
  /** Addresses that other links have. */
  readonly otherLinksHave: ReadonlySet<string>;
  /** Servers that somebody else made, and that we shall have. */
  readonly takenOver: readonly string[];
}

/** What is ours beyond what can be seen. */
export interface ReadOptions {
  readonly family: IpFamily;
  /** Servers in these ranges belong to somebody else. */
  readonly excluded: readonly string[];
  /** Whether we shall have a server, or had it, by its text. */
  readonly isKnown: (name: string) => boolean;
}

const fe80 = rangesOf(["fe80::/10"]);

/** Addresses of one family that other links have, and those that ours has. */
export function readAddresses(
  { links }: Pick<IpvsKernel, "links">,
  family: IpFamily,
): { readonly own: ReadonlySet<string>; readonly others: ReadonlySet<string> } {
  const own = new Set<string>();
  const others = new Set<string>();
  for (const { ip, linkName: name } of links.addresses(family)) {
    // The kernel makes these by itself for each link that is up.
    if (name === linkName && !isWithin(ip, fe80)) own.add(ip);
    else if (name !== linkName) others.add(ip);
  }
  return { own, others };
}

/** Reads everything; throws one sentence where a set of ours is another one. */
export function readHeld(kernel: IpvsKernel, options: ReadOptions): Held {
  const { ipvs, links } = kernel;
  const { family } = options;
  const { own, others } = readAddresses(kernel, family);
  const sets = readSets(kernel.ipset, family);
  const excluded = rangesOf(options.excluded);
  const isOurs = ownership({ own, others, sets });
  const servers = new Map<string, HeldServer>();
  const takenOver: string[] = [];
  for (const { destinations, server } of ipvs.read(family)) {
    const name = frontendText(server);
    const isKnown = options.isKnown(name);
    const isOwn = isOurs(server);
    if (!isKnown && (!isOwn || isWithin(server.address, excluded))) continue;
    if (isKnown && !isOwn) takenOver.push(name);
    servers.set(name, {
      server,
      destinations: new Map(destinations.map((each) => [endpointKey(each), each])),
    });
  }
  return {
    link: links.find(linkName),
    servers,
    addresses: new Set(own),
    sets,
    otherLinksHave: others,
    takenOver,
  };
}

/** What a server is recognised by. */
export interface Marks {
  /** Addresses of our link, and of all others. */
  readonly own: ReadonlySet<string>;
  readonly others: ReadonlySet<string>;
  readonly sets: ReadonlyMap<SetRole, ReadonlySet<string>>;
}

/**
 * Whether a server is a proxy's: its address is on the link, our sets name it, or it is at an address of
 * this machine with a port that they name. Everybody else's have other addresses, or other ports.
 */
export function ownership({ others, own, sets }: Marks): (server: IpvsFrontend) => boolean {
  const isNamed = ({ member, role }: SetMember) => sets.get(role)?.has(member) ?? false;
  return (server) =>
    own.has(server.address) || frontendMembers(server).some(isNamed) ||
    (others.has(server.address) && isNamed(nodePortMember(server)));
}

/** Something in one of our sets. */
interface SetMember {
  readonly role: SetRole;
  readonly member: string;
}

/** What a server is known by in our sets, also to another process. */
export function membersNaming(server: IpvsFrontend): readonly SetMember[] {
  return [...frontendMembers(server), nodePortMember(server)];
}

const frontendRoles = ["clusterIP", "externalIP", "externalIPLocal", "loadBalancer"] as const;

function frontendMembers({ address, port, protocol }: IpvsFrontend): readonly SetMember[] {
  return frontendRoles.map((role) => ({ role, member: `${address},${protocol}:${port}` }));
}

function nodePortMember({ address, port, protocol }: IpvsFrontend): SetMember {
  switch (protocol) {
    case "tcp":
      return { role: "nodePortTCP", member: String(port) };
    case "udp":
      return { role: "nodePortUDP", member: String(port) };
    case "sctp":
      return { role: "nodePortSCTP", member: `${address},${protocol}:${port}` };
  }
}

/** The sets of the family that are there; throws where one is another one. */
function readSets(ipset: Ipset, family: IpFamily): Map<SetRole, Set<string>> {
  const there = new Map(ipset.list().map((info) => [info.name, info]));
  const sets = new Map<SetRole, Set<string>>();
  for (const role of setRoles) {
    const definition = setOf(role, family);
    const info = there.get(definition.name);
    if (!info) continue;
    requireSame(info, definition);
    const members = ipset.members(definition.name);
    if (members) sets.set(role, new Set(members));
  }
  return sets;
}

function requireSame(info: IpsetInfo, wanted: IpsetDefinition): void {
  const isSame = info.type === wanted.type && info.family === familyOf(wanted);
  if (isSame) return;
  throw new Error(
    `Cannot use the set "${wanted.name}": it is a ${describe(info.type, info.family)} and ipvs ` +
      `mode needs a ${describe(wanted.type, familyOf(wanted))}; remove what uses it, then ` +
      `"ipset destroy ${wanted.name}"`,
  );
}

function familyOf(set: IpsetDefinition): IpFamily | undefined {
  return set.type === "bitmap:port" ? undefined : set.family;
}

function describe(type: string, family: IpFamily | undefined): string {
  return family === undefined ? type : `${type} of ${family}`;
}

/** The ranges of a configuration, which has checked them. */
export function rangesOf(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}

/** Whether any of the ranges holds the address. */
export function isWithin(ip: string, ranges: readonly Cidr[]): boolean {
  const bytes = parseIp(ip);
  return bytes !== undefined && ranges.some((range) => cidrContains(range, bytes));
}
