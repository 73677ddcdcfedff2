/** Places in the configuration that are not simply one field holding what the flag says. */
import { parseIp } from "../base/ip.ts";
import { linuxModes, modeNames } from "../writers/registry.ts";
import { type Field, type Place, root, within } from "./flags_define.ts";
import type { DetectLocalMode, ProxyConfiguration, ProxyMode } from "./internal.ts";

const detectLocalModes: readonly DetectLocalMode[] = [
  "BridgeInterface",
  "ClusterCIDR",
  "InterfaceNamePrefix",
  "NodeCIDR",
];

/** Any text may be given together with `--config`; only one that counts must be a mode. */
export const mode: Field<string> = {
  path: "mode",
  read: (configuration) => configuration.mode,
  write(configuration, value) {
    const known: readonly ProxyMode[] = ["", ...modeNames];
    const chosen = known.find((name) => name === value);
    // The mode of Windows is known, and refused here as elsewhere.
    if (chosen === undefined) throw badWord("--proxy-mode", value, linuxModes);
    return { ...configuration, mode: chosen };
  },
};

/** As the mode: only a value that counts is looked at. */
export const detectLocalMode: Field<string> = {
  path: "detectLocalMode",
  read: (configuration) => configuration.detectLocalMode,
  write(configuration, value) {
    const known: readonly DetectLocalMode[] = ["", ...detectLocalModes];
    const chosen = known.find((name) => name === value);
    if (chosen === undefined) throw badWord("--detect-local-mode", value, known);
    return { ...configuration, detectLocalMode: chosen };
  },
};

/** An address that is none (0.0.0.0, ::) only says which family comes first. */
export const bindAddress: Field<string> = {
  path: "nodeIPOverride",
  inFile: (value) => isUnspecified(value) ? undefined : [value],
  read: ({ nodeIPOverride, unspecifiedBindAddress }) => nodeIPOverride[0] ?? unspecifiedBindAddress,
  write(configuration, value) {
    return isUnspecified(value)
      ? { ...configuration, nodeIPOverride: [], unspecifiedBindAddress: value }
      : { ...configuration, nodeIPOverride: [value] };
  },
};

/** A pair is written with a comma; spaces stay, as upstream keeps them. */
export const clusterCidrs: Place<string> = {
  path: "detectLocal.clusterCIDRs",
  inFile: (value) => value.split(","),
  write: (configuration, value) =>
    within(within(root, "detectLocal"), "clusterCIDRs").write(configuration, value.split(",")),
};

/** Upstream's ipvs mode uses the bit of the iptables section. */
export const masqueradeBit: Field<number> = {
  path: "iptables.masqueradeBit",
  read: (configuration) => configuration.iptables.masqueradeBit,
  write: (configuration, value) => ({
    ...configuration,
    iptables: { ...configuration.iptables, masqueradeBit: value },
    ipvs: { ...configuration.ipvs, masqueradeBit: value },
  }),
};

/** Trimmed and in lower case, as every Node's name is; nothing at all changes nothing. */
export const hostnameOverride: Place<string> = {
  path: "hostnameOverride",
  write(configuration, value) {
    if (value === "") return configuration;
    const name = value.trim().toLowerCase();
    if (name === "") throw new RangeError(`Cannot use "--hostname-override=${value}": it is blank`);
    return { ...configuration, hostnameOverride: name };
  },
};

type Period = "syncPeriodMs" | "minSyncPeriodMs";

/** The period of every mode but ipvs. The mode must be in the configuration already. */
export function periodOfOthers(key: Period): Place<number> {
  return period(key, (configuration) => configuration.mode !== "ipvs");
}

/** The period of ipvs. The mode must be in the configuration already. */
export function periodOfIpvs(key: Period): Place<number> {
  return period(key, (configuration) => configuration.mode === "ipvs");
}

function period(key: Period, counts: (of: ProxyConfiguration) => boolean): Place<number> {
  return {
    path: key.replace(/Ms$/, ""),
    write: (configuration, value) =>
      counts(configuration) ? { ...configuration, [key]: value } : configuration,
  };
}

function isUnspecified(ip: string): boolean {
  return parseIp(ip)?.every((byte) => byte === 0) === true;
}

function badWord(flag: string, value: string, known: readonly string[]): Error {
  const words = known.filter((word) => word !== "").join(", ");
  return new RangeError(`Cannot use "${flag}=${value}": it is none of ${words}`);
}
