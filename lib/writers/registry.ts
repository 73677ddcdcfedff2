/**
 * The only file that names the modes. What belongs to their configuration is here at once; a mode's
 * runtime is imported when it is asked for, so that reading a configuration opens no netlink socket.
 */
import { iptablesConfig, type IptablesSettings } from "./iptables/config.ts";
import { ipvsConfig, type IpvsSettings } from "./ipvs/config.ts";
import { nftablesConfig, type NftablesSettings } from "./nftables/config.ts";
import { winkernelConfig, type WinkernelSettings } from "./winkernel/config.ts";
import type { ModeConfig, ModeRuntime } from "./writer.ts";

/** The settings of every mode, by the name of their section. */
export interface ModeSections {
  readonly iptables: IptablesSettings;
  readonly ipvs: IpvsSettings;
  readonly nftables: NftablesSettings;
  readonly winkernel: WinkernelSettings;
}

/** The configuration of every mode, by the name of its section. */
export const modeConfigs: { readonly [K in keyof ModeSections]: ModeConfig<ModeSections[K]> } = {
  iptables: iptablesConfig,
  ipvs: ipvsConfig,
  nftables: nftablesConfig,
  winkernel: winkernelConfig,
};

/** The modes that a configuration can name. */
export const modeNames = ["iptables", "ipvs", "kernelspace", "nftables"] as const;

/** A mode as the field `mode` spells it. */
export type ModeName = typeof modeNames[number];

/** How each mode that this program can run is loaded. */
const runtimes: Readonly<
  Partial<Record<ModeName, (sections: ModeSections) => Promise<ModeRuntime>>>
> = {
  nftables: async ({ nftables }) => (await import("./nftables/mod.ts")).createRuntime(nftables),
};

/** The modes that can run, sorted; the others are understood in configurations alone. */
export const runnableModes: readonly ModeName[] = modeNames.filter((mode) => mode in runtimes);

/** Loads a mode, or undefined for one that this program cannot run. */
export async function loadRuntime(
  mode: ModeName,
  sections: ModeSections,
): Promise<ModeRuntime | undefined> {
  return await runtimes[mode]?.(sections);
}
