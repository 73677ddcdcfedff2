/** What one service port puts into the tables. Every fate becomes rules here, and nowhere else. Pure. */
import type { XtRule } from "../../kernel/xtables/rules.ts";
import type { ServicePort } from "../../snapshot/snapshot.ts";
import type { RuleContext } from "./rules/context.ts";
import { frontendRules, type SharedRule } from "./rules/frontends.ts";
import { ownChains } from "./rules/own_chains.ts";

/** The rules of a service port: in chains that all share, and in chains of its own. */
export interface Contribution {
  readonly shared: readonly SharedRule[];
  /** Chains of the table nat, each behind those that it leads to. */
  readonly own: ReadonlyMap<string, readonly XtRule[]>;
}

/** The rules of a service port. */
export function contributionOf(servicePort: ServicePort, context: RuleContext): Contribution {
  return {
    shared: frontendRules(servicePort, context),
    own: ownChains(servicePort, context),
  };
}

/** What a service port that is not there contributes. */
export const emptyContribution: Contribution = { shared: [], own: new Map() };

/** How many rules a contribution has in each table. */
export function countRules({ own, shared }: Contribution): RuleCounts {
  let nat = 0;
  let filter = 0;
  for (const rules of own.values()) nat += rules.length;
  for (const { table } of shared) {
    if (table === "nat") nat++;
    else filter++;
  }
  return { nat, filter };
}

/** Rules by table. */
export interface RuleCounts {
  readonly nat: number;
  readonly filter: number;
}
