/**
 * Chains that were read and found right: as long as the kernel has the very same rules in them, which a
 * number tells, they need not be read again. What we write ourselves has another number.
 */
import type { XtTable } from "../../kernel/xtables/rules.ts";
import type { XtReading } from "../../kernel/xtables/xtables.ts";
import { nameOf } from "./shared_chains.ts";

export class KnownChains {
  #right: ReadonlyMap<string, number> = new Map();

  /** Nothing is known any more. */
  forget(): void {
    this.#right = new Map();
  }

  /**
   * The reading, which reads no chain that is known, and makes known those that it finds right. For a
   * comparison of everything: what that does not ask for is forgotten.
   */
  over(reading: XtReading): XtReading {
    const { digests } = reading;
    if (!digests) return reading;
    const before = this.#right;
    const right = new Map<string, number>();
    this.#right = right;
    const differing: XtReading["differing"] = async (table, wanted) => {
      const names = [...wanted.keys()];
      // First: rules that change meanwhile have another number next time.
      const numbers = await digests.call(reading, table, names);
      const unknown = new Set(
        names.filter((name, index) => before.get(nameOf(table, name)) !== numbers[index]),
      );
      const found = unknown.size === 0 ? [] : await reading.differing(table, pick(wanted, unknown));
      const wrong = new Set(found);
      for (const [index, name] of names.entries()) {
        if (!wrong.has(name)) right.set(nameOf(table, name), numbers[index]);
      }
      return found;
    };
    return {
      chains: reading.chains,
      rules: (table: XtTable, chains: readonly string[]) => reading.rules(table, chains),
      differing,
    };
  }
}

function pick<T>(from: ReadonlyMap<string, T>, names: ReadonlySet<string>): ReadonlyMap<string, T> {
  return new Map([...from].filter(([name]) => names.has(name)));
}
