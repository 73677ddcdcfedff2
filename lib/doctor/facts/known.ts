/** Facts in few words. */
import type { Fact } from "../fact.ts";

/** It is known. */
export function known<T>(value: T): Fact<T> {
  return { kind: "value", value };
}

/** It is not there. */
export function absent(because: string): Extract<Fact<never>, { kind: "absent" }> {
  return { kind: "absent", because };
}

/** It cannot be told. */
export function unknown(
  because: string,
  ...advice: readonly string[]
): Extract<Fact<never>, { kind: "unknown" }> {
  return { kind: "unknown", because, ...(advice.length > 0 && { advice }) };
}
