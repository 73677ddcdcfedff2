/**
 * What `iptables-save` prints, line by line. Rules stay text until somebody asks for one: most are
 * compared as they are.
 */
import { type XtTable, xtTables } from "./rules.ts";

/** One table of a save, its chains by name in their order. */
export interface SavedTable {
  readonly table: XtTable;
  readonly chains: ReadonlyMap<string, SavedChain>;
}

/** One chain of a save. */
export interface SavedChain {
  /** `ACCEPT`, `DROP`; chains that the kernel does not call itself have none. */
  readonly policy?: string;
  /** What stands behind `-A CHAIN`, in the order of the rules. */
  readonly rules: readonly string[];
}

/** Puts a save together, line by line. Every method throws `SyntaxError` with the first line that is none of it. */
export class SaveReader {
  readonly #tables: { readonly table: XtTable; readonly chains: Map<string, MutableChain> }[] = [];
  #isOpen = false;
  #number = 0;

  add(line: string): void {
    this.#number++;
    if (line === "" || line.startsWith("#")) return;
    const isKnown = line.startsWith("*")
      ? this.#begin(line.slice(1))
      : this.#isOpen && this.#continue(line);
    if (!isKnown) throw this.#unexpected(line);
  }

  /** The tables, once every line was added. */
  finish(): readonly SavedTable[] {
    if (this.#isOpen) throw this.#unexpected("its end");
    return this.#tables;
  }

  #begin(name: string): boolean {
    const table = xtTables.find((each) => each === name);
    if (!table || this.#isOpen) return false;
    this.#tables.push({ table, chains: new Map() });
    this.#isOpen = true;
    return true;
  }

  /** `:KUBE-SERVICES - [0:0]`, `-A KUBE-SERVICES …`, with counters before it where the save has them. */
  #continue(line: string): boolean {
    if (line === "COMMIT") {
      this.#isOpen = false;
      return true;
    }
    const chains = this.#tables[this.#tables.length - 1].chains;
    const declared = /^:(\S+) (\S+)( \[\d+:\d+\])?$/.exec(line);
    if (declared) {
      const [, name, policy] = declared;
      chains.set(name, { ...(policy !== "-" && { policy }), rules: [] });
      return true;
    }
    const appended = /^(?:\[\d+:\d+\] )?-A (\S+) ?(.*)$/.exec(line);
    const chain = chains.get(appended?.[1] ?? "");
    if (!appended || !chain) return false;
    chain.rules.push(appended[2].trimEnd());
    return true;
  }

  #unexpected(line: string): SyntaxError {
    return new SyntaxError(
      `Cannot read the save of iptables: line ${this.#number} is unexpected: ${line}`,
    );
  }
}

interface MutableChain {
  readonly policy?: string;
  readonly rules: string[];
}

/** Reads a whole save at once. For tests: the program adds the lines as they come. */
export function parseSave(save: string): readonly SavedTable[] {
  const reader = new SaveReader();
  for (const line of linesOf(save)) reader.add(line);
  return reader.finish();
}

/** The lines of a text, without making all of them at once. */
export function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const stop = end < 0 ? text.length : end;
    yield text.slice(at, stop);
    at = stop + 1;
  }
}
