/** What iptables mode may have left in either engine of iptables, and its removal. */
import type { Kernel } from "../../kernel/kernel.ts";
import type { XtPlace } from "../../kernel/xtables/rules.ts";
import { type ChainSearch, confirmChains, findChains } from "../kube_chains/find_chains.ts";
import { hasIpvsLink } from "../kube_chains/ipvs_link.ts";
import { FilterChain, IpvsChain, NatChain, natTable, serviceChains } from "../kube_chains/names.ts";
import { iptablesOwned, isSharedChain } from "../kube_chains/owned_chains.ts";
import { chainRemoval, type Place } from "../kube_chains/removal.ts";
import { chainsAside } from "../kube_chains/stand_aside.ts";
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
      isThere: hasIpvsMode,
    },
  })),
  standAside: (kernel, options) =>
    chainsAside(kernel, { ...options, deciding: (place) => decidingIn(kernel, place) }),
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

/** Those that lead connections somewhere, or refuse them; all others are reached through these. */
const deciding: readonly XtPlace[] = [
  { table: "nat", chain: NatChain.services },
  { table: "filter", chain: FilterChain.services },
  { table: "filter", chain: FilterChain.externalServices },
  { table: "filter", chain: FilterChain.proxyFirewall },
];

/** What ipvs mode has in the same place is its own, and written anew by it. */
async function decidingIn(kernel: Kernel, place: Place): Promise<readonly XtPlace[]> {
  const isShared = await hasIpvsMode(kernel, place);
  return deciding.filter((each) => !isShared || !isSharedChain(each));
}

/** Whether ipvs mode serves by rules in this place: what was left in another one is not shared with it. */
async function hasIpvsMode(kernel: Kernel, { backend, family }: Place): Promise<boolean> {
  if (!hasIpvsLink(kernel)) return false;
  const { legacyTables } = kernel;
  if (backend === "legacy") {
    if (!legacyTables.loaded(family).includes(natTable)) return false;
    const there = await legacyTables.among(family, natTable, [IpvsChain.loadBalancer]);
    // A table that changes while it is read may have it.
    return there?.length !== 0;
  }
  const { chains } = await (await kernel.xtables("nft")).read(family, [natTable]);
  return chains.some(({ name }) => name === IpvsChain.loadBalancer);
}
