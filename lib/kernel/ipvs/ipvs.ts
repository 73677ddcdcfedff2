/** Access to IPVS, the kernel's load balancer of virtual servers, as the rest of the program sees it. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { NetlinkError } from "../netlink/errors.ts";

/** Protocols that IPVS balances. */
export type IpvsProtocol = "tcp" | "udp" | "sctp";

/** What names a virtual server. Addresses are canonical text. */
export interface IpvsFrontend {
  readonly family: IpFamily;
  readonly protocol: IpvsProtocol;
  readonly address: string;
  readonly port: number;
}

/** Bits of `IpvsServer.flags`. What the three of the scheduler mean is the scheduler's affair. */
export const IpvsFlag = {
  onePacket: 0x4,
  /** Of `mh`: another destination when the chosen one is not available. */
  scheduler1: 0x8,
  /** Of `sh` and `mh`: the source port counts too. */
  scheduler2: 0x10,
  scheduler3: 0x20,
} as const;

/** A virtual server, without its destinations. */
export interface IpvsServer extends IpvsFrontend {
  readonly scheduler: string;
  /** See `IpvsFlag`. */
  readonly flags: number;
  /** For so many seconds a client stays with its destination; absent: it does not. */
  readonly persistenceSeconds?: number;
  /** Clients of one range of this length stay together; absent: each client by itself. */
  readonly persistencePrefix?: number;
}

/** How packets get to a destination; `masquerade` is `ipvsadm -m`. */
export type IpvsForwarding = "masquerade" | "local" | "tunnel" | "route" | "bypass";

/** What names a destination within its server. */
export interface IpvsEndpoint {
  readonly address: string;
  readonly port: number;
}

/** One destination of a server. Weight 0: it gets no new connections, and keeps those that it has. */
export interface IpvsDestination extends IpvsEndpoint {
  readonly forwarding: IpvsForwarding;
  readonly weight: number;
}

/** A destination with its connections. Those of UDP are all inactive. */
export interface IpvsDestinationState extends IpvsDestination {
  readonly activeConnections: number;
  readonly inactiveConnections: number;
}

/** A server with its destinations. */
export interface IpvsEntry {
  readonly server: IpvsServer;
  readonly destinations: readonly IpvsDestinationState[];
}

/** Seconds after which idle connections are forgotten. */
export interface IpvsTimeouts {
  readonly tcp: number;
  readonly tcpFin: number;
  readonly udp: number;
}

/** One change. A server goes with all its destinations; `edit` sets everything that the value says. */
export type IpvsChange =
  | { readonly kind: "add-server" | "edit-server"; readonly server: IpvsServer }
  | { readonly kind: "delete-server"; readonly server: IpvsFrontend }
  | {
    readonly kind: "add-destination" | "edit-destination";
    readonly server: IpvsFrontend;
    readonly destination: IpvsDestination;
  }
  | {
    readonly kind: "delete-destination";
    readonly server: IpvsFrontend;
    readonly destination: IpvsEndpoint;
  };

/**
 * Why a change was refused. `exists`: what it adds is there; `no-server`, `no-destination`: what it
 * names is not; `no-scheduler`: the kernel has none of that name and could not load one.
 */
export type IpvsRefusal = "exists" | "no-server" | "no-destination" | "no-scheduler" | "other";

/** One change that was refused. */
export interface IpvsFailure {
  /** Index into the changes. */
  readonly change: number;
  readonly refusal: IpvsRefusal;
  /** Its message is a whole sentence that names the server. */
  readonly error: NetlinkError;
}

/**
 * IPVS of a network namespace. Readers load nothing: where IPVS is not loaded there are no servers.
 * Whatever else needs it throws `KernelModuleError` there. All throw `NetlinkError` for what the kernel
 * refuses as a whole. Servers by firewall mark are only counted: whoever makes them is not meant.
 */
export interface Ipvs {
  /** As `1.2.1`; undefined where IPVS is not loaded. Asking loads nothing. */
  version(): string | undefined;
  /** Loads IPVS where it is not loaded. Throws `KernelModuleError` when that does not work. */
  load(): Promise<void>;
  /** Everything, or all of one family, in a few reads however much there is. */
  read(family?: IpFamily): readonly IpvsEntry[];
  /** How many servers there are by firewall mark. */
  countMarkServers(): number;
  /** Schedulers of the first servers that there are, in one short read. */
  firstSchedulers(): ReadonlySet<string>;
  /** Undefined: there is no such server. */
  find(frontend: IpvsFrontend): IpvsEntry | undefined;
  /**
   * How many connections of each of these servers are established or about to be, by its text; servers without
   * any are not in it, others may be. Reads every connection that the kernel remembers. Unlike this, the active
   * connections of a destination hold those that ended long ago whenever their client uses its port again.
   */
  openConnections(servers: readonly IpvsFrontend[]): ReadonlyMap<string, number>;
  /**
   * Makes the changes in their order. Nothing is atomic here: those that are refused are returned, and
   * the others are made. Aborting stops between two packs of changes, by a throw.
   */
  commit(
    changes: readonly IpvsChange[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly IpvsFailure[]>;
  timeouts(): IpvsTimeouts;
  /** Those that are given; 0 leaves the kernel's value. */
  setTimeouts(timeouts: Partial<IpvsTimeouts>): void;
}
