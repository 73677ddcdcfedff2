/** Changes that are committed together, each with the service port that it is for. */
import type { BatchFailure } from "../../kernel/nf_tables/errors.ts";
import type { OwnedBatch } from "../../kernel/nf_tables/culprit_search.ts";
import type { XtChange } from "../../kernel/xtables/rules.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";

/** Collects changes. What belongs to no service port has no owner. */
export class Batch implements OwnedBatch {
  readonly #changes: XtChange[] = [];
  readonly #owners: (ServicePortKey | undefined)[] = [];

  get changes(): readonly XtChange[] {
    return this.#changes;
  }

  get owners(): readonly ServicePortKey[] {
    return [...new Set(this.#owners.filter((owner) => owner !== undefined))];
  }

  add(change: XtChange, owner?: ServicePortKey): void {
    this.#changes.push(change);
    this.#owners.push(owner);
  }

  /** Forgets everything. */
  clear(): void {
    this.#changes.length = 0;
    this.#owners.length = 0;
  }

  /** Puts all of another batch behind what is here. */
  append(other: Batch): void {
    for (const [index, change] of other.#changes.entries()) this.add(change, other.#owners[index]);
  }

  ownerOf({ operation }: BatchFailure): ServicePortKey | undefined {
    return this.#owners[operation];
  }
}
