/**
 * What iptables' own tool says of chains with rules that our language cannot decode. It prints a whole table, so what
 * it said is remembered for as long as the chain holds the same.
 */
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { parseRule } from "./parse.ts";
import type { XtTable } from "./rules.ts";
import { linesOf, type SavedTable, SaveReader } from "./save.ts";
import type { XtListedRule } from "./xtables.ts";

/** Prints a table, as `iptables-save` does. */
export type SaveTable = (family: IpFamily, table: XtTable) => Promise<string>;

/** A chain at some moment. */
export interface SaidChain {
  readonly family: IpFamily;
  readonly table: XtTable;
  readonly chain: string;
  readonly fingerprint: number;
}

/** Chains of others that lead to ours, and a few more. */
const REMEMBERED = 100;
/** The event loop gets its turn after so many: some ten milliseconds. */
const LINES_PER_TURN = 10_000;

export class ToolWords {
  readonly #save: SaveTable;
  readonly #known = new Map<string, readonly XtListedRule[]>();

  constructor(save: SaveTable) {
    this.#save = save;
  }

  /** The rules of the chain as the tool says them; as they are known where they changed meanwhile. */
  async of(
    { chain, family, fingerprint, table }: SaidChain,
    rules: readonly XtListedRule[],
  ): Promise<readonly XtListedRule[]> {
    const name = `${family} ${table} ${chain} ${fingerprint}`;
    const known = this.#known.get(name);
    if (known) return known;
    const saved = await savedTables(await this.#save(family, table));
    const texts = saved.find((each) => each.table === table)?.chains.get(chain)?.rules ?? [];
    const said = texts.map((text) => parseRule(text, family));
    const isSameChain = said.length === rules.length &&
      rules.every(({ key, rule }, index) => !rule || said[index].key === key);
    if (!isSameChain) return rules;
    if (this.#known.size === REMEMBERED) this.#known.clear();
    this.#known.set(name, said);
    return said;
  }
}

/** Throws `SyntaxError` for anything but a save. */
async function savedTables(save: string): Promise<readonly SavedTable[]> {
  const reader = new SaveReader();
  let lines = 0;
  for (const line of linesOf(save)) {
    reader.add(line);
    if (++lines % LINES_PER_TURN === 0) await turnOfTheEventLoop();
  }
  return reader.finish();
}
