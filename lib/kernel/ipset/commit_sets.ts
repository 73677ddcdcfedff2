/**
 * Changes of sets, one after the other. Many members go in one message, which ends at the first that is
 * refused: what stood before it stays, and the rest is sent again without it.
 */
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import { Errno } from "../errno.ts";
import { NetlinkError } from "../netlink/errors.ts";
import { MessageFlag, MessageType, readAnswer, readMessages } from "../netlink/messages.ts";
import { type NetlinkRequest, transact } from "../netlink/request.ts";
import type { NetlinkSocket } from "../netlink/socket.ts";
import { MessageWriter } from "../netlink/writer.ts";
import {
  describeIpsetChange,
  IpsetErrno,
  ipsetRefusalOf,
  ipsetSentence,
  kindOfInfo,
  kindOfSet,
  otherSetSentence,
} from "./errors.ts";
import type { IpsetChange, IpsetDefinition, IpsetFailure } from "./ipset.ts";
import { type IpsetMember, parseMember } from "./member.ts";
import {
  MEMBER_BYTES,
  readInfo,
  readNewestRevision,
  readRefusedLine,
  setHeader,
  writeMember,
  writeName,
  writeSet,
  writeType,
} from "./messages.ts";
import { SetAttr, SetMessage } from "./wire.ts";

/** The newest revision of each type whose meaning the program knows; older ones mean the same to it. */
const knownRevisions: Readonly<Record<IpsetDefinition["type"], number>> = {
  "bitmap:port": 3,
  "hash:ip": 6,
  "hash:ip,port": 7,
  "hash:ip,port,ip": 6,
  "hash:ip,port,net": 8,
};

/** A list of members has a length of 16 bits. */
const LIST_BYTES = 0xffff - MEMBER_BYTES;

type Failure = Omit<IpsetFailure, "change">;
type Create = Extract<IpsetChange, { kind: "create" }>;
type ChangeMembers = Extract<IpsetChange, { members: readonly string[] }>;

/** Makes the changes; what was refused. */
export async function commitSets(
  socket: NetlinkSocket,
  changes: readonly IpsetChange[],
  signal: AbortSignal | undefined,
): Promise<readonly IpsetFailure[]> {
  const failures: IpsetFailure[] = [];
  for (const [index, change] of changes.entries()) {
    signal?.throwIfAborted();
    const refused = "members" in change
      ? await changeMembers(socket, change, signal)
      : changeSet(socket, change);
    for (const failure of refused) failures.push({ change: index, ...failure });
  }
  return failures;
}

function changeSet(
  socket: NetlinkSocket,
  change: Exclude<IpsetChange, ChangeMembers>,
): readonly Failure[] {
  if (change.kind === "create") return create(socket, change);
  const isDestroy = change.kind === "destroy";
  const errno = ask(socket, {
    type: isDestroy ? SetMessage.destroy : SetMessage.flush,
    attributes: (writer) => writeName(writer, change.name),
  });
  // Some kernels say so of a set that is gone, others do not.
  return isDestroy && errno === Errno.ENOENT ? [] : refusalsOf(change, errno);
}

/** What is there and is the same is fine: we compare type and family, the kernel all other settings. */
function create(socket: NetlinkSocket, change: Create): readonly Failure[] {
  const { set } = change;
  const found = kindOf(socket, set.name);
  const wanted = kindOfSet(set);
  if (found !== undefined && found !== wanted) return [otherSet(change, found)];
  let revision = 0;
  const unknown = ask(socket, {
    type: SetMessage.type,
    attributes: (writer) => writeType(writer, set),
  }, (message) => {
    revision = Math.min(readNewestRevision(message), knownRevisions[set.type]);
  });
  if (unknown !== 0) {
    // What the kernel says of a type that it neither has nor can load.
    return refusalsOf(change, unknown === Errno.EEXIST ? IpsetErrno.findType : unknown);
  }
  const errno = ask(socket, {
    type: SetMessage.create,
    flags: MessageFlag.create,
    attributes: (writer) => writeSet(writer, set, revision),
  });
  if (errno !== Errno.EEXIST) return refusalsOf(change, errno);
  return [otherSet(change, `${wanted} with other settings`)];
}

function otherSet(change: Create, found: string): Failure {
  return { refusal: "other-set", message: otherSetSentence(change, found) };
}

