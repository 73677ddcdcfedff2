/**
 * The way from one state to another as three steps that are committed in this order, together or
 * apart: new chains, which nothing leads to yet; what packets meet; what nothing leads to any more.
 */
import type { XtRule, XtTable } from "../../kernel/xtables/rules.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import { Batch } from "./batch.ts";

/** Where a chain is. */
export interface ChainPlace {
  readonly table: XtTable;
  readonly chain: string;
}

export class Draft {
  readonly #leaves = new Batch();
  readonly #main = new Batch();
  readonly #flushes = new Batch();
  readonly #deletions = new Batch();
  readonly #removedRules = new Batch();

  /** A chain that is not there yet; complete before anything of the second step leads to it. */
  addChain(place: ChainPlace, rules: readonly XtRule[], owner?: ServicePortKey): void {
    this.#leaves.add({ kind: "add-chain", ...place }, owner);
    for (const rule of rules) this.#leaves.add({ kind: "append-rule", ...place, rule }, owner);
  }

  /** Replaces the rules of a chain that is there, in one commit: pins of clients live on. */
  rewriteChain(place: ChainPlace, rules: readonly XtRule[], owner?: ServicePortKey): void {
    this.#main.add({ kind: "flush-chain", ...place }, owner);
    this.fill(place, rules.map((rule) => ({ rule, ...(owner !== undefined && { owner }) })));
  }

  /** Puts rules at the end of a chain, in their order. */
  fill(place: ChainPlace, rules: readonly OwnedRule[]): void {
    for (const { owner, rule } of rules) {
      this.#main.add({ kind: "append-rule", ...place, rule }, owner);
    }
  }

  /** Puts rules at the head of a chain, so that they stand in this order. */
  insert(place: ChainPlace, rules: readonly OwnedRule[]): void {
    for (const { owner, rule } of rules.toReversed()) {
      this.#main.add({ kind: "insert-rule", ...place, rule }, owner);
    }
  }

  removeRule(place: ChainPlace, rule: XtRule, owner?: ServicePortKey): void {
    this.#removedRules.add({ kind: "delete-rule", ...place, rule }, owner);
  }

  /** Chains may lead to each other: all are emptied before the first one goes. */
  removeChain(place: ChainPlace, owner?: ServicePortKey): void {
    this.#flushes.add({ kind: "flush-chain", ...place }, owner);
    this.#deletions.add({ kind: "delete-chain", ...place }, owner);
  }

  /** A table, with these of its built-in chains: each that is made costs every packet a little. */
  addTable(table: XtTable, chains: readonly string[]): void {
    this.#leaves.add({ kind: "add-table", table, chains });
  }

  /** The new chains so far, which are forgotten here. */
  takeLeaves(): Batch {
    return take(this.#leaves);
  }

  /** How many changes the new chains are. */
  get leafCount(): number {
    return this.#leaves.changes.length;
  }

  /** Everything that is left, as one batch. */
  takeAll(): Batch {
    const all = this.takeLeaves();
    for (const step of [this.#removedRules, this.#main, this.#flushes, this.#deletions]) {
      all.append(take(step));
    }
    return all;
  }
}

/** A rule with the service port that it is for. */
export interface OwnedRule {
  readonly rule: XtRule;
  readonly owner?: ServicePortKey;
}

function take(from: Batch): Batch {
  const taken = new Batch();
  taken.append(from);
  from.clear();
  return taken;
}
