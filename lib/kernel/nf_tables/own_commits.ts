/**
 * Which moves of the ruleset's generation were this program's. The writers of both families share
 * it: otherwise each of them would read its whole table again whenever the other wrote to its own.
 */
import type { CommitReceipt } from "./transport.ts";

/** More than two writers make between two questions; older moves look like somebody else's. */
const remembered = 10_000;

export class OwnCommits {
  readonly #next = new Map<number, number>();

  /** A commit of ours, with nobody else's between its two generations. */
  note({ after, before }: CommitReceipt): void {
    if (after === before) return;
    this.#next.set(before, after);
    if (this.#next.size > remembered) this.#next.delete(this.#next.keys().next().value!);
  }

  /** The latest generation that only our own commits lead to from this one. */
  follow(generation: number): number {
    let latest = generation;
    for (let next = this.#next.get(latest); next !== undefined; next = this.#next.get(latest)) {
      latest = next;
    }
    return latest;
  }
}
