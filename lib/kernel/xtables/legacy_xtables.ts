/**
 * iptables' rules in the older tables: read as the kernel hands them out, and written by that engine's own tool,
 * since the kernel takes whole tables only, with all that others put there meanwhile.
 */
import { linkAbort } from "../../base/abort.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import {
  CommandError,
  type CommandResult,
  type Commands,
  expectSuccess,
  type RunOptions,
} from "../commands.ts";
import { LegacyComposition } from "./legacy_composition.ts";
import { LegacyReading } from "./legacy_reading.ts";
import { refusedRestore } from "./legacy_refusals.ts";
import type { LegacyBlob } from "./legacy_blob.ts";
import type { LegacyTables } from "./legacy_tables.ts";
import { toolOf, type XtChange, type XtTable, xtTables } from "./rules.ts";
import { noSets, rememberSets, type XtSets } from "./sets.ts";
import { changesPieces } from "./text.ts";
import { ToolWords } from "./tool_words.ts";
import type {
  Xtables,
  XtCommitOptions,
  XtComposeOptions,
  XtComposition,
  XtReading,
  XtReceipt,
  XtStamp,
} from "./xtables.ts";

/** How long the tool waits for iptables' lock; whoever is told that it was held may try again. */
const LOCK_SECONDS = 5;
/** Where changes were put together, which nobody can try again: that of the other family may go first. */
const COMPOSED_LOCK_SECONDS = 15;
/** 10,000 Services take a tool three seconds. */
const LONGEST_RUN_MS = 60_000;

/** What the backend works with. */
export interface LegacyXtablesOptions {
  readonly commands: Commands;
  readonly tables: LegacyTables;
  /** Those that rules may look into; none when absent. */
  readonly sets?: XtSets;
  /** A tool that has not ended by then hangs; a minute when absent. */
  readonly longestRunMs?: number;
}

/** How a tool is run. */
interface Run {
  readonly input?: NonNullable<RunOptions["input"]>;
  readonly signal: AbortSignal | undefined;
}

export class LegacyXtables implements Xtables {
  readonly backend = "legacy";
  readonly #commands: Commands;
  readonly #tables: LegacyTables;
  readonly #sets: XtSets;
  readonly #longestRunMs: number;
  readonly #words = new ToolWords((family, table) => this.#save(family, table));

  constructor(options: LegacyXtablesOptions) {
    const { commands, longestRunMs = LONGEST_RUN_MS, sets = noSets, tables } = options;
    this.#commands = commands;
    this.#tables = tables;
    this.#sets = sets;
    this.#longestRunMs = longestRunMs;
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async stamp(family: IpFamily): Promise<XtStamp> {
    return this.#stamp(family);
  }

  async read(family: IpFamily, tables: readonly XtTable[]): Promise<XtReading> {
    const reading = { family, sets: rememberSets(this.#sets), words: this.#words };
    const blobs = new Map<XtTable, LegacyBlob>();
    for (const table of this.#tables.loaded(family)) {
      // A table that is not there would be made by asking for it.
      if (tables.includes(table)) blobs.set(table, await this.#tables.blob(family, table));
    }
    return await LegacyReading.of(blobs, reading);
  }

  moved(before: XtStamp, after: XtStamp): readonly XtTable[] {
    const sizes = [before, after].map((stamp) => new Map(sizesOf(stamp)));
    return xtTables.filter((table) => sizes[0].get(table) !== sizes[1].get(table));
  }

  async commit(
    family: IpFamily,
    changes: readonly XtChange[],
    { signal }: XtCommitOptions = {},
  ): Promise<XtReceipt | undefined> {
    signal?.throwIfAborted();
    if (changes.length === 0) return undefined;
    const before = this.#stamp(family);
    const input = changesPieces(changes, family);
    const result = await this.#restore(family, { input, signal, lockSeconds: LOCK_SECONDS });
    if (result.exitCode !== 0) throw refusedRestore(result, { changes, family });
    return { before, after: this.#stamp(family), isOwn: true };
  }

  compose(family: IpFamily, { first = "nat", signal }: XtComposeOptions = {}): XtComposition {
    return new LegacyComposition({
      family,
      first,
      stamp: () => this.#stamp(family),
      restore: (input) =>
        this.#restore(family, { input, signal, lockSeconds: COMPOSED_LOCK_SECONDS }),
    });
  }

  #restore(
    family: IpFamily,
    { lockSeconds, ...run }: Run & { readonly lockSeconds: number },
  ): Promise<CommandResult> {
    const tool = `${toolOf(family)}-legacy-restore`;
    return this.#run([tool, "-w", String(lockSeconds), "--noflush"], run);
  }

  async #save(family: IpFamily, table: XtTable): Promise<string> {
    const argv = [`${toolOf(family)}-legacy-save`, "-t", table];
    return expectSuccess(argv, await this.#run(argv, { signal: undefined })).stdout;
  }

  async #run(
    argv: readonly string[],
    { input, signal }: Run,
  ): Promise<CommandResult> {
    using limit = linkAbort(signal ?? new AbortController().signal, {
      afterMs: this.#longestRunMs,
    });
    try {
      const run = { signal: limit.signal, ...(input !== undefined && { input }) };
      return await this.#commands.run(argv, run);
    } catch (error) {
      if (!(error instanceof CommandError) || signal?.aborted || !limit.signal.aborted) throw error;
      const reason = `no end after ${this.#longestRunMs / 1000} s`;
      throw new CommandError(argv, { reason, stderr: error.stderr, cause: error });
    }
  }

  #stamp(family: IpFamily): XtStamp {
    return this.#tables.loaded(family).map((table) => {
      const { bytes, entries } = this.#tables.info(family, table);
      return `${table} ${entries}/${bytes}`;
    }).join(", ");
  }
}

/** What a stamp says of each table. */
function sizesOf(stamp: XtStamp): readonly (readonly [table: string, size: string])[] {
  return stamp.split(", ").map((each) => [each.split(" ")[0], each]);
}
