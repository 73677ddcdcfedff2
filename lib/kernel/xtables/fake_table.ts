/** One table of the fake: what the kernel would refuse, and what it would hold. */
import type { IpFamily } from "../../base/ip_family.ts";
import { builtInChains, jumpOf, type XtChange, type XtRule, type XtTable } from "./rules.ts";
import { ruleText } from "./text.ts";
import type { XtBackend, XtFailure } from "./xtables.ts";

/** Why a change is refused. */
export type FakeRefusal = Omit<XtFailure, "change">;

/** Longer names do not fit into the structures of xtables. */
const MAX_CHAIN_NAME = 28;

interface FakeChain {
  readonly handle: number;
  readonly isBuiltIn: boolean;
  readonly rules: readonly XtRule[];
}

/** What a table of the fake asks the rest of it. */
export interface FakeTableOptions {
  readonly family: IpFamily;
  readonly table: XtTable;
  readonly nextHandle: () => number;
  readonly hasCounter: (name: string) => boolean;
  readonly hasSet: (name: string) => boolean;
}

export class FakeTable {
  readonly #options: FakeTableOptions;
  readonly #chains: Map<string, FakeChain>;

  constructor(options: FakeTableOptions, chains: ReadonlyMap<string, FakeChain> = new Map()) {
    this.#options = options;
    this.#chains = new Map(chains);
  }

  /** A table that can be changed without changing this one. */
  copy(): FakeTable {
    return new FakeTable(this.#options, this.#chains);
  }

  /** Name, built-in or not, and handle and use as nft counts them, or what legacy makes of all rules. */
  *chains(
    backend: XtBackend,
  ): Generator<{ name: string; isBuiltIn: boolean; fingerprint: string }> {
    const uses = new Map<string, number>();
    for (const { rules } of this.#chains.values()) {
      for (const rule of rules) {
        const jump = jumpOf(rule);
        if (jump !== undefined) uses.set(jump, (uses.get(jump) ?? 0) + 1);
      }
    }
    for (const [name, { handle, isBuiltIn, rules }] of this.#chains) {
      const use = rules.length + (uses.get(name) ?? 0);
      const said = () => rules.map((rule) => ruleText(rule, this.#options.family)).join("\n");
      yield { name, isBuiltIn, fingerprint: backend === "nft" ? `${handle}/${use}` : said() };
    }
  }

  /** Those of every chain. */
  allRules(): readonly XtRule[] {
    return [...this.#chains.values()].flatMap(({ rules }) => rules);
  }

  /** Undefined: no such chain. */
  rules(chain: string): readonly XtRule[] | undefined {
    return this.#chains.get(chain)?.rules;
  }

  /** Applies the change, or says why not. */
  apply(change: XtChange): FakeRefusal | undefined {
    if (change.kind === "add-table") return this.#addTable(change.chains);
    const { chain: name } = change;
    const chain = this.#chains.get(name);
    if (change.kind === "add-chain") return this.#addChain(name);
    if (!chain) return notFound(`No chain "${name}"`);
    switch (change.kind) {
      case "flush-chain":
        this.#chains.set(name, { ...chain, rules: [] });
        return undefined;
      case "delete-chain":
        return this.#deleteChain(name, chain);
      case "delete-rule":
        return this.#deleteRule(name, chain, change.rule);
      default: {
        const refusal = this.#fault(change.rule);
        if (refusal) return refusal;
        const rules = change.kind === "append-rule"
          ? [...chain.rules, change.rule]
          : [change.rule, ...chain.rules];
        this.#chains.set(name, { ...chain, rules });
        return undefined;
      }
    }
  }

  #addTable(chains: readonly string[] = builtInChains[this.#options.table]): undefined {
    for (const name of chains) {
      if (!this.#chains.has(name)) this.#make(name, true);
    }
  }

  #addChain(name: string): FakeRefusal | undefined {
    if (this.#chains.has(name)) return { refusal: "exists", message: "File exists" };
    if (name.length > MAX_CHAIN_NAME) return { refusal: "other", message: "Name too long" };
    this.#make(name, false);
    return undefined;
  }

  #make(name: string, isBuiltIn: boolean): void {
    this.#chains.set(name, { handle: this.#options.nextHandle(), isBuiltIn, rules: [] });
  }

  #deleteChain(name: string, { isBuiltIn, rules }: FakeChain): FakeRefusal | undefined {
    const isUsed = [...this.#chains.values()].some((chain) =>
      chain.rules.some((rule) => jumpOf(rule) === name)
    );
    if (isBuiltIn || rules.length > 0 || isUsed) {
      return { refusal: "busy", message: "Device or resource busy" };
    }
    this.#chains.delete(name);
    return undefined;
  }

  #deleteRule(name: string, chain: FakeChain, rule: XtRule): FakeRefusal | undefined {
    const { family } = this.#options;
    const key = ruleText(rule, family);
    const at = chain.rules.findIndex((each) => ruleText(each, family) === key);
    if (at < 0) return notFound("No such rule");
    this.#chains.set(name, { ...chain, rules: chain.rules.toSpliced(at, 1) });
    return undefined;
  }

  /** What the kernel finds wrong with a rule here. */
  #fault(rule: XtRule): FakeRefusal | undefined {
    const jump = jumpOf(rule);
    if (jump !== undefined && !this.#chains.has(jump)) return notFound(`No chain "${jump}"`);
    if (jump !== undefined && this.#chains.get(jump)?.isBuiltIn) return invalid("a built-in chain");
    for (const match of rule.matches) {
      if (match.kind === "ports" && match.protocol !== rule.protocol) {
        return invalid(`-m ${match.protocol} without -p ${match.protocol}`);
      }
      if (match.kind === "nfacct" && !this.#options.hasCounter(match.name)) {
        return notFound(`No counter "${match.name}"`);
      }
    }
    const set = rule.matches.find((match) =>
      match.kind === "set" && !this.#options.hasSet(match.name)
    );
    if (set && "name" in set) return notFound(`No set "${set.name}"`);
    const { table } = this.#options;
    const { target } = rule;
    const isNat = target?.kind === "dnat" || target?.kind === "masquerade";
    if (isNat && table !== "nat") return invalid("outside the table nat");
    if (target?.kind === "reject" && table !== "filter") return invalid("outside the table filter");
    return undefined;
  }
}

function notFound(message: string): FakeRefusal {
  return { refusal: "not-found", message };
}

function invalid(what: string): FakeRefusal {
  return { refusal: "other", message: `Invalid argument (${what})` };
}
