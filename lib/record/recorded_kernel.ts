/** A kernel whose settings are noted before they are changed. */
import type { Kernel } from "../kernel/kernel.ts";
import type { Sysctl } from "../kernel/sysctl.ts";

/** Is told what a setting is and what it is going to be, before it is changed. */
export type OnChange = (
  change: { readonly setting: string; readonly before: string; readonly after: string },
) => void;

/** The same kernel; `onChange` is told of each setting that a write would change. */
export function recordedKernel(kernel: Kernel, onChange: OnChange): Kernel {
  const { commands, conntrack, host, ipset, ipvs, legacyTables } = kernel;
  const { links, nfacct, self, sysctl } = kernel;
  return {
    commands,
    conntrack,
    host,
    ipset,
    ipvs,
    legacyTables,
    links,
    nfacct,
    self,
    sysctl: recordedSysctl(sysctl, onChange),
    openSockets: () => kernel.openSockets(),
    nftables: () => kernel.nftables(),
    xtables: (backend) => kernel.xtables(backend),
    untilLost: (signal) => kernel.untilLost(signal),
  };
}

function recordedSysctl(sysctl: Sysctl, onChange: OnChange): Sysctl {
  return {
    read: (setting) => sysctl.read(setting),
    write: (setting, value) => {
      const before = sysctl.read(setting);
      if (before !== undefined && before !== value) onChange({ setting, before, after: value });
      sysctl.write(setting, value);
    },
  };
}
