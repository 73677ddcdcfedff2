/**
 * Which of the older tables there are, and how much is in them, without a tool and without loading
 * anything: asking for a table that is not there would make it.
 */
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { KernelFiles } from "../kernel_files.ts";
import { lastErrno, libc } from "../libc.ts";
import { readString } from "../netlink/attributes.ts";
import { Errno } from "../errno.ts";
import { HOOKS } from "../nf_tables/wire.ts";
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import { toolOf, type XtTable, xtTables } from "./rules.ts";

/** What the kernel counts in a table. */
export interface LegacyTableInfo {
  readonly entries: number;
  readonly bytes: number;
}

/** Looks at the older tables of the network namespace of this thread. */
export interface LegacyTables {
  /** The tables that are there; none where the kernel lacks them altogether. */
  loaded(family: IpFamily): readonly XtTable[];
  /** Names of the chains of a table that is there, but for those that the kernel calls itself. Throws as `info`. */
  chains(family: IpFamily, table: XtTable): readonly string[];
  /**
   * Those of these chains that are in a table that is there, however large it is: another thread asks the
   * kernel, others have their turn while the answer is gone through, and its memory goes back at once.
   * Undefined where the table changed meanwhile. Throws as `info`.
   */
  among(
    family: IpFamily,
    table: XtTable,
    chains: readonly string[],
  ): Promise<readonly string[] | undefined>;
  /** Only for a table that is there. Needs CAP_NET_ADMIN; throws `NetlinkError`. */
  info(family: IpFamily, table: XtTable): LegacyTableInfo;
}

const AF: Readonly<Record<IpFamily, number>> = { IPv4: 2, IPv6: 10 };
const SOCK_DGRAM_CLOEXEC = 2 | 0x80000;
/** IPPROTO_IP, IPPROTO_IPV6. */
const LEVEL: Readonly<Record<IpFamily, number>> = { IPv4: 0, IPv6: 41 };
const SO_GET_INFO = 64;
const SO_GET_ENTRIES = 65;
/** `struct ipt_getinfo`: a name of 32 bytes, hooks, and at the end the two numbers. */
const INFO_BYTES = 84;
const Info = { validHooks: 32, hookEntries: 36, underflows: 56, entries: 76, bytes: 80 } as const;
/** `struct ipt_get_entries`: a name, a size, and the entries at the next multiple of 8. */
const Entries = { size: 32, first: 40 } as const;
/** Where an entry (`struct ipt_entry`, `struct ip6t_entry`) says where its target and the next entry are. */
const NEXT_OFFSET: Readonly<Record<IpFamily, number>> = { IPv4: 88, IPv6: 140 };
/** `struct xt_error_target`: a size, the name of the target, a revision, the name of the chain. */
const ErrorTarget = { name: 2, chain: 32, nameBytes: 30 } as const;
/** The event loop has its turn after so many: some milliseconds, where each has a few rules. */
const CHAINS_PER_TURN = 2_000;
/** A target of this name begins a chain. */
const ERROR = "ERROR";

/** The file comes with the module. */
const NAMES: Readonly<Record<IpFamily, string>> = {
  IPv4: "ip_tables_names",
  IPv6: "ip6_tables_names",
};

export class ProcLegacyTables implements LegacyTables {
  readonly #files: KernelFiles;

  constructor(files: KernelFiles = new KernelFiles()) {
    this.#files = files;
  }

  loaded(family: IpFamily): readonly XtTable[] {
    const names = this.#files.readNet(NAMES[family])?.split("\n") ?? [];
    return xtTables.filter((table) => names.includes(table));
  }

  chains(family: IpFamily, table: XtTable): readonly string[] {
    const { bytes } = this.info(family, table);
    const answer = new Uint8Array(Entries.first + bytes);
    new DataView(answer.buffer).setUint32(Entries.size, bytes, true);
    ask(family, { table, answer, option: SO_GET_ENTRIES, what: "chains" });
    return [...chainNames(answer.subarray(Entries.first), family)];
  }

  async among(
    family: IpFamily,
    table: XtTable,
    chains: readonly string[],
  ): Promise<readonly string[] | undefined> {
    const { bytes } = this.info(family, table);
    const answer = new Uint8Array(Entries.first + bytes);
    new TextEncoder().encodeInto(table, answer);
    new DataView(answer.buffer).setUint32(Entries.size, bytes, true);
    const length = new Uint8Array(new Uint32Array([answer.length]).buffer);
    const op = `read the chains of ${toolOf(family)} table "${table}"`;
    const fd = libc.socket(AF[family], SOCK_DGRAM_CLOEXEC, 0);
    if (fd < 0) throw new NetlinkError({ op, errno: lastErrno() });
    try {
      const status = await libc.getsockoptLater(fd, LEVEL[family], SO_GET_ENTRIES, answer, length);
      return status < 0
        ? undefined
        : await wantedIn(answer.subarray(Entries.first), family, chains);
    } finally {
      libc.close(fd);
      // Two hundred megabytes, which would wait for a collection of garbage.
      answer.buffer.transfer(0);
    }
  }

