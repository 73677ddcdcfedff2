/** What iptables mode may have left in either engine of iptables, and its removal. */
import type { Kernel } from "../../kernel/kernel.ts";
import { type ChainSearch, confirmChains, findChains } from "../kube_chains/find_chains.ts";
import { NatChain, serviceChains } from "../kube_chains/names.ts";
import { iptablesOwned, ipvsLinkSetting } from "../kube_chains/owned_chains.ts";
import { chainRemoval } from "../kube_chains/removal.ts";
import type { Leftover, ModeLeftovers } from "../leftovers.ts";
import { withCounters } from "./counter_removal.ts";
import { served } from "./served.ts";
import { routeLocalnet } from "./sysctls.ts";

const search: ChainSearch = { mode: "iptables", chains: serviceChains, mayBeLarge: true };

/** The door of this mode to whoever looks for rules that were left, and removes them. */
export const leftovers: ModeLeftovers = {
  find,
  confirm: (kernel, options) => confirmChains(search, kernel, options),
  removal: withCounters(chainRemoval({
    owned: iptablesOwned,
    sharing: {
      reason: "ipvs mode, whose kube-ipvs0 is there",
      isThere: (kernel) => Promise.resolve(hasIpvsLink(kernel)),
    },
  })),
  served,
  settings: [{ setting: routeLocalnet, family: "IPv4", value: "1", usual: "0" }],
};

async function find(kernel: Kernel, signal: AbortSignal): Promise<readonly Leftover[]> {
  const found = await findChains(search, kernel, signal);
  // Where ipvs mode is, the chain of all Services alone is its own.
  return hasIpvsLink(kernel) ? found.filter(({ objects }) => !objects.every(isOfServices)) : found;
}

function isOfServices(object: string): boolean {
  return object.split(" ").includes(NatChain.services);
}

function hasIpvsLink({ sysctl }: Kernel): boolean {
  return sysctl.read(ipvsLinkSetting) !== undefined;
}
