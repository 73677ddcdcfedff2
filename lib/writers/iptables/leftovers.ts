/** What iptables mode may have left in either engine of iptables, and its removal. */
import { findChains } from "../kube_chains/find_chains.ts";
import { serviceChains } from "../kube_chains/names.ts";
import { iptablesOwned } from "../kube_chains/owned_chains.ts";
import { chainRemoval } from "../kube_chains/removal.ts";
import type { ModeLeftovers } from "../leftovers.ts";
import { served } from "./served.ts";
import { routeLocalnet } from "./sysctls.ts";

/** The door of this mode to whoever looks for rules that were left, and removes them. */
export const leftovers: ModeLeftovers = {
  find: (kernel, signal) =>
    findChains({ mode: "iptables", chains: serviceChains, mayBeLarge: true }, kernel, signal),
  removal: chainRemoval({ owned: iptablesOwned }),
  served,
  settings: [{ setting: routeLocalnet, family: "IPv4", value: "1", usual: "0" }],
};
