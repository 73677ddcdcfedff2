/** One table in memory, for the fake: applies single operations or says why the kernel would not. */
import { Errno } from "../errno.ts";
import { deepEqual } from "../../base/deep_equal.ts";
import { elementKey } from "./element_identity.ts";
import { keyToDelete, overlapErrno } from "./fake_intervals.ts";
import { lowerRule } from "./lower_rule.ts";
import type {
  NftChain,
  NftElement,
  NftFieldType,
  NftOperation,
  NftRule,
  NftSelector,
  NftSet,
  NftTable,
  NftVerdict,
} from "./operations.ts";
import { selectorType } from "./selectors.ts";
import { elementText } from "./text.ts";

/** A chain with its rules. */
interface FakeChain {
  chain: NftChain;
  rules: { readonly handle: bigint; readonly rule: NftRule }[];
}

/** A set with its elements by key. */
interface FakeSet {
  readonly set: NftSet;
  readonly elements: Map<string, NftElement>;
}

/** Why an operation is refused. */
export interface FakeRefusal {
  readonly errno: number;
  readonly element?: number;
}

/** Takes back what was done, in reverse order. */
export type Undo = (() => void)[];

const NAME_MAX = 255;

/** A table's state. Every method changes it, notes how to undo that, and returns a refusal or undefined. */
export class FakeTable {
  readonly chains = new Map<string, FakeChain>();
  readonly sets = new Map<string, FakeSet>();
  /** How many rules and elements lead to a chain, and how many rules use a set. */
  readonly #chainUses = new Map<string, number>();
  readonly #setUses = new Map<string, number>();
  readonly #table: NftTable;
  #isDormant = false;
  readonly #nextHandle: () => bigint;
  /** Chains that elements led to which this batch deleted. */
  readonly #leftThisBatch = new Set<string>();

  constructor(table: NftTable, nextHandle: () => bigint) {
    this.#table = table;
    this.#nextHandle = nextHandle;
  }

  /** Nothing of it has an effect. */
  get isDormant(): boolean {
    return this.#isDormant;
  }

  /** Sends it to sleep or wakes it. */
  setDormant(isDormant: boolean, undo: Undo): void {
    const before = this.#isDormant;
    this.#isDormant = isDormant;
    undo.push(() => this.#isDormant = before);
  }

  /** A new batch begins: what the last one deleted is gone for good. */
  beginBatch(): void {
    this.#leftThisBatch.clear();
  }

  /** Whether an element that this batch deleted led to the chain: old kernels then refuse to delete it. */
  wasLedToBefore(chain: string): boolean {
    return this.#leftThisBatch.has(chain);
  }

  apply(
    operation: Exclude<NftOperation, { kind: "add-table" | "delete-table" }>,
    undo: Undo,
  ): FakeRefusal | undefined {
    switch (operation.kind) {
      case "add-chain":
        return this.#addChain(operation.chain, undo);
      case "flush-chain":
        return this.#flushChain(operation.chain, undo);
      case "delete-chain":
        return this.#deleteChain(operation.chain, undo);
      case "add-rule":
        return this.#addRule(operation.rule, undo);
      case "add-set":
        return this.#addSet(operation.set, undo);
      case "delete-set":
        return this.#deleteSet(operation.set, undo);
      case "flush-set":
        return this.#flushSet(operation.set, undo);
      case "add-elements":
        return this.#eachElement(operation, (set, element) => this.#addElement(set, element, undo));
      case "delete-elements":
        return this.#eachElement(
          operation,
          (set, element) => this.#deleteElement(set, this.#keyToDelete(set, element), undo),
        );
    }
  }

