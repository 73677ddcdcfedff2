/**
 * nf_tables in memory. It refuses what the kernel refuses, applies a batch as a whole or not at all,
 * and moves its generation, so a writer can be tested without root. What it does not know: loops of
 * jumps, and which statements a hook allows.
 */
import { Errno } from "../errno.ts";
import { decodeElements } from "./decode_elements.ts";
import type { ElementList } from "./element_list.ts";
import { encodeBatch } from "./encode.ts";
import { differenceOf } from "./element_identity.ts";
import { describeOperation } from "./describe_operation.ts";
import { failureText, NfTablesError } from "../nf_tables/errors.ts";
import { expressionsKey } from "./expressions.ts";
import { type FakeRefusal, FakeTable, type Undo } from "./fake_table.ts";
import { lowerRule } from "./lower_rule.ts";
import type {
  CommitOptions,
  Nftables,
  NftElementDifference,
  NftListedRule,
  NftTableListing,
} from "./nftables.ts";
import type { CommitReceipt, CommitSeries } from "../nf_tables/transport.ts";
import type { BatchFailure } from "../nf_tables/errors.ts";
import type { NftElement, NftOperation, NftRule, NftSet, NftTable } from "./operations.ts";
import { chainBody, elementText, ruleText, setBody, setKind } from "./text.ts";

/** A batch that was applied. */
export interface FakeCommit {
  readonly table: NftTable;
  readonly operations: readonly NftOperation[];
}

/** Says why an operation is to fail, or undefined to let it pass. */
export type FakeFault = (operation: NftOperation, table: NftTable) => number | undefined;

/** Which kernel the fake is. */
export interface FakeNftablesOptions {
  /** Before Linux 6.2: a chain stays in use until the batch that deletes the last element to it is committed. */
  readonly holdsChainsUntilCommit?: boolean;
  /** Bytes that its socket takes at once; any number by default. */
  readonly largestBatch?: number;
  /** As newer kernels, a set says how many elements it has; true by default. */
  readonly tellsCounts?: boolean;
}

/** An `Nftables` that behaves. */
export class FakeNftables implements Nftables {
  readonly largestBatch: number;
  readonly #holdsChains: boolean;
  readonly #tellsCounts: boolean;
  readonly #tables = new Map<string, { readonly table: NftTable; readonly state: FakeTable }>();
  readonly #commits: FakeCommit[] = [];
  readonly #stopped = new WeakSet<CommitSeries>();
  #generation = 1;
  #handle = 0n;
  #fault: FakeFault = () => undefined;
  #nextBatchErrno = 0;
  #ownerPort: number | undefined;

  constructor(options: FakeNftablesOptions = {}) {
    this.#holdsChains = options.holdsChainsUntilCommit ?? false;
    this.#tellsCounts = options.tellsCounts ?? true;
    this.largestBatch = options.largestBatch ?? Infinity;
  }

  /** The applied batches, oldest first. */
  get commits(): readonly FakeCommit[] {
    return this.#commits;
  }

  /** Operations for which the function gives an error number fail from now on. */
  refuse(fault: FakeFault): void {
    this.#fault = fault;
  }

  /** The next batch fails as a whole: ENOBUFS, EINTR, EPERM, … */
  failNextBatch(errno: number): void {
    this.#nextBatchErrno = errno;
  }

  /** From now on the tables belong to the socket with this port, and every change is refused; or to nobody again. */
  giveTo(ownerPort: number | undefined): void {
    this.#ownerPort = ownerPort;
    this.#generation++;
    this.refuse(() => ownerPort === undefined ? undefined : Errno.EPERM);
  }

  /** A change of somebody else that does not touch our tables. */
  moveGeneration(): void {
    this.#generation++;
  }