/** What the set of this name is; undefined: there is none. */
function kindOf(socket: NetlinkSocket, name: string): string | undefined {
  let kind: string | undefined;
  ask(socket, {
    type: SetMessage.header,
    attributes: (writer) => writeName(writer, name),
  }, (message) => {
    const info = readInfo(message);
    if (info) kind = kindOfInfo(info);
  });
  return kind;
}

async function changeMembers(
  socket: NetlinkSocket,
  change: ChangeMembers,
  signal: AbortSignal | undefined,
): Promise<readonly Failure[]> {
  const members = change.members.map((text) => parseMember(text, change.set));
  const failures: Failure[] = [];
  for (let from = 0; from < members.length;) {
    signal?.throwIfAborted();
    if (from > 0) await turnOfTheEventLoop();
    const { at, errno, until } = sendMembers(socket, change, { members, from });
    if (errno === 0) {
      from = until;
      continue;
    }
    // It may be about none of them: no such set.
    if (at === undefined) return [...failures, ...refusalsOf(change, errno)];
    failures.push(...refusalsOf(change, errno, change.members[at]));
    from = at + 1;
    // Hardly one of those behind it has room, and none of them has a right to it.
    const isFull = ipsetRefusalOf(errno, change) === "full";
    for (; isFull && from < members.length; from++) {
      failures.push(...refusalsOf(change, errno, change.members[from]));
    }
  }
  return failures;
}

/** What became of a message of members. */
interface Sent {
  readonly errno: number;
  /** The index behind the last one in the message. */
  readonly until: number;
  /** The index of the refused one. */
  readonly at?: number;
}

/** One message of as many members as it takes, from one on. */
function sendMembers(
  socket: NetlinkSocket,
  change: ChangeMembers,
  { from, members }: { readonly members: readonly IpsetMember[]; readonly from: number },
): Sent {
  const op = describeIpsetChange(change);
  const sequence = socket.nextSequence();
  const writer = new MessageWriter();
  writer.begin({
    type: change.kind === "add-members" ? SetMessage.add : SetMessage.delete,
    flags: MessageFlag.request | MessageFlag.ack,
    sequence,
  }, setHeader());
  writeName(writer, change.set.name);
  // The kernel puts the number of a refused line here.
  writer.u32(SetAttr.line, NO_LINE);
  const list = writer.beginNested(SetAttr.members);
  let until = from;
  for (; until < members.length && writer.length - list < LIST_BYTES; until++) {
    writeMember(writer, members[until], until + 1);
  }
  writer.endNested(list);
  writer.end();
  socket.send(writer.bytes(), op);
  for (;;) {
    for (const message of readMessages(socket.receive(op))) {
      if (message.sequence !== sequence || message.type !== MessageType.error) continue;
      const { errno } = readAnswer(message);
      if (isOfSocket(errno)) throw new NetlinkError({ op, errno });
      const at = errno === 0 ? NO_LINE : (readRefusedLine(message) ?? NO_LINE) - 1;
      return { errno, until, ...(at >= from && at < until && { at }) };
    }
  }
}

/** Lines are counted from 1: the kernel takes 0 for none. */
const NO_LINE = 0;

function refusalsOf(change: IpsetChange, errno: number, member?: string): readonly Failure[] {
  if (errno === 0) return [];
  return [{
    ...(member !== undefined && { member }),
    refusal: ipsetRefusalOf(errno, change),
    message: ipsetSentence(change, errno, member),
  }];
}

/** One request; the error number, or 0. */
function ask(
  socket: NetlinkSocket,
  request: Pick<NetlinkRequest, "type" | "flags" | "attributes">,
  read: (message: ReturnType<typeof transact>[number]) => void = () => {},
): number {
  try {
    for (
      const message of transact(socket, { op: "change sets", family: setHeader(), ...request })
    ) {
      read(message);
    }
    return 0;
  } catch (error) {
    if (error instanceof NetlinkError && !isOfSocket(error.errno)) return error.errno;
    throw error;
  }
}

/** Says nothing of a change: no other one would fare better. */
function isOfSocket(errno: number): boolean {
  return errno === Errno.EPERM || errno === Errno.EAGAIN || errno === Errno.ENOBUFS ||
    errno === Errno.EMSGSIZE;
}
