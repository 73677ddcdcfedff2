/**
 * iptables' rules in memory, for tests without root. It refuses what the kernel refuses, applies all
 * changes or none, and moves its stamp. What it does not know: loops of jumps, and which targets a
 * hook allows.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { differing } from "./differing.ts";
import { XtablesError } from "./errors.ts";
import { type FakeRefusal, FakeTable } from "./fake_table.ts";
import { listedRule } from "./parse.ts";
import { builtInChains, type XtChange, type XtTable, xtTables } from "./rules.ts";
import type {
  Xtables,
  XtBackend,
  XtChain,
  XtCommitOptions,
  XtComposition,
  XtFailure,
  XtReading,
  XtReceipt,
  XtRules,
  XtStamp,
  XtTouchedChain,
} from "./xtables.ts";

/** Changes that were applied. */
export interface FakeXtCommit {
  readonly family: IpFamily;
  readonly changes: readonly XtChange[];
}

type FakeTouch = XtTouchedChain & { readonly family: IpFamily };

/** Says why a change is to be refused, or undefined to let it pass. */
export type FakeXtFault = (change: XtChange, family: IpFamily) => FakeRefusal | undefined;

export interface FakeXtablesOptions {
  readonly backend?: XtBackend;
  /** Whether a named counter exists; by default none does. */
  readonly hasCounter?: (name: string) => boolean;
  /** Whether a set exists; by default none does. */
  readonly hasSet?: (name: string) => boolean;
  /** As where the nft backend's socket does not take every batch at once; by default it does. */
  readonly isSocketSmall?: boolean;
}

export class FakeXtables implements Xtables {
  readonly backend: XtBackend;
  readonly #hasCounter: (name: string) => boolean;
  readonly #hasSet: (name: string) => boolean;
  readonly #isSocketSmall: boolean;
  readonly #commits: FakeXtCommit[] = [];
  #tables = new Map<string, FakeTable>();
  #generation = 1;
  #lastHandle = 0;
  #fault: FakeXtFault = () => undefined;
  #nextCommits: FakeRefusal[] = [];
  /** What commits touched, by the generation that they changed. */
  readonly #touched = new Map<number, readonly FakeTouch[]>();
  #withheld: number | undefined;
  /** A number for each text that was ever digested. */
  readonly #digests = new Map<string, number>();

  constructor(options: FakeXtablesOptions = {}) {
    this.backend = options.backend ?? "nft";
    this.#hasCounter = options.hasCounter ?? (() => false);
    this.#hasSet = options.hasSet ?? (() => false);
    this.#isSocketSmall = options.isSocketSmall ?? false;
  }

  /** What was committed, oldest first. */
  get commits(): readonly FakeXtCommit[] {
    return this.#commits;
  }

  /** Changes for which the function gives a refusal fail from now on. */
  refuse(fault: FakeXtFault): void {
    this.#fault = fault;
  }

  /** The next commit fails as a whole, or so many. */
  failNextCommit(refusal: FakeRefusal, times: number = 1): void {
    this.#nextCommits = Array<FakeRefusal>(times).fill(refusal);
  }

  /** A change by somebody else. */
  edit(family: IpFamily, changes: readonly XtChange[]): void {
    this.#apply(family, changes);
    this.#touch(family, changes);
    this.#generation++;
  }

  /** Nobody is told of the commits until now. */
  loseNotices(): void {
    this.#touched.clear();
  }

  /** Nobody is told of the last commit, as if that were still to come. */
  withholdNotice(): void {
    this.#withheld = this.#generation - 1;
    this.#touched.delete(this.#withheld);
  }

  /** How many rules look into this set. */
  countRulesWithSet(name: string): number {
    let count = 0;
    for (const table of this.#tables.values()) {
      for (const { matches } of table.allRules()) {
        count += matches.filter((match) => match.kind === "set" && match.name === name).length;
      }
    }
    return count;
  }

