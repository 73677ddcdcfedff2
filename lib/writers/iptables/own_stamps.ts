/**
 * Which moves of the kernel's state were this program's. The writers of both families share it, since
 * nf_tables counts the commits of both.
 */
import type { XtReceipt, XtStamp } from "../../kernel/xtables/xtables.ts";

/** More than two writers make between two questions; older moves look like somebody else's. */
const remembered = 10_000;

export class OwnStamps {
  readonly #next = new Map<XtStamp, XtStamp>();

  /** Takes note of a commit; one that somebody else's came between explains nothing. */
  note({ after, before, isOwn }: XtReceipt): void {
    if (!isOwn || after === before) return;
    this.#next.set(before, after);
    if (this.#next.size > remembered) this.#next.delete(this.#next.keys().next().value!);
  }

  /** The latest state that only our own commits lead to from this one. */
  follow(stamp: XtStamp): XtStamp {
    let latest = stamp;
    for (let next = this.next(latest); next !== undefined; next = this.next(latest)) latest = next;
    return latest;
  }

  /** The state behind the commit of ours that changed this one; undefined where none did. */
  next(stamp: XtStamp): XtStamp | undefined {
    return this.#next.get(stamp);
  }
}
