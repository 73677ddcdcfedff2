/** The whole of a table of the older engine, as the kernel hands it out. */
import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { lastErrno, libc } from "../libc.ts";
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import { HOOKS } from "../nf_tables/wire.ts";
import { toolOf, type XtTable } from "./rules.ts";

/** A table of the older engine as the kernel keeps it. */
export interface LegacyBlob {
  /** Where the chain of each hook begins, in the order prerouting, input, forward, output, postrouting. */
  readonly hookEntries: readonly (number | undefined)[];
  /** Where the policy of each hook's chain is. */
  readonly underflows: readonly (number | undefined)[];
  /** `struct ipt_entry` or `struct ip6t_entry`, one behind the other. */
  readonly entries: Uint8Array<ArrayBuffer>;
}

/** What the kernel counts in a table. */
export interface LegacyTableInfo {
  readonly entries: number;
  readonly bytes: number;
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
/** How often a table may be replaced between the question for its size and that for its content. */
const MAX_ATTEMPTS = 5;

/** How much is in a table that is there. Needs CAP_NET_ADMIN; throws `NetlinkError`. */
export function readLegacyInfo(family: IpFamily, table: XtTable): LegacyTableInfo {
  using questions = new Questions(family, table);
  const view = questions.info();
  return {
    entries: view.getUint32(Info.entries, true),
    bytes: view.getUint32(Info.bytes, true),
  };
}

/** The whole of a table that is there. Needs CAP_NET_ADMIN; throws `NetlinkError`. */
export function readLegacyBlob(family: IpFamily, table: XtTable): LegacyBlob {
  using questions = new Questions(family, table);
  for (let attempt = 1;; attempt++) {
    const info = questions.info();
    try {
      return blobOf(info, questions.entries(info));
    } catch (error) {
      // The kernel wants the very size that the table has.
      if (attempt < MAX_ATTEMPTS && hasErrno(error, Errno.EAGAIN)) continue;
      throw error;
    }
  }
}

/**
 * The same for a table of any size: another thread asks the kernel, which takes it a quarter of a second for a
 * hundred megabytes. The socket is of the network namespace in which the caller is now.
 */
export async function readLegacyBlobLater(family: IpFamily, table: XtTable): Promise<LegacyBlob> {
  using questions = new Questions(family, table);
  for (let attempt = 1;; attempt++) {
    const info = questions.info();
    const entries = await questions.entriesLater(info);
    // Chains of hooks may be elsewhere by now, in as many bytes.
    if (entries && isSameTable(info, questions.info())) return blobOf(info, entries);
    if (attempt === MAX_ATTEMPTS) {
      throw new NetlinkError({ op: questions.op("rules"), errno: Errno.EAGAIN });
    }
  }
}

function isSameTable(before: DataView, after: DataView): boolean {
  for (let at = Info.validHooks; at < INFO_BYTES; at += 4) {
    if (before.getUint32(at, true) !== after.getUint32(at, true)) return false;
  }
  return true;
}

function blobOf(info: DataView, entries: Uint8Array<ArrayBuffer>): LegacyBlob {
  const hooks = info.getUint32(Info.validHooks, true);
  const places = (from: number) =>
    HOOKS.map((_, hook) =>
      (hooks & (1 << hook)) === 0 ? undefined : info.getUint32(from + hook * 4, true)
    );
  return {
    hookEntries: places(Info.hookEntries),
    underflows: places(Info.underflows),
    entries,
  };
}

/** Asks about one table; an answer begins as its question, with the table's name. */
class Questions implements Disposable {
  readonly #family: IpFamily;
  readonly #table: XtTable;
  readonly #fd: number;

  constructor(family: IpFamily, table: XtTable) {
    this.#family = family;
    this.#table = table;
    this.#fd = libc.socket(AF[family], SOCK_DGRAM_CLOEXEC, 0);
    if (this.#fd < 0) throw new NetlinkError({ op: this.op("size"), errno: lastErrno() });
  }

  op(what: "size" | "rules"): string {
    return `read the ${what} of ${toolOf(this.#family)} table "${this.#table}"`;
  }

  info(): DataView {
    const answer = this.#question(INFO_BYTES);
    this.#ask(SO_GET_INFO, answer, "size");
    return new DataView(answer.buffer);
  }

  entries(info: DataView): Uint8Array<ArrayBuffer> {
    const answer = this.#entriesQuestion(info);
    this.#ask(SO_GET_ENTRIES, answer, "rules");
    return answer.subarray(Entries.first);
  }

  /** Undefined where the table changed meanwhile. */
  async entriesLater(info: DataView): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const answer = this.#entriesQuestion(info);
    const level = LEVEL[this.#family];
    const length = lengthOf(answer);
    const status = await libc.getsockoptLater(this.#fd, level, SO_GET_ENTRIES, answer, length);
    return status < 0 ? undefined : answer.subarray(Entries.first);
  }

  [Symbol.dispose](): void {
    libc.close(this.#fd);
  }

  #ask(option: number, answer: Uint8Array<ArrayBuffer>, what: "size" | "rules"): void {
    if (libc.getsockopt(this.#fd, LEVEL[this.#family], option, answer, lengthOf(answer)) < 0) {
      throw new NetlinkError({ op: this.op(what), errno: lastErrno() });
    }
  }

  #entriesQuestion(info: DataView): Uint8Array<ArrayBuffer> {
    const bytes = info.getUint32(Info.bytes, true);
    const question = this.#question(Entries.first + bytes);
    new DataView(question.buffer).setUint32(Entries.size, bytes, true);
    return question;
  }

  #question(bytes: number): Uint8Array<ArrayBuffer> {
    const question = new Uint8Array(bytes);
    new TextEncoder().encodeInto(this.#table, question);
    return question;
  }
}

function lengthOf(answer: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new Uint32Array([answer.length]).buffer);
}