  generation(): Promise<number> {
    return Promise.resolve(this.#generation);
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async commit(
    table: NftTable,
    operations: readonly NftOperation[],
    options: CommitOptions = {},
  ): Promise<CommitReceipt | undefined> {
    options.signal?.throwIfAborted();
    if (operations.length === 0) return undefined;
    const { series } = options;
    try {
      if (series && this.#stopped.has(series)) {
        throw new Error(
          `Cannot change ${placeOf(table)}: a batch that this one builds on was refused`,
        );
      }
      return this.#commit(table, operations, options);
    } catch (error) {
      if (series) this.#stopped.add(series);
      throw error;
    }
  }

  #commit(
    table: NftTable,
    operations: readonly NftOperation[],
    options: CommitOptions,
  ): CommitReceipt {
    const setOf = this.#setLookup(table, operations);
    // What cannot be encoded must not pass here either. Elements of missing sets are refused below.
    const known = operations.filter((each) => !("elements" in each) || setOf(each.set));
    const { bytes } = encodeBatch(table, known, { setOf });
    if (bytes.length > this.largestBatch) this.#nextBatchErrno ||= Errno.EMSGSIZE;
    this.#failAsAWhole(table, options.generation);
    const failures = this.#apply(table, operations);
    if (failures.length === 0) {
      const before = this.#generation++;
      this.#commits.push({ table, operations });
      return { before, after: this.#generation };
    }
    throw new NfTablesError(failures, (failure) => {
      const operation = operations[failure.operation];
      return `${describeOperation(operation, { ...failure, setOf })} in ${placeOf(table)}`;
    });
  }

  listTable(table: NftTable): Promise<NftTableListing | undefined> {
    const state = this.#state(table);
    if (!state) return Promise.resolve(undefined);
    const chains = [...state.chains.values()];
    return Promise.resolve({
      isDormant: state.isDormant,
      ownerPort: this.#ownerPort,
      chains: chains.map(({ chain }) => chain),
      sets: [...state.sets.values()].map(({ set }) => set),
      counts: new Map(
        this.#tellsCounts
          ? [...state.sets.values()].map(({ elements, set }) => [set.name, countOf(elements)])
          : [],
      ),
      rules: chains.flatMap(({ rules }) =>
        rules.map(({ handle, rule }) => listedRule(table, handle, rule))
      ),
    });
  }

  listElements(table: NftTable, set: NftSet): Promise<readonly NftElement[]> {
    const found = this.#state(table)?.sets.get(set.name);
    if (found) return Promise.resolve([...found.elements.values()]);
    const failure = { operation: -1, errno: Errno.ENOENT, message: failureText(Errno.ENOENT, {}) };
    const describe = () => `list elements of "${set.name}" in ${placeOf(table)}`;
    return Promise.reject(new NfTablesError([failure], describe));
  }

  async compareElements(
    table: NftTable,
    set: NftSet,
    desired: ElementList | Promise<ElementList>,
  ): Promise<NftElementDifference> {
    const [listed, wanted] = await Promise.all([this.listElements(table, set), desired]);
    return differenceOf(listed, decodeElements(wanted.bytes(), set, table.family));
  }

  async holdsElements(
    table: NftTable,
    set: NftSet,
    elements: readonly NftElement[],
  ): Promise<boolean> {
    if (!this.#state(table)?.sets.has(set.name)) return false;
    const { missing } = differenceOf(await this.listElements(table, set), elements);
    return missing.length === 0;
  }

  async hasCatchAll(table: NftTable, set: NftSet): Promise<boolean> {
    return (await this.listElements(table, set)).some(({ key }) => key.length === 0);
  }

  findChains(table: NftTable, names: readonly string[]): Promise<readonly string[]> {
    const chains = this.#state(table)?.chains;
    return Promise.resolve(names.filter((name) => chains?.has(name)));
  }

  listTables(): Promise<readonly NftTable[]> {
    return Promise.resolve([...this.#tables.values()].map(({ table }) => table));
  }

  /** Everything as text that `nft -f -` loads, sorted, so that equal states give equal text. */
  dump(): string {
    return [...this.#tables.values()].map(({ table, state }) => dumpTable(table, state)).sort()
      .join("");
  }

  #state(table: NftTable): FakeTable | undefined {
    return this.#tables.get(keyOf(table))?.state;
  }

  #setLookup(
    table: NftTable,
    operations: readonly NftOperation[],
  ): (name: string) => NftSet | undefined {
    const before = new Map<string, NftSet>();
    for (const [name, { set }] of this.#state(table)?.sets ?? []) before.set(name, set);
    for (const operation of operations) {
      if (operation.kind === "add-set" && !before.has(operation.set.name)) {
        before.set(operation.set.name, operation.set);
      }
    }
    return (name) => before.get(name);
  }

  #failAsAWhole(table: NftTable, generation: number | undefined): void {
    const isStale = generation !== undefined && generation !== this.#generation;
    const errno = isStale ? Errno.ERESTART : this.#nextBatchErrno;
    this.#nextBatchErrno = 0;
    if (errno === 0) return;
    const failure = { operation: -1, errno, message: failureText(errno, {}) };
    throw new NfTablesError([failure], () => `change ${placeOf(table)}`);
  }

  /** Goes on behind a refused operation as the kernel does, and undoes everything if there was one. */
  #apply(table: NftTable, operations: readonly NftOperation[]): BatchFailure[] {
    const undo: Undo = [];
    const failures: BatchFailure[] = [];
    this.#state(table)?.beginBatch();
    try {
      for (const [index, operation] of operations.entries()) {
        const errno = this.#fault(operation, table);
        const refusal = errno === undefined ? this.#applyOne(table, operation, undo) : { errno };
        if (refusal) failures.push(failureOf(index, refusal));
      }
    } catch (error) {
      rollBack(undo);
      throw error;
    }
    if (failures.length > 0) rollBack(undo);
    return failures;
  }

  #applyOne(table: NftTable, operation: NftOperation, undo: Undo): FakeRefusal | undefined {
    const key = keyOf(table);
    const existing = this.#tables.get(key);
    if (operation.kind === "add-table") {
      if (existing) {
        existing.state.setDormant(operation.dormant === true, undo);
        return undefined;
      }
      this.#tables.set(key, { table, state: new FakeTable(table, () => ++this.#handle) });
      undo.push(() => this.#tables.delete(key));
      return undefined;
    }
    if (!existing) return { errno: Errno.ENOENT };
    if (operation.kind !== "delete-table") {
      const isHeld = this.#holdsChains && operation.kind === "delete-chain" &&
        existing.state.wasLedToBefore(operation.chain);
      return isHeld ? { errno: Errno.EBUSY } : existing.state.apply(operation, undo);
    }
    this.#tables.delete(key);
    undo.push(() => this.#tables.set(key, existing));
    return undefined;
  }
}

function keyOf(table: NftTable): string {
  return `${table.family} ${table.name}`;
}

/** As the kernel counts. */
function countOf(elements: ReadonlyMap<string, NftElement>): number {
  return elements.values().filter(({ key }) => key.length > 0).toArray().length;
}

function placeOf(table: NftTable): string {
  return `table "${keyOf(table)}"`;
}

function failureOf(operation: number, { errno, element }: FakeRefusal): BatchFailure {
  const message = failureText(errno, {});
  return { operation, ...(element !== undefined && { element }), errno, message };
}

function rollBack(undo: Undo): void {
  for (const step of undo.reverse()) step();
}

function listedRule(table: NftTable, handle: bigint, rule: NftRule): NftListedRule {
  const key = (each: NftRule) => expressionsKey(lowerRule(each, table.family));
  return {
    chain: rule.chain,
    handle,
    matches: (other) =>
      other.chain === rule.chain && other.comment === rule.comment && key(other) === key(rule),
  };
}

function dumpTable(table: NftTable, state: FakeTable): string {
  const lines = [`table ${table.family} ${table.name} {`];
  if (state.isDormant) lines.push("  flags dormant");
  for (const [name, { set, elements }] of sorted(state.sets)) {
    const list = [...elements.values()].map(elementText).sort();
    const body = list.length === 0 ? "" : ` elements = { ${list.join(", ")} }`;
    lines.push(`  ${setKind(set)} ${name} { ${setBody(set, table.family)}${body} }`);
  }
  for (const [name, { chain, rules }] of sorted(state.chains)) {
    lines.push(`  chain ${name}${chainBody(chain) || " {"}`.replace(/ \}$/, ""));
    for (const { rule } of rules) lines.push(`    ${ruleText(rule, table.family)}`);
    lines.push("  }");
  }
  return `${[...lines, "}"].join("\n")}\n`;
}

function sorted<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => a < b ? -1 : 1);
}
