/**
 * Changes that the older engine's tool reads as they come: by the time when the last one is known it has read the
 * table and most of the text, and none of them has been kept. It writes a table only at the line that
 * says so, which is the last one: whatever ends before that has changed nothing.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { CommandResult } from "../commands.ts";
import { refusedRestore } from "./legacy_refusals.ts";
import type { XtChange, XtTable } from "./rules.ts";
import { type ChangeLine, changesLines, PIECE_LENGTH } from "./text.ts";
import type { XtComposition, XtReceipt, XtStamp } from "./xtables.ts";

/** What changes are put together with. */
export interface LegacyCompositionOptions {
  readonly family: IpFamily;
  /** The table whose text the tool gets first; that of others waits until the end. */
  readonly first: XtTable;
  readonly stamp: () => XtStamp;
  /** Runs the tool. */
  readonly restore: (input: AsyncIterable<string>) => Promise<CommandResult>;
}

/** So many new chains are told together. */
const CHAINS_PER_PIECE = 500;

/** A tool that reads. */
interface Run {
  readonly before: XtStamp;
  readonly ended: Promise<PromiseSettledResult<CommandResult>>;
}

export class LegacyComposition implements XtComposition {
  readonly #options: LegacyCompositionOptions;
  readonly #pipe = new Pipe();
  /** Lines for the other tables. */
  readonly #later = new Map<XtTable, string>();
  /** New chains, and the rules behind them, that the tool is told next. */
  readonly #chains: string[] = [];
  #rules = "";
  #run: Run | undefined;
  #count = 0;

  constructor(options: LegacyCompositionOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  takes(): boolean {
    return true;
  }

  add(changes: readonly XtChange[]): void {
    const { family, first } = this.#options;
    this.#count += changes.length;
    for (const [table, lines] of changesLines(changes, family)) {
      for (const line of lines) {
        if (table === first) this.#tell(line);
        else this.#later.set(table, (this.#later.get(table) ?? "") + line[0]);
      }
    }
  }

  async commit(): Promise<XtReceipt> {
    const { family, stamp } = this.#options;
    this.#tellChains();
    if (this.#run) this.#pipe.write("COMMIT\n");
    for (const [table, text] of this.#later) this.#pipe.write(`*${table}\n${text}COMMIT\n`);
    const { before, ended } = this.#run ??= this.#begin();
    this.#pipe.end();
    const end = await ended;
    if (end.status === "rejected") throw end.reason;
    if (end.value.exitCode !== 0) throw refusedRestore(end.value, { changes: [], family });
    return { before, after: stamp(), isOwn: true };
  }

  async abandon(): Promise<void> {
    this.#pipe.end();
    await this.#run?.ended;
  }

  /** In the order of their names new chains take the tool three quarters of the time. */
  #tell([line, { kind }]: ChangeLine): void {
    if (!this.#run) {
      this.#pipe.write(`*${this.#options.first}\n`);
      this.#run = this.#begin();
    }
    if (kind === "add-chain") {
      this.#chains.push(line);
      if (this.#chains.length === CHAINS_PER_PIECE) this.#tellChains();
    } else if (kind === "append-rule") {
      this.#rules += line;
    } else {
      this.#tellChains();
      this.#pipe.write(line);
    }
  }

  #tellChains(): void {
    this.#pipe.write(this.#chains.sort().join("") + this.#rules);
    this.#chains.length = 0;
    this.#rules = "";
  }

  #begin(): Run {
    const { restore, stamp } = this.#options;
    const before = stamp();
    // It may end before anybody waits for it.
    const ended = Promise.allSettled([restore(this.#pipe.pieces())]).then(([end]) => end);
    return { before, ended };
  }
}

/** Text that somebody reads while it is written. The first of it goes at once, the rest in large pieces. */
class Pipe {
  #text = "";
  #isBegun = false;
  #isEnded = false;
  #wake = () => {};

  write(text: string): void {
    this.#text += text;
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async *pieces(): AsyncGenerator<string> {
    for (;;) {
      const text = this.#text;
      if (text !== "" && (!this.#isBegun || this.#isEnded || text.length >= PIECE_LENGTH)) {
        this.#text = "";
        this.#isBegun = true;
        yield text;
      } else if (this.#isEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    }
  }
}
