/** A save of the older tables, as a reading: everything is read, and rules stay text until they are asked for. */
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { parseRule } from "./parse.ts";
import type { XtRule, XtTable } from "./rules.ts";
import { linesOf, type SavedChain, type SavedTable, SaveReader } from "./save.ts";
import { ruleText } from "./text.ts";
import type { XtChain, XtListedRule, XtReading } from "./xtables.ts";

/** The event loop gets its turn after so many lines: some ten milliseconds. */
const LINES_PER_TURN = 10_000;

export class LegacyReading implements XtReading {
  readonly chains: readonly XtChain[];
  readonly #family: IpFamily;
  readonly #tables: ReadonlyMap<XtTable, ReadonlyMap<string, SavedChain>>;

  /** Reads what the tool printed. Throws `SyntaxError` for anything but a save. */
  static async of(saves: readonly string[], family: IpFamily): Promise<LegacyReading> {
    const tables: SavedTable[] = [];
    for (const save of saves) {
      const reader = new SaveReader();
      let lines = 0;
      for (const line of linesOf(save)) {
        reader.add(line);
        if (++lines % LINES_PER_TURN === 0) await turnOfTheEventLoop();
      }
      tables.push(...reader.finish());
    }
    return new LegacyReading(tables, family);
  }

  private constructor(tables: readonly SavedTable[], family: IpFamily) {
    this.#family = family;
    this.#tables = new Map(tables.map(({ chains, table }) => [table, chains]));
    this.chains = tables.flatMap(({ chains, table }) =>
      [...chains].map(([name, { policy }]) => ({ table, name, isBuiltIn: policy !== undefined }))
    );
  }

  rules(
    table: XtTable,
    chains: readonly string[],
  ): Promise<ReadonlyMap<string, readonly XtListedRule[]>> {
    const saved = this.#tables.get(table);
    return Promise.resolve(
      new Map(chains.flatMap((chain) => {
        const texts = saved?.get(chain)?.rules;
        return texts ? [[chain, texts.map((text) => parseRule(text, this.#family))] as const] : [];
      })),
    );
  }

  differing(
    table: XtTable,
    wanted: ReadonlyMap<string, readonly XtRule[]>,
  ): Promise<readonly string[]> {
    const saved = this.#tables.get(table);
    const differs = ([chain, rules]: [string, readonly XtRule[]]) => {
      const texts = saved?.get(chain)?.rules;
      return texts?.length !== rules.length ||
        texts.some((text, index) => !this.#says(text, rules[index]));
    };
    return Promise.resolve([...wanted].filter(differs).map(([chain]) => chain));
  }

  /** Most rules are printed as we would; the others are read. */
  #says(text: string, rule: XtRule): boolean {
    const key = ruleText(rule, this.#family);
    return text === key || parseRule(text, this.#family).key === key;
  }
}
