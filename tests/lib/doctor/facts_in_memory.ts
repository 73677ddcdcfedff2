/** Facts that a test gives; the others are lacking. */
import type { Check, CheckOf } from "../../../lib/doctor/check.ts";
import { check } from "../../../lib/doctor/check.ts";
import type { Fact, FactName, FactReaders, Facts } from "../../../lib/doctor/fact.ts";
import type { FactValues } from "../../../lib/doctor/facts/fact_values.ts";

/** By name. */
export type GivenFacts = { readonly [N in FactName]?: Fact<FactValues[N]> };

/** A fact that is known. */
export function known<T>(value: T): Fact<T> {
  return { kind: "value", value };
}

export class FactsInMemory implements Facts {
  readonly #given: GivenFacts;

  constructor(given: GivenFacts = {}) {
    this.#given = given;
  }

  read<N extends FactName>(name: N): Promise<Fact<FactValues[N]>> {
    const lacking: Fact<FactValues[N]> = { kind: "lacking", because: `no ${name}` };
    return Promise.resolve(this.#given[name] ?? lacking);
  }
}

/** Readers that throw, but for those that are given. */
export function readersOf(given: Partial<FactReaders>): FactReaders {
  const refuse = { read: () => Promise.reject(new Error("nobody should ask")) };
  return new Proxy(given, {
    get: (target, name) => Reflect.get(target, name) ?? refuse,
  }) as FactReaders;
}

/** A check that finds nothing, with everything but these left to defaults. */
export function checkOf(
  rest: Partial<CheckOf<"foundMode", "serviceRanges">> & { readonly id: string },
): Check {
  return check({
    group: "kernel",
    title: "some-check",
    why: "Some reason.",
    looks: "Somewhere.",
    links: ["https://example.com/some"],
    results: ["pass"],
    needs: [],
    judge: () => [],
    ...rest,
  });
}
