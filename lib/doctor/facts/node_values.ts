/** What is known of the node itself: types of facts, each read by a file beside this one. */
import type { FirewallTable } from "../../kernel/firewall/firewall.ts";
import type { IpvsState } from "../../kernel/inspection/ipvs_text.ts";
import type { ModuleInventory } from "../../kernel/inspection/module_inventory.ts";
import type { OpenSocket } from "../../kernel/inspection/open_sockets.ts";
import type { InterfaceAddress, Link, Route, RoutingRule } from "../../kernel/links/links.ts";

/** The kernel's version. */
export interface KernelVersion {
  readonly release: string;
  readonly major: number;
  readonly minor: number;
}

/** Something that rules in nftables mode need. */
export interface ExpressionGap {
  /** `fib (IPv6)`. */
  readonly what: string;
  readonly reason: string;
  /** What to load. */
  readonly modules: readonly string[];
}

/** What came of a batch with every expression in it, or of a look at the modules. */
export interface ExpressionProbe {
  /** `read`: nothing was tried, `--no-probe` was given. */
  readonly how: "tried" | "read";
  readonly hasNfTables: boolean;
  readonly missing: readonly ExpressionGap[];
  /** Nothing tells of these. */
  readonly untold: readonly string[];
}

/** The `nft` of the host. */
export interface NftTool {
  readonly path: string;
  /** `1.0.6`; empty where it says nothing like it. */
  readonly version: string;
  /** How `nft list ruleset` ended: the signal that killed it, or its words. */
  readonly listing:
    | { readonly kind: "fine" }
    | { readonly kind: "crashed"; readonly signal: string }
    | { readonly kind: "refused"; readonly words: string }
    /** Whoever runs this may not see them. */
    | { readonly kind: "forbidden"; readonly words: string };
  readonly json: "yes" | "no" | "untold";
}

/** A setting as a file has it. */
export interface ConfiguredSetting {
  readonly value: string;
  readonly file: string;
}

/** Interfaces of the node. */
export interface NodeNetwork {
  readonly links: readonly Link[];
  readonly addresses: readonly InterfaceAddress[];
  readonly routes: readonly Route[];
  readonly routingRules: readonly RoutingRule[];
}

/** A set of ipset. */
export interface NamedSet {
  readonly name: string;
  readonly members: number;
}

/** A program that runs in the node's network namespace. */
export interface NodeProcess {
  readonly pid: number;
  readonly argv: readonly string[];
}

/** Who serves Services on this node, as far as processes tell. */
export interface NodeProcesses {
  readonly here: readonly NodeProcess[];
  /** Of these, those that are proxies. */
  readonly proxies: readonly NodeProcess[];
  /** Who listens on the ports of a proxy's pages, where that can be seen. */
  readonly pageHolders: readonly PageHolder[];
}

/** A program that listens where a proxy serves its pages. */
export interface PageHolder {
  readonly port: number;
  /** Undefined where its process could not be seen. */
  readonly process: NodeProcess | undefined;
}

/** A file of the host. */
export interface HostFile {
  readonly path: string;
  readonly text: string;
}

/** A network of the folder that container runtimes read. */
export interface CniFile {
  readonly path: string;
  readonly plugins: readonly Readonly<Record<string, unknown>>[];
}

/** What this process may do, and where it is. */
export interface Rights {
  readonly hasNetAdmin: boolean;
  /** Whether it is in the network namespace of the node's first process; undefined: that cannot be seen. */
  readonly isInNodeNetwork: boolean | undefined;
}

/** Packets that the proxy in iptables mode dropped since conntrack called them INVALID. */
export interface InvalidDrops {
  readonly count: number;
  /** There were more of them a second later. */
  readonly isRising: boolean;
}

/** Values of the metrics of the proxy that runs, by name; series of one name are added up. */
export type ProxyMetrics = ReadonlyMap<string, number>;

/** Facts of the node by name. */
export interface NodeValues {
  readonly kernel: KernelVersion;
  readonly modules: ModuleInventory;
  readonly expressions: ExpressionProbe;
  /** Absent where the host has none. */
  readonly nftTool: NftTool;
  /** Absent where the host has none: the path of `iptables`. */
  readonly iptablesTool: string;
  readonly kernelLog: readonly string[];
  readonly rights: Rights;
  /** Settings by their path with slashes; those that the kernel lacks are not in it. */
  readonly settings: ReadonlyMap<string, string>;
  readonly settingFiles: ReadonlyMap<string, ConfiguredSetting>;
  readonly network: NodeNetwork;
  readonly sockets: readonly OpenSocket[];
  readonly firewall: readonly FirewallTable[];
  /** Absent where IPVS is not loaded. */
  readonly ipvs: IpvsState;
  /** Absent where ipset is not loaded. */
  readonly ipsets: readonly NamedSet[];
  readonly processes: NodeProcesses;
  readonly cni: readonly CniFile[];
  /** Files that may name an address of a Service, or a port of this node. */
  readonly hostFiles: readonly HostFile[];
  /** Absent where none runs. */
  readonly proxyMetrics: ProxyMetrics;
  /** Absent where no proxy counts them. */
  readonly invalidDrops: InvalidDrops;
}
