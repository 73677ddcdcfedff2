/**
 * The handles of rules, by what the rules say: rules are deleted by their text, the kernel wants a
 * number. Kept for the chains of which single rules are deleted. The kernel gives no handle twice, so one
 * that is out of date is refused; only a rule that somebody put in the place of ours has its handle.
 */
import type { XtPlace } from "./rules.ts";
import type { XtHandledRule } from "./decode_listing.ts";

/** The handles of one family. */
export class RuleHandles {
  readonly #chains = new Map<string, Map<string, bigint[]>>();

  /** Whether the rules of this chain are known. */
  knows(place: XtPlace): boolean {
    return this.#chains.has(nameOf(place));
  }

  /** Takes note of a chain's rules, all of them, in their order. */
  learn(place: XtPlace, rules: readonly XtHandledRule[]): void {
    const handles = new Map<string, bigint[]>();
    for (const { handle, key } of rules) {
      const equal = handles.get(key);
      if (equal) equal.push(handle);
      else handles.set(key, [handle]);
    }
    this.#chains.set(nameOf(place), handles);
  }

  /** Takes note of a rule that was put at the head of a known chain. */
  inserted(place: XtPlace, { handle, key }: XtHandledRule): void {
    const handles = this.#chains.get(nameOf(place));
    if (handles) handles.set(key, [handle, ...handles.get(key) ?? []]);
  }

  /** The handle of the first rule that says this, which is gone then. */
  take(place: XtPlace, key: string): bigint | undefined {
    const handles = this.#chains.get(nameOf(place));
    const [first, ...others] = handles?.get(key) ?? [];
    if (others.length > 0) handles?.set(key, others);
    else handles?.delete(key);
    return first;
  }

  /** What is known of this chain may be wrong. */
  forget(place: XtPlace): void {
    if (this.#chains.size > 0) this.#chains.delete(nameOf(place));
  }
}

function nameOf({ chain, table }: XtPlace): string {
  return `${table} ${chain}`;
}
