/** Everything a proxy needs of the kernel, as one object. */
import { untilAborted } from "../base/abort.ts";
import { type Commands, SystemCommands } from "./commands.ts";
import type { Conntrack } from "./conntrack/conntrack.ts";
import { NetlinkConntrack } from "./conntrack/netlink_conntrack.ts";
import { type Host, LinuxHost } from "./host.ts";
import { type OpenSocket, readOpenSockets } from "./inspection/open_sockets.ts";
import type { Ipset } from "./ipset/ipset.ts";
import { NetlinkIpset } from "./ipset/netlink_ipset.ts";
import type { Ipvs } from "./ipvs/ipvs.ts";
import { NetlinkIpvs } from "./ipvs/netlink_ipvs.ts";
import type { Links } from "./links/links.ts";
import { NetlinkLinks } from "./links/netlink_links.ts";
import { WorkerTransport } from "./nf_tables/worker_transport.ts";
import { NetlinkNftables } from "./nftables/netlink_nftables.ts";
import type { Nftables } from "./nftables/nftables.ts";
import { NetlinkNfacct } from "./nfacct/netlink_nfacct.ts";
import type { Nfacct } from "./nfacct/nfacct.ts";
import { LinuxSelf, type Self } from "./self.ts";
import { KernelFiles } from "./kernel_files.ts";
import { ProcSysctl } from "./proc_sysctl.ts";
import type { Sysctl } from "./sysctl.ts";
import { type LegacyTables, ProcLegacyTables } from "./xtables/legacy_tables.ts";
import { LegacyXtables } from "./xtables/legacy_xtables.ts";
import { NftXtables } from "./xtables/nft_xtables.ts";
import type { Xtables, XtBackend } from "./xtables/xtables.ts";

/** Where programs are looked for unless somebody says otherwise. */
const usualSearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Each member has a fake beside it that behaves. */
export interface Kernel {
  /** The same socket each time; opened by the first call, which throws where the kernel refuses. */
  nftables(): Promise<Nftables>;
  /**
   * Rules of iptables in one of the two engines: the same object each time. Those of nft share the socket of
   * `nftables`, whose opening throws where the kernel refuses.
   */
  xtables(backend: XtBackend): Promise<Xtables>;
  /** The older tables of iptables, as far as they can be seen without its tools. */
  readonly legacyTables: LegacyTables;
  readonly nfacct: Nfacct;
  readonly commands: Commands;
  readonly conntrack: Conntrack;
  readonly links: Links;
  readonly ipvs: Ipvs;
  readonly ipset: Ipset;
  readonly sysctl: Sysctl;
  readonly host: Host;
  readonly self: Self;
  /** Of all programs in the network namespace. */
  openSockets(): readonly OpenSocket[];
  /** Resolves when the signal aborts; throws when what the kernel is reached by dies before. */
  untilLost(signal: AbortSignal): Promise<void>;
}

/** How the way to nf_tables is opened; told whom to tell when it dies. */
export type OpenTransport = (
  options: { readonly onDeath: (error: Error) => void },
) => Promise<WorkerTransport>;

/** How the kernel is reached. */
export interface KernelOptions {
  /** A folder with the /proc and /sys of the machine that is meant, for a pod that looks at its node. */
  readonly hostRoot?: string;
  /** Where programs are looked for, as PATH has it. */
  readonly searchPath?: string;
  /** The program's own way when absent. */
  readonly open?: OpenTransport;
}

/** The kernel of the network namespace in which the calling thread is. Disposing leaves all rules. */
export class LinuxKernel implements Kernel, AsyncDisposable {
  readonly conntrack: Conntrack = new NetlinkConntrack();
  readonly links: Links = new NetlinkLinks();
  readonly ipvs: Ipvs;
  readonly ipset: Ipset;
  readonly sysctl: Sysctl;
  readonly host: Host;
  readonly self: Self = new LinuxSelf();
  readonly nfacct: Nfacct = new NetlinkNfacct();
  readonly legacyTables: LegacyTables;
  readonly commands: Commands;
  readonly #files: KernelFiles;
  readonly #legacy: Xtables;
  readonly #open: OpenTransport;
  readonly #lost = Promise.withResolvers<Error>();
  #xtables: Promise<Xtables> | undefined;
  #transport: Promise<WorkerTransport> | undefined;
  #nftables: Promise<Nftables> | undefined;

  constructor(options: KernelOptions = {}) {
    const { hostRoot, open = WorkerTransport.open, searchPath = usualSearchPath } = options;
    const files = this.#files = new KernelFiles(hostRoot);
    this.sysctl = new ProcSysctl(files);
    this.host = new LinuxHost(files);
    this.legacyTables = new ProcLegacyTables(files);
    this.#open = open;
    this.commands = new SystemCommands(searchPath);
    this.ipvs = new NetlinkIpvs({ files, commands: this.commands });
    this.ipset = new NetlinkIpset(files);
    this.#legacy = new LegacyXtables({
      commands: this.commands,
      tables: this.legacyTables,
      sets: this.ipset,
    });
  }

  xtables(backend: XtBackend): Promise<Xtables> {
    if (backend === "legacy") return Promise.resolve(this.#legacy);
    return this.#xtables ??= this.#openTransport().then((opened) =>
      new NftXtables(opened, this.ipset)
    );
  }

  nftables(): Promise<Nftables> {
    return this.#nftables ??= this.#openTransport().then((opened) => new NetlinkNftables(opened));
  }

  openSockets(): readonly OpenSocket[] {
    return readOpenSockets(this.#files);
  }

  async untilLost(signal: AbortSignal): Promise<void> {
    const aborted = untilAborted(signal).then(() => undefined);
    const error = await Promise.race([this.#lost.promise, aborted]);
    if (error) throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // One that could not be opened needs no closing; its opener was told why.
    const opened = await this.#transport?.catch(() => undefined);
    opened?.close();
  }

  /** One worker and one socket for every language of nf_tables. */
  #openTransport(): Promise<WorkerTransport> {
    return this.#transport ??= this.#open({ onDeath: this.#lost.resolve });
  }
}
