/**
 * Reading iptables' rules in nf_tables: the chains first, then the rules of those that are asked for,
 * chain by chain and in slices, so that the worker reads the next slice while this thread compares
 * the last one.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { setOf } from "../../base/list_of.ts";
import type { NfTransport } from "../nf_tables/transport.ts";
import { ChainAttr, RuleAttr } from "../nf_tables/wire.ts";
import { unlikeChains } from "./alike_rules.ts";
import { decodeChain, decodeListedRule, type XtHandledRule } from "./decode_listing.ts";
import { differing } from "./differing.ts";
import { chainsQuery, rulesQuery } from "./nft_queries.ts";
import type { XtPlace, XtRule, XtTable } from "./rules.ts";
import type { XtSets } from "./sets.ts";
import type { XtChain, XtReading, XtRules } from "./xtables.ts";

/** Chains whose rules are read in one go: about a quarter of a megabyte. */
const CHAINS_PER_SLICE = 200;

/** What rules are read with. */
export interface NftRulesOptions {
  readonly transport: NfTransport;
  readonly family: IpFamily;
  /** Those that rules may look into. */
  readonly sets: XtSets;
  /** Is told the rules of each chain for whose rules somebody asked. */
  readonly learn: (place: XtPlace, rules: readonly XtHandledRule[]) => void;
}

/** The names of the chains of each table. */
type ChainNames = ReadonlyMap<XtTable, ReadonlySet<string>>;

/** Lists the chains of these tables first. */
export async function openReading(
  options: NftRulesOptions,
  tables: readonly XtTable[],
): Promise<XtReading> {
  const chains: XtChain[] = [];
  const names = new Map<XtTable, Set<string>>();
  const query = {
    ...chainsQuery(options.family),
    // Whoever writes other tables does not keep us from reading ours.
    settled: {
      attributes: [ChainAttr.table, ChainAttr.name, ChainAttr.handle],
      through: { attribute: ChainAttr.table, texts: tables },
    },
  };
  await options.transport.visit(query, (payload) => {
    const chain = decodeChain(payload);
    if (!chain || !tables.includes(chain.table)) return;
    chains.push(chain);
    setOf(names, chain.table).add(chain.name);
  });
  return new NftReading(options, chains, names);
}

export class NftRules implements XtRules {
  readonly #options: NftRulesOptions;
  /** Undefined: all that somebody asks for. */
  readonly #names: ChainNames | undefined;

  constructor(options: NftRulesOptions, names?: ChainNames) {
    this.#options = options;
    this.#names = names;
  }

  async rules(
    table: XtTable,
    chains: readonly string[],
  ): Promise<ReadonlyMap<string, readonly XtHandledRule[]>> {
    const found = new Map<string, readonly XtHandledRule[]>();
    const there = chains.filter((chain) => this.#isThere(table, chain));
    for await (const [chain, rules] of readRules(this.#options, table, there)) {
      found.set(chain, rules);
      this.#options.learn({ table, chain }, rules);
    }
    return found;
  }

  async differing(
    table: XtTable,
    wanted: ReadonlyMap<string, readonly XtRule[]>,
  ): Promise<readonly string[]> {
    const different = new Set(
      [...wanted.keys()].filter((chain) => !this.#isThere(table, chain)),
    );
    const there = [...wanted].filter(([chain]) => !different.has(chain));
    const unlike = await unlikeChains(this.#options, table, there);
    for await (const [chain, rules] of readRules(this.#options, table, unlike)) {
      const one = new Map([[chain, wanted.get(chain) ?? []]]);
      const [difference] = differing(one, new Map([[chain, rules]]), this.#options.family);
      if (difference !== undefined) different.add(difference);
    }
    return [...wanted.keys()].filter((chain) => different.has(chain));
  }

  #isThere(table: XtTable, chain: string): boolean {
    return this.#names?.get(table)?.has(chain) ?? this.#names === undefined;
  }
}

class NftReading extends NftRules implements XtReading {
  readonly chains: readonly XtChain[];

  constructor(options: NftRulesOptions, chains: readonly XtChain[], names: ChainNames) {
    super(options, names);
    this.chains = chains;
  }
}

/** The rules of each chain; a chain that is not there looks like an empty one. */
export async function* readRules(
  { family, sets, transport }: Pick<NftRulesOptions, "family" | "sets" | "transport">,
  table: XtTable,
  chains: readonly string[],
): AsyncGenerator<readonly [chain: string, rules: readonly XtHandledRule[]]> {
  const ask = (from: number) => {
    const names = chains.slice(from, from + CHAINS_PER_SLICE);
    const answers = transport.queryEach({
      query: rulesQuery(family, table),
      attribute: RuleAttr.chain,
      names,
    });
    // Whoever stops reading does not want to hear of the slice that was under way.
    answers.catch(() => undefined);
    return { names, answers };
  };
  if (chains.length === 0) return;
  let next = ask(0);
  for (let at = 0; at < chains.length; at += CHAINS_PER_SLICE) {
    const { answers, names } = next;
    const groups = await answers;
    if (at + CHAINS_PER_SLICE < chains.length) next = ask(at + CHAINS_PER_SLICE);
    for (const [index, group] of groups.entries()) {
      yield [names[index], group.map((payload) => decodeListedRule(payload, family, { sets }))];
    }
  }
}
