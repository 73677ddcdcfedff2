/** What the kernel's refusals of ipset changes mean: those of ipset's own begin at 4096. */
import { causeText } from "../netlink/errors.ts";
import { Errno } from "../errno.ts";
import {
  type IpsetChange,
  type IpsetDefinition,
  type IpsetInfo,
  type IpsetRefusal,
  MAX_MEMBERS,
} from "./ipset.ts";

/** Error numbers of ipset that mean something to us. */
export const IpsetErrno = {
  findType: 4098,
  busy: 4100,
  invalidLength: 4104,
  referenced: 4108,
  /** From here on each type has its own. */
  hashFull: 4352,
  bitmapRange: 4352,
  hashElement: 4353,
} as const;

/** The tool's sentences for the numbers that every type has. */
const words: ReadonlyMap<number, string> = new Map([
  [4097, "the kernel does not understand the message"],
  [IpsetErrno.findType, "the kernel has no sets of this type"],
  [4099, "there are as many sets as the kernel allows"],
  [IpsetErrno.busy, "the set is in use"],
  [4101, "a set of the new name exists already"],
  [4102, "the two sets are of different types"],
  [4103, "the member is there already, or not there"],
  [IpsetErrno.invalidLength, "the prefix length is out of range"],
  [4105, "the netmask is out of range"],
  [4106, "the family is not one of this type"],
  [4107, "the set has no timeouts"],
  [IpsetErrno.referenced, "something refers to the set"],
  [4109, "an IPv4 address is needed here"],
  [4110, "an IPv6 address is needed here"],
  [4111, "the set has no counters"],
  [4112, "the set has no comments"],
  [4113, "the mark's mask is out of range"],
  [4114, "the set has no packet marks"],
]);

/** The same number means another thing in each kind of sets. */
const hashWords: ReadonlyMap<number, string> = new Map([
  [IpsetErrno.hashFull, `the set is full with ${MAX_MEMBERS} members`],
  [IpsetErrno.hashElement, "the kernel takes no member that is all zeros"],
  [4354, "the protocol is not one with ports"],
  [4355, "a member of this type names a protocol"],
  [4356, "this type takes no range"],
  [4357, "the range is too large"],
]);
const bitmapWords: ReadonlyMap<number, string> = new Map([
  [IpsetErrno.bitmapRange, "the port is outside the range of the set"],
  [4353, "the range is too large"],
]);

/** The kernel's number in words, with the number to search for. */
function describeIpsetErrno(errno: number, type?: string): string {
  if (errno < 4096) return causeText(errno);
  const own = type?.startsWith("bitmap:") ? bitmapWords : hashWords;
  const text = words.get(errno) ?? own.get(errno) ?? "the kernel refuses it";
  return `${text} (ipset error ${errno})`;
}

/** What a refusal of this number means. */
export function ipsetRefusalOf(errno: number, change: IpsetChange): IpsetRefusal {
  switch (errno) {
    case Errno.ENOENT:
      return "no-set";
    case Errno.EEXIST:
      return change.kind === "create" ? "other-set" : "other";
    case IpsetErrno.findType:
      return "no-type";
    case IpsetErrno.busy:
    case IpsetErrno.referenced:
      return "busy";
    case IpsetErrno.hashFull:
      return isOfBitmap(change) ? "other" : "full";
    default:
      return "other";
  }
}

/** The whole sentence about a change, or about one member of it. */
export function ipsetSentence(change: IpsetChange, errno: number, member?: string): string {
  const type = "set" in change ? change.set.type : undefined;
  const cause = describeIpsetErrno(errno, type);
  if (change.kind === "create" && errno === IpsetErrno.findType) {
    const module = `ip_set_${
      change.set.type.replaceAll(/[:,]/g, (sign) => sign === ":" ? "_" : "")
    }`;
    return `Cannot ${describeIpsetChange(change)}: ${cause}; run "modprobe ${module}" on the node`;
  }
  return `Cannot ${describeIpsetChange(change, member)}: ${cause}`;
}

/** The sentence about a set of our name that is something else. */
export function otherSetSentence(
  change: Extract<IpsetChange, { kind: "create" }>,
  found: string,
): string {
  const { name } = change.set;
  return `Cannot ${describeIpsetChange(change)}: a set of that name is "${found}"; ` +
    `destroy or rename that one ("ipset destroy ${name}"), which is not this program's`;
}

/** `hash:ip,port family inet`: what tells one kind of sets from another, as the tool says it. */
export function kindOfSet(set: IpsetDefinition): string {
  return kindOfInfo({ family: undefined, ...set });
}

/** The same of a set that is there, whoever made it. */
export function kindOfInfo({ family, type }: Pick<IpsetInfo, "family" | "type">): string {
  return family === undefined ? type : `${type} family ${family === "IPv4" ? "inet" : "inet6"}`;
}

/** Completes "Cannot …". */
export function describeIpsetChange(change: IpsetChange, member?: string): string {
  switch (change.kind) {
    case "create":
      return `create set "${change.set.name}" of type "${kindOfSet(change.set)}"`;
    case "destroy":
      return `destroy set "${change.name}"`;
    case "flush":
      return `empty set "${change.name}"`;
    case "add-members":
      return member === undefined
        ? `add members to set "${change.set.name}"`
        : `add "${member}" to set "${change.set.name}"`;
    case "delete-members":
      return member === undefined
        ? `delete members of set "${change.set.name}"`
        : `delete "${member}" from set "${change.set.name}"`;
  }
}

function isOfBitmap(change: IpsetChange): boolean {
  return "set" in change && change.set.type === "bitmap:port";
}
