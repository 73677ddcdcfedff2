/**
 * IPVS by generic netlink. Each call opens a socket of its own: calls are rare. Looking for the family
 * loads the module on newer kernels, so whoever only reads looks at `/proc` first.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { Commands } from "../commands.ts";
import { Errno } from "../errno.ts";
import type { KernelFiles } from "../kernel_files.ts";
import { KernelModuleError, loadModule } from "../modules.ts";
import { readAttributes } from "../netlink/attributes.ts";
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import type { NetlinkMessage } from "../netlink/messages.ts";
import { dump, type NetlinkRequest, transact } from "../netlink/request.ts";
import { sendSeries } from "../netlink/series.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { refusedChange } from "./errors.ts";
import type {
  Ipvs,
  IpvsChange,
  IpvsEntry,
  IpvsFailure,
  IpvsFrontend,
  IpvsTimeouts,
} from "./ipvs.ts";
import { readListings } from "./listings.ts";
import {
  changeRequest,
  isMarkServer,
  readDestination,
  readServer,
  readTimeouts,
  writeFrontend,
  writeTimeouts,
} from "./messages.ts";
import { countOpenConnections } from "./proc_connections.ts";
import { readTable, schedulersIn, versionOfTable } from "./proc_table.ts";
import { frontendText } from "./text.ts";
import { Controller, genlHeader, IpvsCommand } from "./wire.ts";

const MODULE = "ip_vs";
/** As long as there are servers and destinations. */
const TABLE = "ip_vs";
/** A page: some dozens of lines. */
const SOME_SERVERS_BYTES = 4096;
const READ_OP = "list virtual servers";
const COMMIT_OP = "change virtual servers";

/** What it works with. */
export interface NetlinkIpvsOptions {
  readonly files: Pick<KernelFiles, "readNet" | "readNetHead">;
  readonly commands: Commands;
}

/** The real IPVS. */
export class NetlinkIpvs implements Ipvs {
  readonly #files: NetlinkIpvsOptions["files"];
  readonly #commands: Commands;

  constructor({ commands, files }: NetlinkIpvsOptions) {
    this.#files = files;
    this.#commands = commands;
  }

