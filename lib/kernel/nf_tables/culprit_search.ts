/**
 * What to do when the kernel refuses a batch: read again and try once more, since somebody may have
 * changed the table meanwhile; then find the item that it is about and go on without it. The kernel
 * usually names an operation; where it does not, halving the group finds the item.
 */
import { Errno } from "../errno.ts";
import type { BatchFailure } from "./errors.ts";

/** After so many refusals that name no item the search is given up. */
const patience = 3;
/** Reading again costs a fraction of a second; something is very wrong after so many. */
const mostAttempts = 64;

/** A batch was too much for a socket or for memory: half of it may not be. */
const tooMuch: readonly number[] = [Errno.EMSGSIZE, Errno.ENOBUFS, Errno.ENOMEM];

/** What is written, and skipped where the kernel refuses it. */
export interface Item {
  readonly key: string;
}

/** A batch of which it is known what each operation is for. */
export interface OwnedBatch {
  /** The keys of the items that it brings up to date. */
  readonly owners: readonly string[];
  /** The key of the item whose operation was refused, where that can be told. */
  ownerOf(failure: BatchFailure): string | undefined;
}

/** Remembers what was refused over several attempts to write the same items. */
export class CulpritSearch<T extends Item> {
  readonly #suspects = new Set<string>();
  readonly #skipped = new Map<string, string>();
  #groups: readonly (readonly T[])[];
  #attempts = 0;
  #unexplained = 0;

  constructor(groups: readonly (readonly T[])[]) {
    this.#groups = groups;
  }

  /** What is still to be written, in groups. */
  get groups(): readonly (readonly T[])[] {
    return this.#groups;
  }

  /** Keys of the items that the kernel refuses, with its words. */
  get skipped(): ReadonlyMap<string, string> {
    return this.#skipped;
  }

  /** Takes note of a refusal; false when another attempt cannot help. */
  learn(batch: OwnedBatch, failures: readonly BatchFailure[]): boolean {
    if (++this.#attempts >= mostAttempts) return false;
    if (failures.some(({ errno }) => errno === Errno.EPERM)) return false;
    const isTooMuch = failures.some(({ errno }) => tooMuch.includes(errno));
    const culprits = new Map<string, string>();
    for (const failure of rootCauses(failures)) {
      const owner = batch.ownerOf(failure);
      if (owner !== undefined && !culprits.has(owner)) culprits.set(owner, failure.message);
    }
    const isNamed = culprits.size > 0;
    if (!isNamed && batch.owners.length === 1 && failures[0]) {
      culprits.set(batch.owners[0], failures[0].message);
    }
    if (culprits.size > 0) return this.#suspect(culprits);
    const isWhole = failures.every(({ operation }) => operation < 0);
    if (batch.owners.length === 0 || (isWhole && !isTooMuch)) {
      return ++this.#unexplained < patience;
    }
    // What is too much for one batch will be for others like it.
    this.#halve(isTooMuch ? undefined : new Set(batch.owners));
    return true;
  }

  #suspect(culprits: ReadonlyMap<string, string>): boolean {
    for (const [key, message] of culprits) {
      if (this.#suspects.has(key)) this.#skipped.set(key, message);
      else this.#suspects.add(key);
    }
    this.#groups = this.#groups
      .map((group) => group.filter(({ key }) => !this.#skipped.has(key)))
      .filter((group) => group.length > 0);
    return true;
  }

  /** Halves the groups with one of these, or all. */
  #halve(keys: ReadonlySet<string> | undefined): void {
    this.#groups = this.#groups.flatMap((group) => {
      const isMeant = keys === undefined || group.some(({ key }) => keys.has(key));
      if (group.length < 2 || !isMeant) return [group];
      const middle = group.length >> 1;
      return [group.slice(0, middle), group.slice(middle)];
    });
  }
}

/** What is missing is usually missing because an operation before was refused. */
function rootCauses(failures: readonly BatchFailure[]): readonly BatchFailure[] {
  const causes = failures.filter(({ errno }) => errno !== Errno.ENOENT);
  return causes.length > 0 ? causes : failures.slice(0, 1);
}
