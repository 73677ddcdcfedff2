/**
 * What the table is made of beside what always is there, counted: kept up to date with each service
 * port that changes, so that a look at the table's structure costs nothing of the cluster's size.
 */
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Owner } from "./batch.ts";
import type { Contribution } from "./contribution.ts";
import type { PickChain } from "./names.ts";
import { isShared, type SetName } from "./sets.ts";

/** Counts contributions; what several share is counted by `TableLedger`. */
export class Census {
  readonly #elements = new Map<SetName, number>();
  readonly #picks = new Map<string, PickChain>();
  readonly #withChains = new Set<ServicePortKey>();

  /** A service port (or, without owner, the settings) goes from one contribution to another. */
  replace(before: Contribution, after: Contribution, owner: Owner): void {
    this.#count(before, -1);
    this.#count(after, 1);
    for (const pick of after.picks.values()) this.#picks.set(pick.name, pick);
    if (owner === undefined) return;
    if (after.chains.size > 0) this.#withChains.add(owner);
    else this.#withChains.delete(owner);
  }

  /** The elements of a set whose elements nobody shares. */
  elementsOf(set: SetName): number {
    return this.#elements.get(set) ?? 0;
  }

  /** Service ports that have chains of their own. */
  get withChains(): ReadonlySet<ServicePortKey> {
    return this.#withChains;
  }

  /** The chains of choice that are in use, as `isUsed` says. */
  picks(isUsed: (name: string) => boolean): readonly PickChain[] {
    for (const name of this.#picks.keys()) if (!isUsed(name)) this.#picks.delete(name);
    return [...this.#picks.values()];
  }

  #count({ elements, lists }: Contribution, sign: 1 | -1): void {
    for (const [set, own] of elements) if (!isShared(set)) this.#add(set, sign * own.length);
    for (const { endpoints, set } of lists) this.#add(set, sign * endpoints.length);
  }

  #add(set: SetName, count: number): void {
    this.#elements.set(set, this.elementsOf(set) + count);
  }
}
