/**
 * Replacing the source address on the way out. The mark is cleared in the rule that masquerades: a
 * packet that is seen again (a tunnel, a second table) must not be masqueraded twice.
 */
import { chainOf, type ChainWithRules, type RuleContext } from "./statements.ts";

/** The chain that masquerades what was marked, and endpoints that reach themselves by a Service. */
export function masqueradingChain({ mark }: RuleContext): ChainWithRules {
  return chainOf("masquerading", [
    [
      { kind: "match-mark", mask: mark },
      { kind: "set-mark-xor", mask: mark },
      { kind: "masquerade", fullyRandom: true },
    ],
    [
      { kind: "match-ct-dnat" },
      {
        kind: "match",
        select: ["saddr", "daddr", "l4proto", "dport"],
        in: { set: "hairpin-connections" },
      },
      { kind: "masquerade", fullyRandom: true },
    ],
  ]);
}
