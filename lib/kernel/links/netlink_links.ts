/** Interfaces over rtnetlink. Each list opens a socket of its own: lists are rare. */
import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { KernelModuleError } from "../modules.ts";
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import { MessageFlag, type NetlinkMessage } from "../netlink/messages.ts";
import { dump, type NetlinkRequest, transact } from "../netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { watchAddresses } from "./address_watch.ts";
import { changeAddresses } from "./change_addresses.ts";
import type {
  AddressChange,
  AddressFailure,
  InterfaceAddress,
  Link,
  Links,
  PreferredSource,
  Route,
  RoutingRule,
} from "./links.ts";
import { forgetRoutes, preferSources } from "./prefer_sources.ts";
import {
  addressHeader,
  linkHeader,
  linkIndexHeader,
  readAddress,
  readLink,
  readRoute,
  readRoutingRule,
  routeHeader,
  RouteMessage,
  writeNewLink,
} from "./messages.ts";

/** The real interfaces. */
export class NetlinkLinks implements Links {
  links(): readonly Link[] {
    const request = { op: "list links", type: RouteMessage.getLink, family: linkHeader() };
    return list(request, readLink).sort((a, b) => a.index - b.index);
  }

  find(name: string): Link | undefined {
    return this.links().find((link) => link.name === name);
  }

  ensureDummy(name: string): Link {
    const found = this.find(name);
    if (found) return found;
    const op = `create interface "${name}"`;
    try {
      using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
      transact(socket, {
        op,
        type: RouteMessage.newLink,
        flags: MessageFlag.create | MessageFlag.exclusive,
        family: linkHeader(),
        attributes: (writer) => writeNewLink(writer, { name, kind: "dummy" }),
      });
    } catch (error) {
      // The kernel loads the module by itself, or has none.
      if (hasErrno(error, Errno.EOPNOTSUPP)) {
        throw new KernelModuleError(op, { module: "dummy" });
      }
      // Somebody else was faster.
      if (!hasErrno(error, Errno.EEXIST)) throw error;
    }
    const made = this.find(name);
    if (!made) throw new NetlinkError({ op, errno: Errno.ENODEV });
    return made;
  }

  remove(name: string): boolean {
    const found = this.find(name);
    if (!found) return false;
    const addresses = this.addresses("IPv6").filter(({ linkIndex }) => linkIndex === found.index);
    try {
      using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
      transact(socket, {
        op: `delete interface "${name}"`,
        type: RouteMessage.deleteLink,
        family: linkIndexHeader(found.index),
      });
    } catch (error) {
      if (hasErrno(error, Errno.ENODEV)) return false;
      throw error;
    }
    const gone = new Set(addresses.map(({ ip }) => `${ip}/128`));
    forgetRoutes(this.routes("IPv6").filter(({ destination }) => gone.has(destination)));
    return true;
  }

  changeAddresses(
    changes: readonly AddressChange[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly AddressFailure[]> {
    return changeAddresses(changes, signal);
  }

  preferSources(
    sources: readonly PreferredSource[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly AddressFailure[]> {
    return preferSources(sources, signal);
  }

  addresses(family?: IpFamily): readonly InterfaceAddress[] {
    const names = new Map(this.links().map((link) => [link.index, link.name]));
    const request = {
      op: "list interface addresses",
      type: RouteMessage.getAddress,
      family: addressHeader(family),
    };
    return list(request, readAddress)
      .filter((address) => family === undefined || address.family === family)
      .map((address) => ({ ...address, linkName: names.get(address.linkIndex) ?? "" }))
      .sort(compareAddresses);
  }

  routes(family?: IpFamily): readonly Route[] {
    const request = {
      op: "list routes",
      type: RouteMessage.getRoute,
      family: routeHeader(family),
    };
    return list(request, readRoute)
      .filter((route) => family === undefined || route.family === family)
      .sort(compareRoutes);
  }

  routingRules(): readonly RoutingRule[] {
    const request = {
      op: "list routing rules",
      type: RouteMessage.getRule,
      family: routeHeader(undefined),
    };
    return list(request, readRoutingRule);
  }

  watchAddresses(signal: AbortSignal): AsyncIterable<void> {
    return watchAddresses(signal);
  }
}

/** By interface, then family, then text. */
function compareAddresses(a: InterfaceAddress, b: InterfaceAddress): number {
  return a.linkIndex - b.linkIndex || compareText(a.family, b.family) || compareText(a.ip, b.ip);
}

/** By table, then family, destination and gateway. */
function compareRoutes(a: Route, b: Route): number {
  return a.table - b.table || compareText(a.family, b.family) ||
    compareText(a.destination, b.destination) || compareText(a.gateway ?? "", b.gateway ?? "") ||
    a.linkIndex - b.linkIndex;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function list<T>(
  request: NetlinkRequest,
  read: (message: NetlinkMessage) => T | undefined,
): T[] {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  return dump<T[]>(socket, request, {
    start: () => [],
    add: (into, message) => {
      const item = read(message);
      if (item !== undefined) into.push(item);
    },
  });
}
