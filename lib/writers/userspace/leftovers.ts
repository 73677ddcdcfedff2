/** What the userspace mode, which Kubernetes removed in 1.26, may have left in iptables' tables. */
import type { XtPlace } from "../../kernel/xtables/rules.ts";
import { findChains } from "../kube_chains/find_chains.ts";
import { natTable, portalChains } from "../kube_chains/names.ts";
import { userspaceOwned } from "../kube_chains/owned_chains.ts";
import { chainRemoval } from "../kube_chains/removal.ts";
import { chainsAside } from "../kube_chains/stand_aside.ts";
import type { ModeLeftovers } from "../leftovers.ts";

/** Those that lead connections to the old proxy. */
const deciding = portalChains.map((chain): XtPlace => ({ table: natTable, chain }));

/** The door to whoever looks for rules that were left, and removes them. */
export const leftovers: ModeLeftovers = {
  find: (kernel, signal) =>
    findChains({ mode: "userspace", chains: portalChains, mayBeLarge: false }, kernel, signal),
  removal: chainRemoval({ owned: userspaceOwned }),
  standAside: (kernel, options) => chainsAside(kernel, { ...options, deciding: () => deciding }),
};
