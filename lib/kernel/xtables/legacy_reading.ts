/**
 * Some of the older tables at one moment, as a reading: their bytes, of which rules are decoded when somebody asks
 * for them. A rule that our language cannot say may be one of ours in another version's form: what
 * iptables' own tool says of its chain is asked then.
 */
import { TurnsNowAndThen } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { differing } from "./differing.ts";
import type { LegacyBlob } from "./legacy_blob.ts";
import { type LegacyChain, legacyChains } from "./legacy_chains.ts";
import { LegacyComparison } from "./legacy_comparison.ts";
import { ChainName, textAt } from "./legacy_entry.ts";
import { LegacyRules } from "./legacy_rule.ts";
import { listedRule } from "./parse.ts";
import type { XtRule, XtTable } from "./rules.ts";
import type { XtSets } from "./sets.ts";
import type { ToolWords } from "./tool_words.ts";
import type { XtChain, XtListedRule, XtReading } from "./xtables.ts";

/** How a reading understands what it read. */
export interface LegacyReadingOptions {
  readonly family: IpFamily;
  readonly sets: XtSets;
  readonly words: ToolWords;
}

/** The event loop may have its turn after so many. */
const CHAINS_PER_PIECE = 20;

interface LegacyTable {
  readonly chains: ReadonlyMap<string, LegacyChain>;
  readonly rules: LegacyRules;
  readonly comparison: LegacyComparison;
}

export class LegacyReading implements XtReading {
  readonly chains: readonly XtChain[];
  readonly #options: LegacyReadingOptions;
  readonly #turns = new TurnsNowAndThen();
  readonly #tables: ReadonlyMap<XtTable, LegacyTable>;

  /** Throws `RangeError` where the bytes are garbage. */
  static async of(
    blobs: ReadonlyMap<XtTable, LegacyBlob>,
    options: LegacyReadingOptions,
  ): Promise<LegacyReading> {
    const tables = new Map<XtTable, LegacyTable>();
    for (const [table, blob] of blobs) {
      const { entries } = blob;
      const { family, sets } = options;
      const chains = await legacyChains(blob, family);
      const chainAt = (place: number) => {
        if (place < ChainName.paddedBytes || place > entries.length) return undefined;
        const name = textAt(entries, place - ChainName.paddedBytes, ChainName.bytes);
        return chains.get(name)?.rules.from === place ? name : undefined;
      };
      const placeOf = (chain: string) => {
        const found = chains.get(chain);
        return found?.isBuiltIn ? undefined : found?.rules.from;
      };
      tables.set(table, {
        chains,
        rules: new LegacyRules({ entries, family, sets, chainAt }),
        comparison: new LegacyComparison({ entries, family, sets, placeOf }),
      });
    }
    return new LegacyReading(tables, options);
  }

  private constructor(
    tables: ReadonlyMap<XtTable, LegacyTable>,
    options: LegacyReadingOptions,
  ) {
    this.#tables = tables;
    this.#options = options;
    this.chains = [...tables].flatMap(([table, { chains }]) =>
      Array.from(chains, ([name, { fingerprint, isBuiltIn }]) => ({
        table,
        name,
        isBuiltIn,
        fingerprint,
      }))
    );
  }

  async rules(
    table: XtTable,
    chains: readonly string[],
  ): Promise<ReadonlyMap<string, readonly XtListedRule[]>> {
    const found = new Map<string, readonly XtListedRule[]>();
    for (const chain of chains) {
      const rules = this.#listed(table, chain);
      if (!rules) continue;
      const isSaid = rules.every(({ rule }) => rule !== undefined);
      found.set(chain, isSaid ? rules : await this.#inWords(table, chain, rules));
    }
    return found;
  }

  async differing(
    table: XtTable,
    wanted: ReadonlyMap<string, readonly XtRule[]>,
  ): Promise<readonly string[]> {
    const { family } = this.#options;
    const found: string[] = [];
    let seen = 0;
    for (const [chain, rules] of wanted) {
      if (++seen % CHAINS_PER_PIECE === 0) await this.#turns.take();
      if (this.holds(table, chain, rules)) continue;
      // What is not as long need not be decoded.
      const isAsLong = this.#chain(table, chain)?.rules.count === rules.length;
      const there = isAsLong ? await this.rules(table, [chain]) : new Map();
      found.push(...differing(new Map([[chain, rules]]), there, family));
    }
    return found;
  }

  holds(table: XtTable, chain: string, rules: readonly XtRule[]): boolean {
    const found = this.#tables.get(table);
    const there = found?.chains.get(chain);
    if (!found || there?.rules.count !== rules.length) return false;
    let at = there.rules.from;
    for (const rule of rules) {
      const next = found.comparison.behindSame(at, rule);
      if (next === undefined) return false;
      at = next;
    }
    return true;
  }

  #chain(table: XtTable, chain: string): LegacyChain | undefined {
    return this.#tables.get(table)?.chains.get(chain);
  }

  /** Undefined: no such chain. */
  #listed(table: XtTable, chain: string): readonly XtListedRule[] | undefined {
    const found = this.#tables.get(table);
    const there = found?.chains.get(chain);
    if (!found || !there) return undefined;
    const { from, to } = there.rules;
    const rules: XtListedRule[] = [];
    for (let at = from; at < to;) {
      const { jump, next, rule } = found.rules.at(at);
      rules.push(
        rule
          ? listedRule(rule, this.#options.family)
          : { key: `? rule ${rules.length + 1}`, ...(jump !== undefined && { jump }) },
      );
      at = next;
    }
    return rules;
  }

  async #inWords(
    table: XtTable,
    chain: string,
    rules: readonly XtListedRule[],
  ): Promise<readonly XtListedRule[]> {
    const { family, words } = this.#options;
    const fingerprint = this.#chain(table, chain)?.fingerprint ?? 0;
    return await words.of({ family, table, chain, fingerprint }, rules);
  }
}
