/** Writes addresses of links by rtnetlink, many in one datagram. */
import { parseIp } from "../../base/ip.ts";
import { Errno } from "../errno.ts";
import { MessageFlag } from "../netlink/messages.ts";
import type { NetlinkRequest } from "../netlink/request.ts";
import { sendSeries } from "../netlink/series.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { refusedAddress } from "./errors.ts";
import type { AddressChange, AddressFailure } from "./links.ts";
import { AddressAttribute, addressChangeHeader, RouteMessage } from "./messages.ts";
import { forgetSources } from "./prefer_sources.ts";

/** See `Links.changeAddresses`. */
export async function changeAddresses(
  changes: readonly AddressChange[],
  signal: AbortSignal | undefined,
): Promise<readonly AddressFailure[]> {
  signal?.throwIfAborted();
  if (changes.length === 0) return [];
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const refused = await sendSeries(socket, {
    op: "change interface addresses",
    count: changes.length,
    request: (index) => requestOf(changes[index]),
    signal,
  });
  await forgetSources(changes.filter(({ kind }) => kind === "delete").map(({ ip }) => ip), signal);
  return [...refused]
    .filter(([index, { errno }]) => errno !== fineErrno[changes[index].kind])
    .map(([index, answer]) => ({ change: index, error: refusedAddress(changes[index], answer) }));
}

/** What is wanted is so already. */
const fineErrno: Readonly<Record<AddressChange["kind"], number>> = {
  add: Errno.EEXIST,
  delete: Errno.EADDRNOTAVAIL,
};

function requestOf(change: AddressChange): Omit<NetlinkRequest, "op"> {
  const bytes = parseIp(change.ip);
  if (!bytes) throw new TypeError(`Cannot use "${change.ip}" as an interface address`);
  const isNew = change.kind === "add";
  return {
    type: isNew ? RouteMessage.newAddress : RouteMessage.deleteAddress,
    flags: isNew ? MessageFlag.create | MessageFlag.exclusive : 0,
    family: addressChangeHeader(change, bytes.length),
    attributes: (writer) => {
      writer.raw(AddressAttribute.local, bytes);
      writer.raw(AddressAttribute.address, bytes);
    },
  };
}
