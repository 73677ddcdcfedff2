/**
 * Sizes at which tables were found right. A neighbour that adds and removes the same rule moves between such
 * sizes; whoever takes a rule of ours away as well leaves one that nobody saw before.
 */
import type { XtTable } from "../../kernel/xtables/rules.ts";
import type { Xtables, XtReceipt, XtStamp } from "../../kernel/xtables/xtables.ts";

/** The latest are kept of each table: the more there are, the likelier is an edit that leaves one of them. */
const mostPerTable = 8;

export class RightSizes {
  readonly #moved: NonNullable<Xtables["moved"]>;
  /** States in which a table was right, the latest first. */
  readonly #stamps = new Map<XtTable, readonly XtStamp[]>();

  constructor(moved: NonNullable<Xtables["moved"]>) {
    this.#moved = moved;
  }

  /** Whether the table had the size of this state when it was right. */
  has(table: XtTable, stamp: XtStamp): boolean {
    return this.#of(table).some((right) => !this.#moved(right, stamp).includes(table));
  }

  /** These tables are right in this state. */
  add(tables: readonly XtTable[], stamp: XtStamp): void {
    for (const table of tables) {
      if (this.has(table, stamp)) continue;
      this.#stamps.set(table, [stamp, ...this.#of(table)].slice(0, mostPerTable));
    }
  }

  /** What we wrote is right if what was there before is; no size from before our commit is right after it. */
  committed({ after, before }: XtReceipt): void {
    for (const table of this.#moved(before, after)) {
      this.#stamps.set(table, this.has(table, before) ? [after] : []);
    }
  }

  clear(): void {
    this.#stamps.clear();
  }

  #of(table: XtTable): readonly XtStamp[] {
    return this.#stamps.get(table) ?? [];
  }
}