  stamp(family: IpFamily): Promise<XtStamp> {
    return Promise.resolve(this.#stamp(family));
  }

  /** As in legacy alone: see `Xtables.moved`. */
  get moved(): NonNullable<Xtables["moved"]> | undefined {
    if (this.backend !== "legacy") return undefined;
    return (before, after) => {
      const sizes = [before, after].map((stamp) => stamp.split(", "));
      return xtTables.filter((table) => {
        const [was, is] = sizes.map((each) => each.find((size) => size.startsWith(`${table} `)));
        return was !== is;
      });
    };
  }

  /** As in nft alone: see `Xtables.digest`. */
  get digest(): NonNullable<Xtables["digest"]> | undefined {
    if (this.backend !== "nft") return undefined;
    return (family, tables) => {
      const chains = this.#chains(family, tables);
      return Promise.resolve(
        this.#numberOf(
          chains.map(({ fingerprint, name, table }) => `${table} ${name} ${fingerprint}`),
        ),
      );
    };
  }

  read(family: IpFamily, tables: readonly XtTable[]): Promise<XtReading> {
    return Promise.resolve({ chains: this.#chains(family, tables), ...this.#rules(family) });
  }

  /** As in nft alone: see `Xtables.live`. */
  get live(): NonNullable<Xtables["live"]> | undefined {
    if (this.backend !== "nft") return undefined;
    return (family) => {
      const { rules } = this.#rules(family);
      const orEmpty: XtRules["rules"] = async (table, names) => {
        const found = await rules(table, names);
        return new Map(names.map((name) => [name, found.get(name) ?? []]));
      };
      return {
        rules: orEmpty,
        differing: async (table, wanted) =>
          differing(wanted, await orEmpty(table, [...wanted.keys()]), family),
      };
    };
  }

  /** As in nft alone: see `Xtables.hear`. */
  get hear(): NonNullable<Xtables["hear"]> | undefined {
    if (this.backend !== "nft") return undefined;
    return (family) =>
      Promise.resolve({
        of: (before) => {
          const touched = this.#touched.get(Number(before));
          const isLate = Number(before) === this.#generation || Number(before) === this.#withheld;
          if (!touched) return isLate ? "later" : "lost";
          const chains = touched.filter((each) => each.family === family);
          return { after: String(Number(before) + 1), chains };
        },
      });
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async commit(
    family: IpFamily,
    changes: readonly XtChange[],
    options: XtCommitOptions = {},
  ): Promise<XtReceipt | undefined> {
    options.signal?.throwIfAborted();
    if (changes.length === 0) return undefined;
    const refusal = this.#nextCommits.pop();
    if (refusal) {
      throw new XtablesError({ family, changes, failures: [{ change: -1, ...refusal }] });
    }
    const before = this.#stamp(family);
    this.#apply(family, changes);
    this.#commits.push({ family, changes });
    this.#touch(family, changes);
    this.#generation++;
    return { before, after: this.#stamp(family), isOwn: true };
  }

  /** See `Xtables.compose`. */
  get compose(): NonNullable<Xtables["compose"]> | undefined {
    if (this.#isSocketSmall) return undefined;
    const { backend } = this;
    const commit = (family: IpFamily) => (changes: readonly XtChange[]) =>
      this.commit(family, changes);
    return (family) => new FakeComposition(commit(family), { family, backend });
  }

  #apply(family: IpFamily, changes: readonly XtChange[]): void {
    const copies = new Map<string, FakeTable>();
    const failures = changes.flatMap((change, index): readonly XtFailure[] => {
      const name = `${family} ${change.table}`;
      const known = copies.get(name) ?? this.#tables.get(name)?.copy();
      const refusal = this.#fault(change, family) ??
        (!known && change.kind !== "add-table"
          ? { refusal: "not-found" as const, message: `No table "${change.table}"` }
          : undefined);
      if (refusal) return [{ change: index, ...refusal }];
      const table = known ?? this.#newTable(family, change.table);
      copies.set(name, table);
      const refused = table.apply(change);
      return refused ? [{ change: index, ...refused }] : [];
    });
    if (failures.length > 0) throw new XtablesError({ family, changes, failures });
    this.#tables = new Map([...this.#tables, ...copies]);
  }

  /** Before the generation moves. */
  #touch(family: IpFamily, changes: readonly XtChange[]): void {
    const touched = changes.flatMap((change): readonly FakeTouch[] => {
      const { table } = change;
      if (change.kind === "add-table") {
        const { chains = builtInChains[table] } = change;
        return chains.map((chain) => ({ family, table, chain, isListed: true }));
      }
      const isListed = change.kind === "add-chain" || change.kind === "delete-chain";
      return [{ family, table, chain: change.chain, isListed }];
    });
    this.#touched.set(this.#generation, touched);
  }

  #chains(family: IpFamily, tables: readonly XtTable[]): readonly XtChain[] {
    return tables.flatMap((table): readonly XtChain[] => {
      const found = this.#tables.get(`${family} ${table}`);
      return found ? [...found.chains(this.backend)].map((chain) => ({ table, ...chain })) : [];
    });
  }

  /** In nft a generation, in legacy the sizes of tables. */
  #stamp(family: IpFamily): XtStamp {
    if (this.backend === "nft") return String(this.#generation);
    return xtTables.flatMap((table) => {
      const found = this.#tables.get(`${family} ${table}`);
      if (!found) return [];
      return [`${table} ${[...found.chains("legacy")].length}/${found.allRules().length}`];
    }).join(", ");
  }

  #rules(family: IpFamily): XtRules {
    const rules: XtRules["rules"] = (table, names) =>
      Promise.resolve(
        new Map(names.flatMap((chain) => {
          const found = this.#tables.get(`${family} ${table}`)?.rules(chain);
          return found ? [[chain, found.map((rule) => listedRule(rule, family))] as const] : [];
        })),
      );
    return {
      rules,
      differing: async (table, wanted) =>
        differing(wanted, await rules(table, [...wanted.keys()]), family),
    };
  }

  #numberOf(lines: readonly string[]): number {
    const text = lines.join("\n");
    const number = this.#digests.get(text) ?? this.#digests.size;
    this.#digests.set(text, number);
    return number;
  }

