/** What a verdict of nf_tables says, by its number: rules, elements and immediates all have the same. */
import { VerdictCode } from "./wire.ts";

/** A verdict that the kernel obeys by itself, without a program behind it. */
export type NfVerdict =
  | { readonly kind: "accept" | "drop" | "return" }
  | { readonly kind: "jump" | "goto"; readonly chain: string };

/** Undefined for other numbers (queue, continue), and for a jump to nowhere. */
export function verdictOfCode(code: number, chain: string | undefined): NfVerdict | undefined {
  switch (code) {
    case VerdictCode.accept:
      return { kind: "accept" };
    case VerdictCode.drop:
      return { kind: "drop" };
    case VerdictCode.return:
      return { kind: "return" };
    case VerdictCode.jump:
      return chain === undefined ? undefined : { kind: "jump", chain };
    case VerdictCode.goto:
      return chain === undefined ? undefined : { kind: "goto", chain };
    default:
      return undefined;
  }
}
