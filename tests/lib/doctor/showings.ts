/**
 * Which results of which checks a kernel or an apiserver has shown, besides the tables of cases: each
 * test that is named here sees its own, or fails. `docs/doctor.md` is made of it.
 */
import assert from "node:assert/strict";
import type { Result } from "../../../lib/doctor/run_checks.ts";

/** Where something was shown: in a network namespace, in a virtual machine, beside a real apiserver. */
export type Place = "namespace" | "VM" | "apiserver";

/** What one file of tests shows, by how it is called here. */
interface Showing {
  readonly place: Place;
  readonly results: Readonly<Partial<Record<Result, readonly string[]>>>;
}

const words = (text: string) => text.split(/\s+/).filter(Boolean);

export const showings = {
  nodeChecks: {
    place: "namespace",
    results: {
      pass: words(
        `KRN01 KRN02 KRN03 KRN04 KRN05 KRN06 KRN07 CT01 CT02 CT03 CT04 NET02 NET03 NET04 IPV02 IPV06 IPV07
        NP03 NP04 NP06 CO01 CO02 CO03 CO04 CO15 CO16`,
      ),
      warn: words("NET01 IPV07 NET03 NP01 CO02 CO03 CO04 CO16"),
      fail: words("NP03 NP04 CO01 CO15"),
    },
  },
  modules: {
    place: "VM",
    results: { pass: words("KRN02 KRN03 NET05"), fail: words("KRN02 KRN03") },
  },
  sickNode: {
    place: "VM",
    results: {
      pass: words("IPV03 IPV05 IPV08 IPV09 IPV10 NP01"),
      warn: words("NET01 IPV01 IPV02 IPV04 IPV11"),
      fail: words("IPV06 NP03 NP04 CO01"),
    },
  },
  cleanNode: { place: "VM", results: { pass: words("IPV01 IPV04 IPV06 NP03 NP04 CO01 DRY01") } },
  cluster: {
    place: "apiserver",
    results: {
      pass: words("CFG02 CFG06 CFG07 CO06 DRY01 SCL01"),
      warn: words("CFG07 CO14"),
      fail: words("CFG01"),
      skip: words("DRY01 CFG07 CO06"),
    },
  },
} as const satisfies Readonly<Record<string, Showing>>;

/** Where the result was shown besides the table. */
export function placesOf(id: string, result: Result): readonly Place[] {
  const all: readonly Showing[] = Object.values(showings);
  return [
    ...new Set(
      all.filter(({ results }) => results[result]?.includes(id)).map(({ place }) => place),
    ),
  ];
}

/** What the tests of one file saw. */
export class Seen {
  readonly #showing: Showing;
  readonly #seen = new Set<string>();

  constructor(name: keyof typeof showings) {
    this.#showing = showings[name];
  }

  add(checks: Iterable<{ readonly id: string; readonly result: string }>): void {
    for (const { id, result } of checks) this.#seen.add(`${id} ${result}`);
  }

  /** Throws with what is claimed above and was not seen, but for what this machine cannot show. */
  assertAll(beyondThisMachine: readonly string[] = []): void {
    const claimed = Object.entries(this.#showing.results).flatMap(([result, ids]) =>
      (ids ?? []).map((id) => `${id} ${result}`)
    );
    const expected = claimed.filter((each) => !beyondThisMachine.includes(each));
    assert.deepEqual(expected.filter((each) => !this.#seen.has(each)), []);
  }
}
