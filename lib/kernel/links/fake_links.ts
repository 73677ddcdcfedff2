import { untilAborted } from "../../base/abort.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { InterfaceAddress, Link, Links, Route } from "./links.ts";

/** What a `FakeLinks` starts with. */
export interface FakeLinksOptions {
  readonly links?: readonly Link[];
  readonly addresses?: readonly InterfaceAddress[];
  readonly routes?: readonly Route[];
}

/** Interfaces in memory; changing the addresses wakes those who watch. */
export class FakeLinks implements Links {
  readonly #links: readonly Link[];
  readonly #routes: readonly Route[];
  #addresses: readonly InterfaceAddress[];
  #change = Promise.withResolvers<void>();

  constructor(options: FakeLinksOptions = {}) {
    this.#links = options.links ?? [];
    this.#addresses = options.addresses ?? [];
    this.#routes = options.routes ?? [];
  }

  setAddresses(addresses: readonly InterfaceAddress[]): void {
    this.#addresses = addresses;
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