  #newTable(family: IpFamily, table: XtTable): FakeTable {
    return new FakeTable({
      family,
      table,
      nextHandle: () => ++this.#lastHandle,
      hasCounter: this.#hasCounter,
      hasSet: this.#hasSet,
    });
  }
}

/** Tells as little of a refusal as one that keeps no changes. */
class FakeComposition implements XtComposition {
  readonly #commit: (changes: readonly XtChange[]) => Promise<XtReceipt | undefined>;
  readonly #family: IpFamily;
  readonly #backend: XtBackend;
  readonly #changes: XtChange[] = [];

  constructor(
    commit: (changes: readonly XtChange[]) => Promise<XtReceipt | undefined>,
    { backend, family }: { readonly backend: XtBackend; readonly family: IpFamily },
  ) {
    this.#commit = commit;
    this.#family = family;
    this.#backend = backend;
  }

  get count(): number {
    return this.#changes.length;
  }

  takes(changes: readonly XtChange[]): boolean {
    return this.#backend === "legacy" || changes.every(({ kind }) => kind !== "delete-rule");
  }

  add(changes: readonly XtChange[]): void {
    this.#changes.push(...changes);
  }

  abandon(): Promise<void> {
    this.#changes.length = 0;
    return Promise.resolve();
  }

  async commit(): Promise<XtReceipt> {
    try {
      const receipt = await this.#commit(this.#changes);
      if (receipt) return receipt;
    } catch (error) {
      if (!(error instanceof XtablesError)) throw error;
      throw new XtablesError({ family: this.#family, changes: [], failures: error.failures });
    }
    throw new Error("Cannot commit a composition: it has no changes");
  }
}
