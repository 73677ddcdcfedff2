/** Everything in the table that is there whatever the Services are. */
import { baseChains } from "./base_chains.ts";
import { dispatchChains } from "./dispatch.ts";
import { firewallRules } from "./firewall.ts";
import { masqueradingChain } from "./masquerading.ts";
import { noEndpointChains } from "./no_endpoints.ts";
import type { ChainWithRules, RuleContext } from "./statements.ts";

/** The chains that the kernel does not call itself, in the order of the packet's path. */
export function regularChains(context: RuleContext): readonly ChainWithRules[] {
  return [
    ...firewallRules(),
    ...dispatchChains(context),
    ...noEndpointChains(context),
    masqueradingChain(context),
  ];
}

/** All of them: first the regular chains, then the base chains that lead there. */
export function staticChains(context: RuleContext): readonly ChainWithRules[] {
  return [...regularChains(context), ...baseChains()];
}
