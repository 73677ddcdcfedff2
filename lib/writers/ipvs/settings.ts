/** Settings of the kernel that this mode changes. */
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ModeSetting } from "../leftovers.ts";
import { readRemains } from "./remains.ts";

/** Masquerading is conntrack's, also that of other programs' servers. */
const conntrack = "net/ipv4/vs/conntrack";
/** A connection to a destination that is gone ends, instead of being sent nowhere. */
const endsWithDestination = "net/ipv4/vs/expire_nodest_conn";
/** A pinned client of a destination that gets no new connections goes elsewhere. */
const unpinsFromQuiescent = "net/ipv4/vs/expire_quiescent_template";

/** Whether a port that a client uses again is a new connection; 1 makes it wait for a second on older kernels. */
export const reuseMode = "net/ipv4/vs/conn_reuse_mode";

/** Always set. */
export const settingsOfAll: readonly (readonly [setting: string, value: string])[] = [
  [conntrack, "1"],
  [endsWithDestination, "1"],
  [unpinsFromQuiescent, "1"],
  ["net/ipv4/ip_forward", "1"],
];

/** With strictARP: nobody but this machine learns of the addresses on the link. */
export const strictSettings: readonly (readonly [setting: string, value: string])[] = [
  ["net/ipv4/conf/all/arp_ignore", "1"],
  ["net/ipv4/conf/all/arp_announce", "2"],
];

/** What may go back when the mode goes. Forwarding is not among them: pods need it whatever the mode. */
export const ownSettings: readonly ModeSetting[] = [
  ...settingsOfAll.filter(([setting]) => setting.includes("/vs/")),
  ...strictSettings,
].map(([setting, value]) => ({
  setting,
  family: "IPv4",
  value,
  usual: "0",
  ...setting === conntrack && { neededBy: masqueradingOfOthers },
}));

/**
 * Answers of a server that masquerades without conntrack are invalid to it, and iptables mode, for one,
 * drops what is invalid.
 */
function masqueradingOfOthers(kernel: Kernel): string | undefined {
  const ours = new Set(
    readRemains(kernel, []).families.flatMap(({ servers }) =>
      servers.map(({ server }) => frontendText(server))
    ),
  );
  const other = kernel.ipvs.read().find(({ destinations, server }) =>
    !ours.has(frontendText(server)) &&
    destinations.some(({ forwarding }) => forwarding === "masquerade")
  );
  return other && `the virtual server ${frontendText(other.server)} of somebody else masquerades`;
}
