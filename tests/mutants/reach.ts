/** Which tests run a file at all: those from which imports lead to it, the nearest first. */
import type { GraphFile } from "../architecture/graph.ts";

/** Tests at one distance from a file. */
export type Ring = readonly string[];

/**
 * The tests that reach the file: those that import it, the others that are two imports away, and the
 * rest. `cost` is a test's time; within a ring the file's own test comes first, then the quick ones.
 */
export class Reach {
  readonly #importers = new Map<string, string[]>();
  readonly #cost: (test: string) => number;

  constructor(files: readonly GraphFile[], cost: (test: string) => number) {
    this.#cost = cost;
    for (const { path, doors } of files) {
      for (const { target } of doors.imports) {
        const known = this.#importers.get(target);
        if (known) known.push(path);
        else this.#importers.set(target, [path]);
      }
    }
  }

  /** Rings without tests are left out. */
  ringsOf(path: string): Ring[] {
    const rings: string[][] = [[], [], []];
    const seen = new Set([path]);
    let layer = [path];
    for (let distance = 0; layer.length > 0; distance++) {
      const next = layer.flatMap((each) => this.#importers.get(each) ?? [])
        .filter((each) => !seen.has(each) && seen.add(each));
      rings[Math.min(distance, 2)].push(...next.filter((each) => each.endsWith("_test.ts")));
      layer = next;
    }
    const own = testOf(path);
    const rank = (test: string) => test === own ? -1 : this.#cost(test);
    return rings.filter((ring) => ring.length > 0)
      .map((ring) => ring.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)));
  }
}

/** Where a file's own test is, if it has one. */
export function testOf(path: string): string {
  return `tests/${path.replace(/\.ts$/, "_test.ts")}`;
}
