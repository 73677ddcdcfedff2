/**
 * The rules of one family: what the tables hold of ours, and the changes that make them right. There are
 * a dozen chains whatever Services there are, so that each is compared as a whole; only the rules for
 * this machine itself come and go one by one.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import {
  builtInChains,
  type XtChange,
  type XtRule,
  type XtTable,
} from "../../kernel/xtables/rules.ts";
import { ruleText } from "../../kernel/xtables/text.ts";
import type { Xtables, XtListedRule } from "../../kernel/xtables/xtables.ts";
import { isIptablesChain } from "../kube_chains/owned_chains.ts";
import type { StaticChain } from "../kube_chains/rules.ts";
import type { Claims } from "./claims.ts";
import { jumps, outFilter, ownTables } from "./rules/chains.ts";

/** What the tables shall hold. */
export interface WantedRules {
  readonly chains: readonly StaticChain[];
  /** By their text, in any order; absent: those that are there are right. */
  readonly outRules?: Claims<XtRule>;
}

/** The rules of a chain as they were read or written. */
type HeldChain = XtListedRule[];

export class ChainKeeper {
  readonly #family: IpFamily;
  readonly #xtables: Pick<Xtables, "read" | "commit">;
  /** Our chains and those that the kernel calls itself, as far as they are there. */
  #held = new Map<string, HeldChain>();
  /** Each change compares the same rules again. */
  readonly #texts = new WeakMap<XtRule, string>();

  constructor(family: IpFamily, xtables: Pick<Xtables, "read" | "commit">) {
    this.#family = family;
    this.#xtables = xtables;
  }

  /** Reads our chains, and those that lead to them. */
  async read(chains: readonly StaticChain[]): Promise<void> {
    const reading = await this.#xtables.read(this.#family, ownTables);
    const held = new Map<string, HeldChain>();
    for (const table of ownTables) {
      const ours = [...chains, outFilter, ...jumps].filter((each) => each.table === table);
      const there = new Set(
        reading.chains.filter((each) => each.table === table).map(({ name }) => name),
      );
      const names = [...new Set(ours.map(({ chain }) => chain))].filter((name) => there.has(name));
      const rules = await reading.rules(table, names);
      for (const name of names) held.set(nameOf(table, name), [...rules.get(name) ?? []]);
    }
    this.#held = held;
  }

  /** Whether the chain leads connections by another mode's rules, which has it in the same place. */
  isAnothers({ chain, table }: StaticChain): boolean {
    const held = this.#held.get(nameOf(table, chain)) ?? [];
    return table === "nat" && held.some(({ jump }) => jump !== undefined && isIptablesChain(jump));
  }

  /** What makes the tables right; nothing where they are. */
  changes({ chains, outRules }: WantedRules): readonly XtChange[] {
    const contents = chains.map((each) => this.#contentChanges(each));
    return [
      ...this.#missingTables(),
      ...[...chains, outFilter].filter(({ chain, table }) => !this.#held.has(nameOf(table, chain)))
        .map(({ chain, table }): XtChange => ({ kind: "add-chain", table, chain })),
      ...contents.flat(),
      ...outRules ? this.#outRuleChanges(outRules) : [],
      ...this.#missingJumps(),
    ];
  }

  /** Writes them. Throws `XtablesError`; then only the kernel knows what it holds. */
  async commit(changes: readonly XtChange[], signal: AbortSignal): Promise<void> {
    await this.#xtables.commit(this.#family, changes, { signal });
    for (const change of changes) this.#follow(change);
  }

  #follow(change: XtChange): void {
    if (change.kind === "add-table") {
      for (const chain of change.chains ?? builtInChains[change.table]) {
        const name = nameOf(change.table, chain);
        if (!this.#held.has(name)) this.#held.set(name, []);
      }
      return;
    }
    const name = nameOf(change.table, change.chain);
    const rules = this.#held.get(name) ?? [];
    switch (change.kind) {
      case "add-chain":
      case "flush-chain":
        this.#held.set(name, []);
        break;
      case "append-rule":
        rules.push(this.#listed(change.rule));
        break;
      case "insert-rule":
        rules.unshift(this.#listed(change.rule));
        break;
      case "delete-rule": {
        const text = this.#textOf(change.rule);
        rules.splice(rules.findIndex(({ key }) => key === text), 1);
      }
    }
  }

  #missingTables(): readonly XtChange[] {
    return ownTables.flatMap((table): readonly XtChange[] => {
      const sources = new Set(
        jumps.filter((jump) => jump.table === table).map(({ chain }) => chain),
      );
      const isComplete = [...sources].every((chain) => this.#held.has(nameOf(table, chain)));
      return isComplete ? [] : [{ kind: "add-table", table, chains: [...sources] }];
    });
  }

  #contentChanges({ chain, rules, table }: StaticChain): readonly XtChange[] {
    const before = this.#held.get(nameOf(table, chain)) ?? [];
    const isEqual = before.length === rules.length &&
      rules.every((rule, index) => before[index].key === this.#textOf(rule));
    return isEqual ? [] : this.#rewrite({ table, chain }, before, rules);
  }

  /** In one commit, so that packets meet the old rules or the new ones. */
  #rewrite(
    place: { readonly table: XtTable; readonly chain: string },
    before: HeldChain,
    rules: readonly XtRule[],
  ): readonly XtChange[] {
    return [
      ...before.length > 0 ? [{ kind: "flush-chain", ...place } as const] : [],
      ...rules.map((rule): XtChange => ({ kind: "append-rule", ...place, rule })),
    ];
  }

  #outRuleChanges(wanted: Claims<XtRule>): readonly XtChange[] {
    const before = this.#held.get(nameOf(outFilter.table, outFilter.chain)) ?? [];
    const kept = new Set<string>();
    const changes: XtChange[] = [];
    for (const { key, rule } of before) {
      if (wanted.has(key) && !kept.has(key)) kept.add(key);
      else if (rule) changes.push({ kind: "delete-rule", ...outFilter, rule });
      // Somebody else's that we have no words for.
      else return this.#rewrite(outFilter, before, [...wanted.values()]);
    }
    for (const key of wanted.keys()) {
      const rule = wanted.get(key);
      if (rule && !kept.has(key)) changes.push({ kind: "append-rule", ...outFilter, rule });
    }
    return changes;
  }

  /** What is missing goes on top; what is there stays where it is. */
  #missingJumps(): readonly XtChange[] {
    return jumps.filter(({ chain, rule, table }) => {
      const text = this.#textOf(rule);
      return !(this.#held.get(nameOf(table, chain)) ?? []).some(({ key }) => key === text);
    }).map((jump): XtChange => ({ kind: "insert-rule", ...jump }));
  }

  #listed(rule: XtRule): XtListedRule {
    return { key: this.#textOf(rule), rule };
  }

  #textOf(rule: XtRule): string {
    let text = this.#texts.get(rule);
    if (text === undefined) this.#texts.set(rule, text = ruleText(rule, this.#family));
    return text;
  }
}

function nameOf(table: XtTable, chain: string): string {
  return `${table} ${chain}`;
}
