/** Sets: what is accepted and refused, and whether their lists are understood. */
import { NetlinkIpset } from "../../../../lib/kernel/ipset/netlink_ipset.ts";
import { behaviourCases, checkCase } from "../ipset/behaviour_cases.ts";
import type { Dialogue } from "./dialogue.ts";

/** What tells that ipset is loaded is no part of the talk. */
export const loadedIpset = { read: () => "256" };

/** All talks about sets. */
export const ipsetDialogues: readonly Dialogue[] = [
  ...behaviourCases.map((row) => ({
    name: `ipset: ${row.name}`,
    hold: () => checkCase(new NetlinkIpset(loadedIpset), row),
  })),
];
