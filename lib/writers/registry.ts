/**
 * The only file that names the modes. What belongs to their configuration is here at once; a mode's
 * runtime is imported when it is asked for, so that reading a configuration opens no netlink socket.
 */
import type { IptablesSettings } from "./iptables/config.ts";
import type { IpvsSettings } from "./ipvs/config.ts";
import type { NftablesSettings } from "./nftables/config.ts";
import type { WinkernelSettings } from "./winkernel/config.ts";

/** The sections of the modes, by the name of the section. */
export interface ModeSections {
  readonly iptables: IptablesSettings;
  readonly ipvs: IpvsSettings;
  readonly nftables: NftablesSettings;
  readonly winkernel: WinkernelSettings;
}

/** The modes a configuration can name; `kernelspace` is the mode of the section winkernel. */
export const modeNames = ["iptables", "ipvs", "kernelspace", "nftables"] as const;

/** A mode as the field `mode` spells it. */
export type ModeName = typeof modeNames[number];