  info(family: IpFamily, table: XtTable): LegacyTableInfo {
    const answer = new Uint8Array(INFO_BYTES);
    ask(family, { table, answer, option: SO_GET_INFO, what: "size" });
    const view = new DataView(answer.buffer);
    return {
      entries: view.getUint32(Info.entries, true),
      bytes: view.getUint32(Info.bytes, true),
    };
  }
}

/** A table of the older engine as the kernel keeps it. */
export interface LegacyBlob {
  /** Where the chain of each hook begins, in the order prerouting, input, forward, output, postrouting. */
  readonly hookEntries: readonly (number | undefined)[];
  /** Where the policy of each hook's chain is. */
  readonly underflows: readonly (number | undefined)[];
  /** `struct ipt_entry` or `struct ip6t_entry`, one behind the other. */
  readonly entries: Uint8Array;
}

/** How often a table may be replaced between the question for its size and that for its content. */
const MAX_ATTEMPTS = 5;

/** The whole of a table that is there. Needs CAP_NET_ADMIN; throws `NetlinkError`. */
export function readLegacyBlob(family: IpFamily, table: XtTable): LegacyBlob {
  for (let attempt = 1;; attempt++) {
    const info = new Uint8Array(INFO_BYTES);
    ask(family, { table, answer: info, option: SO_GET_INFO, what: "size" });
    const view = new DataView(info.buffer);
    const bytes = view.getUint32(Info.bytes, true);
    const answer = new Uint8Array(Entries.first + bytes);
    new DataView(answer.buffer).setUint32(Entries.size, bytes, true);
    try {
      ask(family, { table, answer, option: SO_GET_ENTRIES, what: "rules" });
    } catch (error) {
      // The kernel wants the very size that the table has.
      if (attempt < MAX_ATTEMPTS && hasErrno(error, Errno.EAGAIN)) continue;
      throw error;
    }
    const hooks = view.getUint32(Info.validHooks, true);
    const places = (from: number) =>
      HOOKS.map((_, hook) =>
        (hooks & (1 << hook)) === 0 ? undefined : view.getUint32(from + hook * 4, true)
      );
    return {
      hookEntries: places(Info.hookEntries),
      underflows: places(Info.underflows),
      entries: answer.subarray(Entries.first),
    };
  }
}

/** Asks a question about a table; the answer begins as the question, with the table's name. */
function ask(
  family: IpFamily,
  { answer, option, table, what }: {
    readonly table: XtTable;
    readonly answer: Uint8Array<ArrayBuffer>;
    readonly option: number;
    readonly what: string;
  },
): void {
  const op = `read the ${what} of ${toolOf(family)} table "${table}"`;
  const fd = libc.socket(AF[family], SOCK_DGRAM_CLOEXEC, 0);
  if (fd < 0) throw new NetlinkError({ op, errno: lastErrno() });
  try {
    new TextEncoder().encodeInto(table, answer);
    const length = new Uint8Array(new Uint32Array([answer.length]).buffer);
    if (libc.getsockopt(fd, LEVEL[family], option, answer, length) < 0) {
      throw new NetlinkError({ op, errno: lastErrno() });
    }
  } finally {
    libc.close(fd);
  }
}

/** Those of the chains that are there, in the order of the table. */
async function wantedIn(
  entries: Uint8Array,
  family: IpFamily,
  chains: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  let seen = 0;
  for (const chain of chainNames(entries, family)) {
    if (chains.includes(chain)) found.push(chain);
    if (found.length === chains.length) break;
    if (++seen % CHAINS_PER_TURN === 0) await turnOfTheEventLoop();
  }
  return found;
}

/** Each chain begins with an entry whose target has its name; the last one ends the table. */
function* chainNames(entries: Uint8Array, family: IpFamily): Generator<string> {
  const view = new DataView(entries.buffer, entries.byteOffset, entries.length);
  const offsets = NEXT_OFFSET[family];
  for (let at = 0; at + offsets + 4 <= entries.length;) {
    const target = at + view.getUint16(at + offsets, true);
    const next = view.getUint16(at + offsets + 2, true);
    if (next === 0) throw new RangeError("Cannot read chains: an entry has no length");
    const name = target + ErrorTarget.chain;
    if (name + ErrorTarget.nameBytes <= entries.length) {
      const isHead = readString(entries.subarray(target + ErrorTarget.name, name)) === ERROR;
      const chain = readString(entries.subarray(name, name + ErrorTarget.nameBytes));
      if (isHead && chain !== ERROR) yield chain;
    }
    at += next;
  }
}
