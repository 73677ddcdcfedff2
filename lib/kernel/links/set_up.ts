/**
 * Setting up interfaces of a network namespace that this thread made for itself. The program changes
 * no interface of the node.
 *
 *     struct ifinfomsg { u8 family, pad; u16 type; s32 index; u32 flags, change; }
 *     struct rtmsg     { u8 family, dst_len, src_len, tos, table, protocol, scope, type; u32 flags; }
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { MessageFlag } from "../netlink/messages.ts";
import { transact } from "../netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import { RouteAttribute, routeHeader, RouteMessage } from "./messages.ts";

const IFF_UP = 1;
const RT = { tableMain: 254, protocolStatic: 4, scopeLink: 253, typeUnicast: 1 } as const;

interface Change {
  readonly op: string;
  readonly type: number;
  readonly header: DataView<ArrayBuffer>;
  readonly attributes?: (writer: MessageWriter) => void;
  readonly flags?: number;
}

/** Switches an interface on. Throws `NetlinkError`. */
export function setLinkUp(index: number): void {
  const header = new DataView(new ArrayBuffer(16));
  header.setInt32(4, index, true);
  header.setUint32(8, IFF_UP, true);
  header.setUint32(12, IFF_UP, true);
  change({ op: `switch on interface ${index}`, type: RouteMessage.newLink, header });
}

/** Sends all that has no other way through an interface. Throws `NetlinkError`. */
export function addDefaultRoute(index: number, family: IpFamily): void {
  const header = new DataView(routeHeader(family).buffer);
  header.setUint8(4, RT.tableMain);
  header.setUint8(5, RT.protocolStatic);
  header.setUint8(6, RT.scopeLink);
  header.setUint8(7, RT.typeUnicast);
  change({
    op: "add a default route",
    type: RouteMessage.newRoute,
    header,
    flags: MessageFlag.create | MessageFlag.exclusive,
    attributes: (writer) => writer.u32(RouteAttribute.linkIndex, index),
  });
}

function change({ attributes, flags = 0, header, op, type }: Change): void {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const family = new Uint8Array(header.buffer);
  transact(socket, { op, type, flags, family, ...(attributes && { attributes }) });
}