  version(): string | undefined {
    return versionOfTable(this.#files.readNetHead(TABLE) ?? "");
  }

  async load(): Promise<void> {
    if (this.version() !== undefined) return;
    const what = "use IPVS";
    using socket = openSocket();
    // From 6.1 on the kernel loads the module when it is asked for the family.
    if (findFamily(socket, what) !== undefined) return;
    await loadModule(this.#commands, { module: MODULE, what });
    familyOf(socket, what);
  }

  /** Servers by netlink, which has all that is set of them, and by `/proc` with their destinations. */
  read(only?: IpFamily): readonly IpvsEntry[] {
    if (this.version() === undefined) return [];
    return readListings({
      servers: () => listServers((message) => readServer(message, only)),
      table: () => {
        const text = this.#table();
        // Without a file the module was unloaded meanwhile, and all servers with it.
        return text === undefined ? [] : readTable(text, only);
      },
      find: (frontend) => this.find(frontend),
    });
  }

  countMarkServers(): number {
    if (this.version() === undefined) return 0;
    return listServers((message) => isMarkServer(message) || undefined).length;
  }

  firstSchedulers(): ReadonlySet<string> {
    return schedulersIn(this.#files.readNetHead(TABLE, SOME_SERVERS_BYTES) ?? "");
  }

  find(frontend: IpvsFrontend): IpvsEntry | undefined {
    if (this.version() === undefined) return undefined;
    using socket = openSocket();
    const op = `read virtual server "${frontendText(frontend)}"`;
    const attributes: NetlinkRequest["attributes"] = (writer) => writeFrontend(writer, frontend);
    const request = { op, type: familyOf(socket, op), attributes };
    try {
      const family = genlHeader(IpvsCommand.getService);
      const server = transact(socket, { ...request, family }).map((message) => readServer(message))
        .find(Boolean);
      if (!server) return undefined;
      const destinations = list(
        socket,
        { ...request, family: genlHeader(IpvsCommand.getDestination) },
        readDestination,
      );
      return { server, destinations };
    } catch (error) {
      if (hasErrno(error, Errno.ESRCH)) return undefined;
      throw error;
    }
  }

  openConnections(servers: readonly IpvsFrontend[]): ReadonlyMap<string, number> {
    const readText = () => this.#files.readNet("ip_vs_conn") ?? "";
    return countOpenConnections(readText, servers.map(frontendText));
  }

  async commit(
    changes: readonly IpvsChange[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly IpvsFailure[]> {
    signal?.throwIfAborted();
    if (changes.length === 0) return [];
    this.#expectLoaded(COMMIT_OP);
    using socket = openSocket();
    const family = familyOf(socket, COMMIT_OP);
    const refused = await sendSeries(socket, {
      op: COMMIT_OP,
      count: changes.length,
      request: (index) => changeRequest(changes[index], family),
      signal,
    });
    return Array.from(refused, ([index, answer]) => refusedChange(changes[index], index, answer));
  }

  timeouts(): IpvsTimeouts {
    const op = "read the timeouts of IPVS";
    this.#expectLoaded(op);
    using socket = openSocket();
    const type = familyOf(socket, op);
    const [answer] = transact(socket, { op, type, family: genlHeader(IpvsCommand.getConfig) });
    if (!answer) throw new NetlinkError({ op, errno: Errno.ENODATA });
    return readTimeouts(answer);
  }

  setTimeouts(timeouts: Partial<IpvsTimeouts>): void {
    const op = "set the timeouts of IPVS";
    this.#expectLoaded(op);
    using socket = openSocket();
    transact(socket, {
      op,
      type: familyOf(socket, op),
      family: genlHeader(IpvsCommand.setConfig),
      attributes: (writer) => writeTimeouts(writer, timeouts),
    });
  }

  #table(): string | undefined {
    return this.#files.readNet(TABLE);
  }

  #expectLoaded(what: string): void {
    if (this.version() === undefined) throw new KernelModuleError(what, { module: MODULE });
  }
}

function openSocket(): NetlinkSocket {
  return new NetlinkSocket({ protocol: NetlinkProtocol.generic });
}

function listServers<T>(read: (message: NetlinkMessage) => T | undefined): readonly T[] {
  using socket = openSocket();
  const type = familyOf(socket, READ_OP);
  return list(socket, { op: READ_OP, type, family: genlHeader(IpvsCommand.getService) }, read);
}

function list<T>(
  socket: NetlinkSocket,
  request: NetlinkRequest,
  read: (message: NetlinkMessage) => T | undefined,
): readonly T[] {
  return dump<T[]>(socket, request, {
    start: () => [],
    add: (into, message) => {
      const item = read(message);
      if (item !== undefined) into.push(item);
    },
  });
}

/** The number of the family IPVS. Throws `KernelModuleError` where there is none. */
function familyOf(socket: NetlinkSocket, what: string): number {
  const found = findFamily(socket, what);
  if (found === undefined) throw new KernelModuleError(what, { module: MODULE });
  return found;
}

function findFamily(socket: NetlinkSocket, op: string): number | undefined {
  try {
    const [answer] = transact(socket, {
      op,
      type: Controller.family,
      family: genlHeader(Controller.getFamily),
      attributes: (writer) => writer.string(Controller.familyName, "IPVS"),
    });
    const value = answer && readAttributes(answer.payload.subarray(4)).get(Controller.familyId);
    return value && value.length >= 2 ? value[0] | (value[1] << 8) : undefined;
  } catch (error) {
    if (hasErrno(error, Errno.ENOENT)) return undefined;
    throw error;
  }
}
