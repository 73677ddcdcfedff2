/**
 * Which of the older tables there are, and what is in them, without a tool and without loading anything:
 * asking for a table that is not there would make it.
 */
import { TurnsNowAndThen } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { KernelFiles } from "../kernel_files.ts";
import { hasErrno } from "../netlink/errors.ts";
import {
  type LegacyBlob,
  type LegacyTableInfo,
  readLegacyBlob,
  readLegacyBlobLater,
  readLegacyInfo,
} from "./legacy_blob.ts";
import { ChainName, entryLayouts, ERROR, nextOf, Part, textAt } from "./legacy_entry.ts";
import { type XtTable, xtTables } from "./rules.ts";

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
  /** All of a table that is there, however large it is: another thread asks the kernel. Throws as `info`. */
  blob(family: IpFamily, table: XtTable): Promise<LegacyBlob>;
}

/** The event loop may have its turn after so many: a millisecond, where each has a few rules. */
const CHAINS_PER_PIECE = 500;

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
    return [...chainNames(readLegacyBlob(family, table).entries, family)];
  }

  async among(
    family: IpFamily,
    table: XtTable,
    chains: readonly string[],
  ): Promise<readonly string[] | undefined> {
    try {
      const { entries } = await readLegacyBlobLater(family, table);
      const found = await wantedIn(entries, family, chains);
      // Two hundred megabytes, which would wait for a collection of garbage.
      entries.buffer.transfer(0);
      return found;
    } catch (error) {
      if (hasErrno(error, Errno.EAGAIN)) return undefined;
      throw error;
    }
  }

  info(family: IpFamily, table: XtTable): LegacyTableInfo {
    return readLegacyInfo(family, table);
  }

  blob(family: IpFamily, table: XtTable): Promise<LegacyBlob> {
    return readLegacyBlobLater(family, table);
  }
}

/** Those of the chains that are there, in the order of the table. */
async function wantedIn(
  entries: Uint8Array,
  family: IpFamily,
  chains: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  const turns = new TurnsNowAndThen();
  let seen = 0;
  for (const chain of chainNames(entries, family)) {
    if (chains.includes(chain)) found.push(chain);
    if (found.length === chains.length) break;
    if (++seen % CHAINS_PER_PIECE === 0) await turns.take();
  }
  return found;
}

/** Each chain begins with an entry whose target has its name; the last one ends the table. */
function* chainNames(entries: Uint8Array, family: IpFamily): Generator<string> {
  const view = new DataView(entries.buffer, entries.byteOffset, entries.length);
  const layout = entryLayouts[family];
  for (let at = 0; at < entries.length;) {
    const target = at + view.getUint16(at + layout.target, true);
    at = nextOf(view, at, layout);
    const isHead = textAt(entries, target + Part.name, Part.nameBytes) === ERROR;
    const chain = isHead ? textAt(entries, target + Part.data, ChainName.bytes) : ERROR;
    if (chain !== ERROR) yield chain;
  }
}
