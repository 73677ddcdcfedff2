/** Counters by netlink. */
import { Errno } from "../errno.ts";
import { readAttributes, readU64be } from "../netlink/attributes.ts";
import { hasErrno } from "../netlink/errors.ts";
import { MessageFlag, type NetlinkMessage } from "../netlink/messages.ts";
import { type NetlinkRequest, transact } from "../netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import type { CounterValue, Nfacct } from "./nfacct.ts";

const SUBSYSTEM = 7 << 8;
const Msg = { new: SUBSYSTEM, get: SUBSYSTEM | 1, delete: SUBSYSTEM | 3 } as const;
const Attr = { name: 1, packets: 2, bytes: 3 } as const;
/** `struct nfgenmsg`: counters belong to no family. */
const GENMSG = new Uint8Array(4);

export class NetlinkNfacct implements Nfacct {
  ensure(name: string): void {
    try {
      this.#ask("make", name, { type: Msg.new, flags: MessageFlag.create | MessageFlag.exclusive });
    } catch (error) {
      if (!hasErrno(error, Errno.EEXIST)) throw error;
    }
  }

  read(name: string): CounterValue | undefined {
    try {
      const [answer] = this.#ask("read", name, { type: Msg.get });
      const attributes = readAttributes(answer.payload.subarray(GENMSG.length));
      const number = (attribute: number) => {
        const value = attributes.get(attribute);
        return value ? readU64be(value) : 0n;
      };
      return { packets: number(Attr.packets), bytes: number(Attr.bytes) };
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return undefined;
      throw error;
    }
  }

  remove(name: string): boolean {
    try {
      this.#ask("remove", name, { type: Msg.delete });
      return true;
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return true;
      if (hasErrno(error, Errno.EBUSY)) return false;
      throw error;
    }
  }

  #ask(
    action: string,
    name: string,
    message: Pick<NetlinkRequest, "type" | "flags">,
  ): readonly NetlinkMessage[] {
    using socket = new NetlinkSocket({ protocol: NetlinkProtocol.netfilter });
    return transact(socket, {
      ...message,
      op: `${action} packet counter "${name}"`,
      family: GENMSG,
      attributes: (writer) => writer.string(Attr.name, name),
    });
  }
}
