/** Everything a proxy needs of the kernel, as one bundle that is handed on. */
import type { Conntrack } from "./conntrack/conntrack.ts";
import { NetlinkConntrack } from "./conntrack/netlink_conntrack.ts";
import { type Host, LinuxHost } from "./host.ts";
import type { Links } from "./links/links.ts";
import { NetlinkLinks } from "./links/netlink_links.ts";
import { type NetlinkNftables, openNftables } from "./nftables/netlink_nftables.ts";
import type { Nftables } from "./nftables/nftables.ts";
import { LinuxSelf, type Self } from "./self.ts";
import { ProcSysctl, type Sysctl } from "./sysctl.ts";

/** Each member has a fake beside it that behaves. */
export interface Kernel {
  /** The same socket each time; opened by the first call, which throws where the kernel refuses. */
  nftables(): Promise<Nftables>;
  readonly conntrack: Conntrack;
  readonly links: Links;
  readonly sysctl: Sysctl;
  readonly host: Host;
  readonly self: Self;
}

/** The kernel of the network namespace in which the calling thread is. Disposing leaves all rules. */
export class LinuxKernel implements Kernel, AsyncDisposable {
  readonly conntrack: Conntrack = new NetlinkConntrack();
  readonly links: Links = new NetlinkLinks();
  readonly sysctl: Sysctl = new ProcSysctl();
  readonly host: Host = new LinuxHost();
  readonly self: Self = new LinuxSelf();
  #nftables: Promise<NetlinkNftables> | undefined;

  nftables(): Promise<Nftables> {
    return this.#nftables ??= openNftables();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // One that could not be opened needs no closing; its opener was told why.
    const opened = await this.#nftables?.catch(() => undefined);
    opened?.[Symbol.dispose]();
  }
}
