/** Network interfaces and their addresses. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { NetlinkError } from "../netlink/errors.ts";

/** A network interface. */
export interface Link {
  /** The kernel's number for it. */
  readonly index: number;
  readonly name: string;
  /** What made it: `veth`, `bridge`, `dummy`, …; empty for hardware and loopback. */
  readonly kind: string;
  /** Administratively up. */
  readonly up: boolean;
}

/** How far an address is meant to be known, as `ip addr` prints it. */
export type AddressScope = "global" | "site" | "link" | "host";

/** One address of one interface. */
export interface InterfaceAddress {
  readonly family: IpFamily;
  /** Canonical text. */
  readonly ip: string;
  readonly prefixLength: number;
  readonly scope: AddressScope;
  readonly linkIndex: number;
  /** Name of the interface; empty when it went away meanwhile. */
  readonly linkName: string;
}

/** A way to a range of addresses. */
export interface Route {
  readonly family: IpFamily;
  /** Canonical CIDR; `0.0.0.0/0` and `::/0` are the default routes. */
  readonly destination: string;
  /** Canonical text; undefined where the destination is on the link itself. */
  readonly gateway: string | undefined;
  /** 0 for routes without an interface (blackholes, several next hops). */
  readonly linkIndex: number;
  /** 254 is main, 255 local. */
  readonly table: number;
  /** Canonical text of the source that packets on it get, where none was chosen; undefined: the kernel chooses. */
  readonly source: string | undefined;
}

/** Which table of routes is asked for which packets (`ip rule`). */
export interface RoutingRule {
  readonly family: IpFamily;
  readonly priority: number;
  /** Canonical CIDR; undefined: any. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Names of interfaces; empty: any. */
  readonly inInterface: string;
  readonly outInterface: string;
  /** 0 where it leads to no table. */
  readonly table: number;
}

/** An address that is put on a link or taken from it. */
export interface AddressChange {
  readonly kind: "add" | "delete";
  readonly linkIndex: number;
  /** Canonical text. */
  readonly ip: string;
  readonly prefixLength: number;
}

/** From where this machine's own programs reach one of its addresses. */
export interface PreferredSource {
  /** The link that has the address. */
  readonly linkIndex: number;
  /** Both canonical text, of one family. */
  readonly ip: string;
  readonly source: string;
}

/** One change of an address that was refused. */
export interface AddressFailure {
  /** Index into the changes. */
  readonly change: number;
  /** Its message is a whole sentence that names the address. */
  readonly error: NetlinkError;
}

/**
 * Interfaces, their addresses and routes, in the network namespace of the calling thread. Throws
 * `NetlinkError`. Lists are sorted.
 */
export interface Links {
  links(): readonly Link[];
  /** Undefined: no link has this name. */
  find(name: string): Link | undefined;
  /** The link of this name, made as a dummy where there is none; one that is there may be of another kind. */
  ensureDummy(name: string): Link;
  /** Deletes the link with its addresses. False: no link has this name. */
  remove(name: string): boolean;
  /**
   * Makes the changes in their order. What is refused is returned, and the rest is made; an address that
   * is there already, or is not there to be deleted, is fine. Aborting stops between two packs, by a throw.
   */
  changeAddresses(
    changes: readonly AddressChange[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly AddressFailure[]>;
  /**
   * Whoever connects to the address from this machine has it as its own as well, since the kernel prefers that,
   * and loses the connection with it. From now on, and until the address goes, new connections come from the
   * source. What is refused is returned, and the rest is made.
   */
  preferSources(
    sources: readonly PreferredSource[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly AddressFailure[]>;
  /** Of the family, or of both. */
  addresses(family?: IpFamily): readonly InterfaceAddress[];
  routes(family?: IpFamily): readonly Route[];
  /** Of both families; nobody's order but the kernel's own. */
  routingRules(): readonly RoutingRule[];
  /**
   * Yields once when it has begun to listen and again after addresses changed, so that listing after
   * each yield misses nothing. Changes that come together yield once. Costs nothing while nothing
   * changes, and ends when the signal aborts.
   */
  watchAddresses(signal: AbortSignal): AsyncIterable<void>;
}
