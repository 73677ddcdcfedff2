/**
 * What to do when the kernel refuses a batch: read again and try once more, since somebody may have
 * changed the table meanwhile; then find the service port that it is about and go on without it. The
 * kernel usually names the element; where it does not, halving the group finds it.
 */
import { Errno } from "../../kernel/errno.ts";
import type { NftFailure } from "../../kernel/nftables/nftables.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Batch } from "./batch.ts";

/** A refusal that is not about one service port is believed after so many. */
const patience = 3;
/** Reading again costs a fraction of a second; something is very wrong after so many. */
const mostAttempts = 64;

/** A batch was too much for a socket or for memory: half of it may not be. */
const tooMuch: readonly number[] = [Errno.EMSGSIZE, Errno.ENOBUFS, Errno.ENOMEM];

export class Refusals {
  readonly #suspects = new Set<ServicePortKey>();
  readonly #skipped = new Map<ServicePortKey, string>();
  #groups: readonly (readonly ServicePort[])[];
  #attempts = 0;
  #unexplained = 0;

  constructor(groups: readonly (readonly ServicePort[])[]) {
    this.#groups = groups;
  }

  /** What is still to be written, in groups. */
  get groups(): readonly (readonly ServicePort[])[] {
    return this.#groups;
  }

  /** Service ports that the kernel refuses, with its words. */
  get skipped(): ReadonlyMap<ServicePortKey, string> {
    return this.#skipped;
  }

  /** Takes note of a refusal; false when another attempt cannot help. */
  learn(batch: Batch, failures: readonly NftFailure[]): boolean {
    if (++this.#attempts >= mostAttempts) return false;
    if (failures.some(({ errno }) => errno === Errno.EPERM)) return false;
    const isTooMuch = failures.some(({ errno }) => tooMuch.includes(errno));
    const culprits = new Map<ServicePortKey, string>();
    for (const failure of rootCauses(failures)) {
      const owner = batch.ownerOf(failure);
      if (owner !== undefined && !culprits.has(owner)) culprits.set(owner, failure.message);
    }
    const isNamed = culprits.size > 0;
    if (!isNamed && batch.services.length === 1 && failures[0]) {
      culprits.set(batch.services[0], failures[0].message);
    }
    if (culprits.size > 0) return this.#suspect(culprits);
    const isWhole = failures.every(({ operation }) => operation < 0);
    if (batch.services.length === 0 || (isWhole && !isTooMuch)) {
      return ++this.#unexplained < patience;
    }
    // What is too much for one batch will be for others like it.
    this.#halve(isTooMuch ? undefined : new Set(batch.services));
    return true;
  }

  #suspect(culprits: ReadonlyMap<ServicePortKey, string>): boolean {
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
  #halve(keys: ReadonlySet<ServicePortKey> | undefined): void {
    this.#groups = this.#groups.flatMap((group) => {
      const isMeant = keys === undefined || group.some(({ key }) => keys.has(key));
      if (group.length < 2 || !isMeant) return [group];
      const middle = group.length >> 1;
      return [group.slice(0, middle), group.slice(middle)];
    });
  }
}

/** What is missing is usually missing because an operation before was refused. */
function rootCauses(failures: readonly NftFailure[]): readonly NftFailure[] {
  const causes = failures.filter(({ errno }) => errno !== Errno.ENOENT);
  return causes.length > 0 ? causes : failures.slice(0, 1);
}
