/**
 * Changes that the older engine's tool reads as they come: by the time when the last one is known it has read the
 * table and most of the text, and none of them has been kept. It writes a table only at the line that
 * says so, which is the last one: whatever ends before that has changed nothing.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { CommandResult } from "../commands.ts";
import { refusedRestore } from "./legacy_refusals.ts";
import type { XtChange, XtTable } from "./rules.ts";
import { changesLines, PIECE_LENGTH } from "./text.ts";
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
      const text = [...lines].join("");
      if (table !== first) {
        this.#later.set(table, (this.#later.get(table) ?? "") + text);
      } else if (text !== "") {
        this.#pipe.write(this.#run ? text : `*${table}\n${text}`);
        this.#run ??= this.#begin();
      }
    }
  }

  async commit(): Promise<XtReceipt> {
    const { family, stamp } = this.#options;
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
