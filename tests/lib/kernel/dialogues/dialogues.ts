/** All talks that are recorded, a file for each room of the kernel. */
import { conntrackDialogues } from "./conntrack_dialogues.ts";
import type { Dialogue } from "./dialogue.ts";
import { nftablesDialogues } from "./nftables_dialogues.ts";
import { iptablesDialogues } from "./iptables_dialogues.ts";
import { ipsetDialogues } from "./ipset_dialogues.ts";
import { ipvsDialogues } from "./ipvs_dialogues.ts";
import { routeDialogues } from "./route_dialogues.ts";

export const dialogues: Readonly<Record<string, readonly Dialogue[]>> = {
  nf_tables: nftablesDialogues,
  ipset: ipsetDialogues,
  ipvs: ipvsDialogues,
  iptables: iptablesDialogues,
  route: routeDialogues,
  conntrack: conntrackDialogues,
};
