/** IPVS in memory. It refuses what the kernel refuses; what it does not know: connections of its own. */
import { parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { KernelModuleError } from "../modules.ts";
import { NetlinkError } from "../netlink/errors.ts";
import { refusedChange } from "./errors.ts";
import type {
  Ipvs,
  IpvsChange,
  IpvsDestination,
  IpvsDestinationState,
  IpvsEndpoint,
  IpvsEntry,
  IpvsFailure,
  IpvsFrontend,
  IpvsServer,
  IpvsTimeouts,
} from "./ipvs.ts";
import { frontendText } from "./text.ts";

/** What a `FakeIpvs` is; everything has a sensible default. */
export interface FakeIpvsOptions {
  readonly isLoaded?: boolean;
  /** Whether it could be loaded. */
  readonly isInstalled?: boolean;
  readonly schedulers?: readonly string[];
  /** How many servers by firewall mark somebody made. */
  readonly markServers?: number;
}

interface FakeServer {
  readonly server: IpvsServer;
  readonly destinations: Map<string, IpvsDestinationState>;
}

export class FakeIpvs implements Ipvs {
  readonly #isInstalled: boolean;
  readonly #schedulers: readonly string[];
  readonly #markServers: number;
  readonly #servers = new Map<string, FakeServer>();
  readonly #commits: (readonly IpvsChange[])[] = [];
  /** How many active connections of a destination are not open, by both their names. */
  readonly #stale = new Map<string, number>();
  #isLoaded: boolean;
  #timeouts: IpvsTimeouts = { tcp: 900, tcpFin: 120, udp: 300 };
  #fault: (change: IpvsChange) => number = () => 0;

  constructor(options: FakeIpvsOptions = {}) {
    this.#isLoaded = options.isLoaded ?? true;
    this.#isInstalled = options.isInstalled ?? true;
    this.#markServers = options.markServers ?? 0;
    this.#schedulers = options.schedulers ?? ["rr", "wrr", "lc", "wlc", "sh", "mh"];
  }

  /** What was committed, oldest first, refused changes too. */
  get commits(): readonly (readonly IpvsChange[])[] {
    return this.#commits;
  }

  /** Changes for which the function gives an error number fail from now on. */
  refuse(fault: (change: IpvsChange) => number): void {
    this.#fault = fault;
  }

  /** A change by somebody else. Throws where the kernel would refuse it. */
  edit(changes: readonly IpvsChange[]): void {
    for (const [index, change] of changes.entries()) {
      const errno = this.#apply(change);
      if (errno !== 0) throw refusedChange(change, index, { errno }).error;
    }
  }

  /** From now on the destination has so many connections; of the active ones so many are open, all unless said. */
  setConnections(
    frontend: IpvsFrontend,
    endpoint: IpvsEndpoint,
    { active, inactive = 0, open = active }: {
      readonly active: number;
      readonly inactive?: number;
      readonly open?: number;
    },
  ): void {
    const destinations = this.#servers.get(frontendText(frontend))?.destinations;
    const state = destinations?.get(endpointKey(endpoint));
    if (!state) throw new RangeError(`No destination ${endpointKey(endpoint)}`);
    destinations?.set(endpointKey(endpoint), {
      ...state,
      activeConnections: active,
      inactiveConnections: inactive,
    });
    this.#stale.set(`${frontendText(frontend)} ${endpointKey(endpoint)}`, active - open);
  }

  version(): string | undefined {
    return this.#isLoaded ? "1.2.1" : undefined;
  }

  load(): Promise<void> {
    if (!this.#isInstalled) return Promise.reject(this.#missing("use IPVS"));
    this.#isLoaded = true;
    return Promise.resolve();
  }

  read(family?: IpFamily): readonly IpvsEntry[] {
    return [...this.#servers.values()]
      .filter(({ server }) => family === undefined || server.family === family)
      .map(({ destinations, server }) => ({ server, destinations: [...destinations.values()] }));
  }

  countMarkServers(): number {
    return this.#isLoaded ? this.#markServers : 0;
  }

  /** As of the real one: not of all. */
  firstSchedulers(): ReadonlySet<string> {
    return new Set([...this.#servers.values()].slice(0, 2).map(({ server }) => server.scheduler));
  }

  find(frontend: IpvsFrontend): IpvsEntry | undefined {
    const found = this.#servers.get(frontendText(frontend));
    return found && { server: found.server, destinations: [...found.destinations.values()] };
  }

  /** Of those that are asked for alone. */
  openConnections(servers: readonly IpvsFrontend[]): ReadonlyMap<string, number> {
    const wanted = new Set(servers.map(frontendText));
    const asked = [...this.#servers].filter(([name]) => wanted.has(name));
    const counts = asked.map(([name, { destinations }]): [string, number] => [
      name,
      [...destinations].reduce(
        (sum, [key, { activeConnections }]) =>
          sum + activeConnections - (this.#stale.get(`${name} ${key}`) ?? 0),
        0,
      ),
    ]);
    return new Map(counts.filter(([, count]) => count > 0));
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async commit(
    changes: readonly IpvsChange[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly IpvsFailure[]> {
    signal?.throwIfAborted();
    if (changes.length === 0) return [];
    if (!this.#isLoaded) throw this.#missing("change virtual servers");
    this.#commits.push(changes);
    return changes.flatMap((change, index) => {
      const errno = this.#fault(change) || this.#apply(change);
      return errno === 0 ? [] : [refusedChange(change, index, { errno })];
    });
  }

  timeouts(): IpvsTimeouts {
    if (!this.#isLoaded) throw this.#missing("read the timeouts of IPVS");
    return this.#timeouts;
  }

  setTimeouts({ tcp, tcpFin, udp }: Partial<IpvsTimeouts>): void {
    if (!this.#isLoaded) throw this.#missing("set the timeouts of IPVS");
    if ([tcp, tcpFin, udp].some((seconds) => seconds !== undefined && seconds < 0)) {
      throw new NetlinkError({ op: "set the timeouts of IPVS", errno: Errno.EINVAL });
    }
    const before = this.#timeouts;
    this.#timeouts = {
      tcp: tcp || before.tcp,
      tcpFin: tcpFin || before.tcpFin,
      udp: udp || before.udp,
    };
  }

  #missing(what: string): KernelModuleError {
    return new KernelModuleError(what, { module: "ip_vs" });
  }

  /** 0, or the error number. */
  #apply(change: IpvsChange): number {
    const key = frontendText(change.server);
    const found = this.#servers.get(key);
    switch (change.kind) {
      case "add-server":
        if (found) return Errno.EEXIST;
        return this.#set(key, { server: change.server, destinations: new Map() });
      case "edit-server":
        if (!found) return Errno.ESRCH;
        return this.#set(key, { server: change.server, destinations: found.destinations });
      case "delete-server":
        return this.#servers.delete(key) ? 0 : Errno.ESRCH;
      default:
        return found ? this.#applyDestination(found, change) : Errno.ESRCH;
    }
  }

  #set(key: string, { destinations, server }: FakeServer): number {
    if (!this.#schedulers.includes(server.scheduler)) return Errno.ENOENT;
    if (parseIp(server.address)?.length !== addressBytes[server.family]) return Errno.EINVAL;
    this.#servers.set(key, { server, destinations });
    return 0;
  }

  #applyDestination(
    { destinations, server }: FakeServer,
    change: Extract<IpvsChange, { destination: IpvsEndpoint }>,
  ): number {
    const key = endpointKey(change.destination);
    const found = destinations.get(key);
    if (change.kind === "delete-destination") return destinations.delete(key) ? 0 : Errno.ENOENT;
    if (change.kind === "add-destination" && found) return Errno.EEXIST;
    if (change.kind === "edit-destination" && !found) return Errno.ENOENT;
    const errno = faultOf(change.destination, server.family);
    if (errno !== 0) return errno;
    const { activeConnections = 0, inactiveConnections = 0 } = found ?? {};
    destinations.set(key, { ...change.destination, activeConnections, inactiveConnections });
    return 0;
  }
}

const addressBytes: Readonly<Record<IpFamily, number>> = { IPv4: 4, IPv6: 16 };

/** What the kernel finds wrong with a destination. */
function faultOf({ address, weight }: IpvsDestination, family: IpFamily): number {
  const bytes = parseIp(address);
  if (weight < 0) return Errno.ERANGE;
  if (bytes?.length !== addressBytes[family]) return Errno.EINVAL;
  // Only addresses of one machine: no groups, no broadcasts.
  const isGroup = family === "IPv4" ? bytes[0] >= 224 : bytes[0] === 0xff;
  return isGroup || bytes.every((byte) => byte === 0) ? Errno.EINVAL : 0;
}

function endpointKey({ address, port }: IpvsEndpoint): string {
  return `${address} ${port}`;
}
