/**
 * Sets by netfilter netlink. Each call opens a socket of its own: calls are rare. Any question loads the
 * module, so whoever only reads looks at `/sys` first.
 */
import { Errno } from "../errno.ts";
import type { KernelFiles } from "../kernel_files.ts";
import { KernelModuleError } from "../modules.ts";
import { hasErrno } from "../netlink/errors.ts";
import type { NetlinkMessage } from "../netlink/messages.ts";
import { dump, transact } from "../netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import { commitSets } from "./commit_sets.ts";
import type { Ipset, IpsetChange, IpsetFailure, IpsetInfo } from "./ipset.ts";
import {
  listedText,
  readIndexAnswer,
  readInfo,
  readMembers,
  setHeader,
  writeHeadersOnly,
  writeIndex,
  writeName,
} from "./messages.ts";
import { SetMessage } from "./wire.ts";

const MODULE = "ip_set";
/** A parameter of the module: it is there where the module is, built in or loaded. */
const PRESENCE = "/sys/module/ip_set/parameters/max_sets";

/** The real sets. */
export class NetlinkIpset implements Ipset {
  readonly #files: Pick<KernelFiles, "read">;

  constructor(files: Pick<KernelFiles, "read">) {
    this.#files = files;
  }

  isLoaded(): boolean {
    return this.#files.read(PRESENCE, MODULE) !== undefined;
  }

  list(): readonly IpsetInfo[] {
    if (!this.isLoaded()) return [];
    using socket = openSocket();
    const request = {
      op: "list sets",
      type: SetMessage.list,
      family: setHeader(),
      attributes: writeHeadersOnly,
    };
    return dump<IpsetInfo[]>(socket, request, {
      start: () => [],
      add: (into, message) => {
        const info = readInfo(message);
        if (info) into.push(info);
      },
    });
  }

  members(name: string): ReadonlySet<string> | undefined {
    if (!this.isLoaded()) return undefined;
    using socket = openSocket();
    const request = {
      op: `list set "${name}"`,
      type: SetMessage.list,
      family: setHeader(),
      attributes: (writer: MessageWriter) => writeName(writer, name),
    };
    let type = "";
    try {
      return dump<Set<string>>(socket, request, {
        start: () => new Set(),
        add: (into, message) => {
          const part = readMembers(message);
          type = part.type ?? type;
          for (const member of part.members) into.add(listedText(member, { name, type }));
        },
      });
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return undefined;
      throw error;
    }
  }

  indexOf(name: string): number | undefined {
    const answer = this.#ask(`look for set "${name}"`, {
      type: SetMessage.byName,
      attributes: (writer) => writeName(writer, name),
    });
    return answer && readIndexAnswer(answer).index;
  }

  nameOf(index: number): string | undefined {
    const answer = this.#ask(`look for set number ${index}`, {
      type: SetMessage.byIndex,
      attributes: (writer) => writeIndex(writer, index),
    });
    return answer && readIndexAnswer(answer).name;
  }

  async commit(
    changes: readonly IpsetChange[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly IpsetFailure[]> {
    signal?.throwIfAborted();
    if (changes.length === 0) return [];
    using socket = openSocket();
    this.#load(socket);
    return await commitSets(socket, changes, signal);
  }

  /** Undefined: there is no such set. */
  #ask(op: string, question: {
    readonly type: number;
    readonly attributes: (writer: MessageWriter) => void;
  }): NetlinkMessage | undefined {
    if (!this.isLoaded()) return undefined;
    using socket = openSocket();
    try {
      return transact(socket, { op, family: setHeader(), ...question })[0];
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return undefined;
      throw error;
    }
  }

  /** The first question makes the kernel load the module, or find that it has none. */
  #load(socket: NetlinkSocket): void {
    if (this.isLoaded()) return;
    try {
      transact(socket, {
        op: "use sets",
        type: SetMessage.byName,
        family: setHeader(),
        attributes: (writer) => writeName(writer, "-"),
      });
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return;
      // What nfnetlink says of a part that is not there.
      if (hasErrno(error, Errno.EINVAL)) {
        throw new KernelModuleError("use sets", { module: MODULE });
      }
      throw error;
    }
  }
}

function openSocket(): NetlinkSocket {
  return new NetlinkSocket({ protocol: NetlinkProtocol.netfilter });
}
