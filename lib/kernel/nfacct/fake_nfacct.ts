/** Counters in memory. */
import { Errno } from "../errno.ts";
import { NetlinkError } from "../netlink/errors.ts";
import type { CounterValue, Nfacct } from "./nfacct.ts";

export class FakeNfacct implements Nfacct {
  readonly counters = new Map<string, CounterValue>();
  /** Counters that rules count into. */
  readonly used = new Set<string>();
  /** A kernel without counters. */
  isMissing = false;

  ensure(name: string): void {
    this.#check();
    if (!this.counters.has(name)) this.counters.set(name, { packets: 0n, bytes: 0n });
  }

  read(name: string): CounterValue | undefined {
    this.#check();
    return this.counters.get(name);
  }

  remove(name: string): boolean {
    this.#check();
    if (this.used.has(name)) return false;
    this.counters.delete(name);
    return true;
  }

  #check(): void {
    if (this.isMissing) throw new NetlinkError({ op: "ask for counters", errno: Errno.EINVAL });
  }
}