  #addChain(chain: NftChain, undo: Undo): FakeRefusal | undefined {
    if (chain.name.length > NAME_MAX) return { errno: Errno.ERANGE };
    const existing = this.chains.get(chain.name);
    if (!existing) {
      setEntry(this.chains, [chain.name, { chain, rules: [] }], undo);
      return undefined;
    }
    const { base } = existing.chain;
    if (!chain.base) return undefined;
    const { policy: _, ...place } = chain.base;
    const { policy: __, ...existingPlace } = base ?? {};
    if (!base || !deepEqual(place, existingPlace)) return { errno: Errno.EOPNOTSUPP };
    const before = existing.chain;
    existing.chain = { ...before, base: chain.base };
    undo.push(() => existing.chain = before);
    return undefined;
  }

  #flushChain(name: string, undo: Undo): FakeRefusal | undefined {
    const found = this.chains.get(name);
    if (!found) return { errno: Errno.ENOENT };
    const before = found.rules;
    for (const { rule } of before) this.#use(rule, -1, undo);
    found.rules = [];
    undo.push(() => found.rules = before);
    return undefined;
  }

  /** The rules of the chain go with it; what leads to it keeps it. */
  #deleteChain(name: string, undo: Undo): FakeRefusal | undefined {
    if (!this.chains.has(name)) return { errno: Errno.ENOENT };
    this.#flushChain(name, undo);
    if ((this.#chainUses.get(name) ?? 0) > 0) return { errno: Errno.EBUSY };
    deleteEntry(this.chains, name, undo);
    return undefined;
  }

  #addRule(rule: NftRule, undo: Undo): FakeRefusal | undefined {
    const found = this.chains.get(rule.chain);
    if (!found) return { errno: Errno.ENOENT };
    const { chains, lookups } = references(rule);
    if (chains.some((name) => !this.chains.has(name))) return { errno: Errno.ENOENT };
    for (const lookup of lookups) {
      const set = this.sets.get(lookup.set)?.set;
      if (!set) return { errno: Errno.ENOENT };
      if (!fits(lookup, set)) return { errno: Errno.EINVAL };
    }
    // Statements that cannot be lowered throw here, as they do in the real one.
    lowerRule(rule, this.#table.family);
    const before = found.rules;
    found.rules = [...before, { handle: this.#nextHandle(), rule }];
    undo.push(() => found.rules = before);
    this.#use(rule, 1, undo);
    return undefined;
  }

  #addSet(set: NftSet, undo: Undo): FakeRefusal | undefined {
    if (set.name.length > NAME_MAX) return { errno: Errno.ERANGE };
    const existing = this.sets.get(set.name);
    if (existing) return sameShape(existing.set, set) ? undefined : { errno: Errno.EEXIST };
    setEntry(this.sets, [set.name, { set, elements: new Map() }], undo);
    return undefined;
  }

  #deleteSet(name: string, undo: Undo): FakeRefusal | undefined {
    if (!this.sets.has(name)) return { errno: Errno.ENOENT };
    if ((this.#setUses.get(name) ?? 0) > 0) return { errno: Errno.EBUSY };
    this.#flushSet(name, undo);
    deleteEntry(this.sets, name, undo);
    return undefined;
  }

  #flushSet(name: string, undo: Undo): FakeRefusal | undefined {
    const found = this.sets.get(name);
    if (!found) return { errno: Errno.ENOENT };
    for (const key of [...found.elements.keys()]) this.#deleteElement(found, key, undo);
    return undefined;
  }

  #eachElement(
    { set, elements }: { readonly set: string; readonly elements: readonly NftElement[] },
    action: (set: FakeSet, element: NftElement) => number,
  ): FakeRefusal | undefined {
    const found = this.sets.get(set);
    if (!found) return { errno: Errno.ENOENT };
    for (const [element, each] of elements.entries()) {
      const errno = action(found, each);
      if (errno !== 0) return { errno, element };
    }
    return undefined;
  }

  #addElement({ set, elements }: FakeSet, element: NftElement, undo: Undo): number {
    const key = elementKey(element);
    const existing = elements.get(key);
    if (existing) return valueText(existing) === valueText(element) ? 0 : Errno.EEXIST;
    const target = chainOf(element.value);
    if (target !== undefined && !this.chains.has(target)) return Errno.ENOENT;
    if (set.interval) {
      const errno = overlapErrno({ set, family: this.#table.family, elements }, element);
      if (errno !== 0) return errno;
    }
    setEntry(elements, [key, element], undo);
    if (target !== undefined) count(this.#chainUses, [target, 1], undo);
    return 0;
  }

  #keyToDelete({ set, elements }: FakeSet, element: NftElement): string | undefined {
    if (!set.interval) return elementKey(element);
    return keyToDelete({ set, family: this.#table.family, elements }, element);
  }

  #deleteElement({ elements }: FakeSet, key: string | undefined, undo: Undo): number {
    const existing = key === undefined ? undefined : elements.get(key);
    if (key === undefined || !existing) return Errno.ENOENT;
    deleteEntry(elements, key, undo);
    const target = chainOf(existing.value);
    if (target !== undefined) {
      count(this.#chainUses, [target, -1], undo);
      this.#leftThisBatch.add(target);
    }
    return 0;
  }

  #use(rule: NftRule, change: number, undo: Undo): void {
    const { chains, lookups } = references(rule);
    for (const name of chains) count(this.#chainUses, [name, change], undo);
    for (const { set } of lookups) count(this.#setUses, [set, change], undo);
  }
}

/** A rule's use of a named set. */
interface Lookup {
  readonly set: string;
  readonly select: readonly NftSelector[];
  readonly yields: "nothing" | "verdict" | "destination";
}

function references(
  rule: NftRule,
): { readonly chains: readonly string[]; readonly lookups: readonly Lookup[] } {
  const chains: string[] = [];
  const lookups: Lookup[] = [];
  const lead = (verdict: NftVerdict) => {
    if ("chain" in verdict) chains.push(verdict.chain);
  };
  for (const statement of rule.statements) {
    if (statement.kind === "verdict") lead(statement.verdict);
    if (statement.kind === "random-verdict") statement.verdicts.forEach(lead);
    if (statement.kind === "match" && "set" in statement.in) {
      lookups.push({ set: statement.in.set, select: statement.select, yields: "nothing" });
    }
    if (statement.kind === "vmap") {
      lookups.push({ set: statement.map, select: statement.select, yields: "verdict" });
    }
    if (statement.kind === "dnat-map") {
      lookups.push({ set: statement.map, select: statement.select, yields: "destination" });
    }
    if (statement.kind === "update-set") {
      lookups.push({ set: statement.set, select: statement.select, yields: "nothing" });
    }
  }
  return { chains, lookups };
}

/** Stricter than the kernel, which compares lengths only: keys of other types would never match. */
function fits({ select, yields }: Lookup, set: NftSet): boolean {
  const key: readonly NftFieldType[] = select.map(selectorType);
  if (!deepEqual(key, set.key)) return false;
  switch (yields) {
    case "nothing":
      return set.value === undefined;
    case "verdict":
      return set.value === "verdict";
    case "destination":
      return deepEqual(set.value, ["addr", "inet_service"]);
  }
}

/** The kernel compares types and flags, not comments. */
function sameShape(a: NftSet, b: NftSet): boolean {
  const { comment: _, ...shapeOfA } = a;
  const { comment: __, ...shapeOfB } = b;
  return deepEqual(shapeOfA, shapeOfB);
}

/** The kernel keeps the comment of the element that was there first. */
function valueText({ key, value }: NftElement): string {
  return elementText(value === undefined ? { key } : { key, value });
}

function chainOf(value: NftElement["value"]): string | undefined {
  return value !== undefined && "kind" in value && "chain" in value ? value.chain : undefined;
}

function setEntry<K, V>(map: Map<K, V>, [key, value]: readonly [K, V], undo: Undo): void {
  map.set(key, value);
  undo.push(() => map.delete(key));
}

function deleteEntry<K, V>(map: Map<K, V>, key: K, undo: Undo): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  undo.push(() => map.set(key, value));
}

function count(
  uses: Map<string, number>,
  [name, change]: readonly [string, number],
  undo: Undo,
): void {
  uses.set(name, (uses.get(name) ?? 0) + change);
  undo.push(() => uses.set(name, (uses.get(name) ?? 0) - change));
}
