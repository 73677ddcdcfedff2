import { untilAborted } from "../../base/abort.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { isLoopback, parseIp } from "../../base/ip.ts";
import { Errno } from "../errno.ts";
import { refusedAddress, refusedSource } from "./errors.ts";
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

/** What a `FakeLinks` starts with. */
export interface FakeLinksOptions {
  readonly links?: readonly Link[];
  readonly addresses?: readonly InterfaceAddress[];
  readonly routes?: readonly Route[];
  readonly routingRules?: readonly RoutingRule[];
}

/** Interfaces in memory; changing the addresses wakes those who watch. */
export class FakeLinks implements Links {
  #links: readonly Link[];
  #fault: (change: AddressChange) => number = () => 0;
  readonly #sources = new Map<string, string>();
  readonly #routes: readonly Route[];
  readonly #routingRules: readonly RoutingRule[];
  #addresses: readonly InterfaceAddress[];
  #change = Promise.withResolvers<void>();

  constructor(options: FakeLinksOptions = {}) {
    this.#links = options.links ?? [];
    this.#addresses = options.addresses ?? [];
    this.#routes = options.routes ?? [];
    this.#routingRules = options.routingRules ?? [];
  }

  setAddresses(addresses: readonly InterfaceAddress[]): void {
    this.#addresses = addresses;
    for (const ip of this.#sources.keys()) if (!this.#has(ip)) this.#sources.delete(ip);
    const changed = this.#change;
    this.#change = Promise.withResolvers<void>();
    changed.resolve();
  }

  links(): readonly Link[] {
    return this.#links;
  }

  addresses(family?: IpFamily): readonly InterfaceAddress[] {
    return this.#addresses.filter((each) => family === undefined || each.family === family);
  }

  routes(family?: IpFamily): readonly Route[] {
    return this.#routes.filter((each) => family === undefined || each.family === family);
  }

  routingRules(): readonly RoutingRule[] {
    return this.#routingRules;
  }

  /** Changes of addresses for which the function gives an error number fail from now on. */
  refuse(fault: (change: AddressChange) => number): void {
    this.#fault = fault;
  }

  find(name: string): Link | undefined {
    return this.#links.find((link) => link.name === name);
  }

  ensureDummy(name: string): Link {
    const found = this.find(name);
    if (found) return found;
    const index = Math.max(1, ...this.#links.map((link) => link.index)) + 1;
    const link = { index, name, kind: "dummy", up: false };
    this.#links = [...this.#links, link];
    return link;
  }

  remove(name: string): boolean {
    const found = this.find(name);
    if (!found) return false;
    this.#links = this.#links.filter((link) => link !== found);
    this.setAddresses(this.#addresses.filter((each) => each.linkIndex !== found.index));
    return true;
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async changeAddresses(
    changes: readonly AddressChange[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly AddressFailure[]> {
    signal?.throwIfAborted();
    return changes.flatMap((change, index) => {
      const errno = this.#fault(change) || this.#changeAddress(change);
      return errno === 0 ? [] : [{ change: index, error: refusedAddress(change, { errno }) }];
    });
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async preferSources(
    sources: readonly PreferredSource[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly AddressFailure[]> {
    signal?.throwIfAborted();
    return sources.flatMap((each, change) => {
      const bytes = parseIp(each.source);
      const errno = bytes && (isLoopback(bytes) || this.#has(each.source)) ? 0 : Errno.EINVAL;
      if (errno === 0) this.#sources.set(each.ip, each.source);
      return errno === 0 ? [] : [{ change, error: refusedSource(each, { errno }) }];
    });
  }

  /** From where programs of this machine reach its address. */
  sourceOf(ip: string): string | undefined {
    return this.#has(ip) ? this.#sources.get(ip) ?? ip : undefined;
  }

  #has(ip: string): boolean {
    return this.#addresses.some((each) => each.ip === ip);
  }

  /** 0, or the error number. */
  #changeAddress({ ip, kind, linkIndex, prefixLength }: AddressChange): number {
    const link = this.#links.find(({ index }) => index === linkIndex);
    const bytes = parseIp(ip);
    if (!link) return Errno.ENODEV;
    if (!bytes || prefixLength > bytes.length * 8) return Errno.EINVAL;
    const isOther = (each: InterfaceAddress) => each.linkIndex !== linkIndex || each.ip !== ip;
    const others = this.#addresses.filter(isOther);
    if (kind === "add" && others.length < this.#addresses.length) return 0;
    if (kind === "delete" && others.length === this.#addresses.length) return 0;
    const added = fakeAddress(ip, { prefixLength, linkIndex, linkName: link.name });
    this.setAddresses(kind === "add" ? [...others, added] : others);
    return 0;
  }

  async *watchAddresses(signal: AbortSignal): AsyncGenerator<void> {
    const aborted = untilAborted(signal);
    while (!signal.aborted) {
      const next = this.#change.promise;
      yield;
      await Promise.race([next, aborted]);
    }
  }
}

/** An address of a made-up interface `eth0`, with everything but its text left to defaults. */
export function fakeAddress(
  ip: string,
  rest: Partial<InterfaceAddress> = {},
): InterfaceAddress {
  return {
    family: ip.includes(":") ? "IPv6" : "IPv4",
    ip,
    prefixLength: ip.includes(":") ? 64 : 24,
    scope: "global",
    linkIndex: 2,
    linkName: "eth0",
    ...rest,
  };
}

/** A route of the main table by a made-up interface, with everything but its destination left to defaults. */
export function fakeRoute(destination: string, rest: Partial<Route> = {}): Route {
  return {
    family: destination.includes(":") ? "IPv6" : "IPv4",
    destination,
    gateway: undefined,
    linkIndex: 2,
    table: 254,
    source: undefined,
    ...rest,
  };
}
