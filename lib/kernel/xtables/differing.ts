/** Which chains hold something else than they should, for backends that have read all their rules. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { XtRule } from "./rules.ts";
import { ruleText } from "./text.ts";
import type { XtListedRule } from "./xtables.ts";

/** The wanted chains that are missing or whose rules differ, in the order of `wanted`. */
export function differing(
  wanted: ReadonlyMap<string, readonly XtRule[]>,
  there: ReadonlyMap<string, readonly XtListedRule[]>,
  family: IpFamily,
): readonly string[] {
  const differs = ([chain, rules]: [string, readonly XtRule[]]) => {
    const found = there.get(chain);
    return !found || found.length !== rules.length ||
      found.some(({ key }, index) => key !== ruleText(rules[index], family));
  };
  return [...wanted].filter(differs).map(([chain]) => chain);
}
