/**
 * The size and the timeouts of the connection table, as an operator wants them: what to set is decided
 * first, purely, then set. A value that is right already is not written, so a read-only /proc/sys is
 * fine once somebody else has set it.
 */
import type { Logger } from "../../base/log.ts";
import type { Host } from "../host.ts";
import { ensureSysctl, type Sysctl, SysctlError } from "../sysctl.ts";

/** What is wanted; 0 leaves the system's own value. */
export interface ConntrackSettings {
  /** Entries per CPU. */
  readonly maxPerCore: number;
  /** At least so many entries, if `maxPerCore` is set. */
  readonly min: number;
  readonly tcpEstablishedTimeoutMs: number;
  readonly tcpCloseWaitTimeoutMs: number;
  /** True lets packets outside the TCP window pass; false leaves the system's own value. */
  readonly tcpBeLiberal: boolean;
  readonly udpTimeoutMs: number;
  readonly udpStreamTimeoutMs: number;
}

/** One value below /proc/sys/net/netfilter. */
export interface ConntrackSetting {
  readonly name: string;
  readonly value: number;
}

/** More entries than this cost a machine of many cores too much memory. */
const MOST_ENTRIES = 1 << 20;
const MAX = "nf_conntrack_max";
/** As many entries as share one bucket of the hash table in a full table. */
const ENTRIES_PER_BUCKET = 4;

/** The size of the table; 0 leaves it alone. The cap wins even over a larger minimum, as upstream. */
function conntrackMax(
  { maxPerCore, min }: Pick<ConntrackSettings, "maxPerCore" | "min">,
  cpus: number,
): number {
  if (maxPerCore <= 0) return 0;
  const scaled = maxPerCore * cpus;
  return scaled > MOST_ENTRIES ? MOST_ENTRIES : Math.max(scaled, min);
}

/**
 * What to set, in the order in which it is set. Timeouts are whole seconds: parts are cut off. For
 * tests: what is decided shows without a kernel.
 */
export function planConntrackSettings(
  wanted: ConntrackSettings,
  cpus: number,
): readonly ConntrackSetting[] {
  const max = conntrackMax(wanted, cpus);
  const timeouts = [
    ["nf_conntrack_tcp_timeout_established", wanted.tcpEstablishedTimeoutMs],
    ["nf_conntrack_tcp_timeout_close_wait", wanted.tcpCloseWaitTimeoutMs],
    ["nf_conntrack_udp_timeout", wanted.udpTimeoutMs],
    ["nf_conntrack_udp_timeout_stream", wanted.udpStreamTimeoutMs],
  ] as const;
  const seconds = timeouts.filter(([, milliseconds]) => milliseconds > 0)
    .map(([name, milliseconds]) => ({ name, value: Math.trunc(milliseconds / 1000) }));
  const tcp = seconds.filter(({ name }) => name.includes("_tcp_"));
  const udp = seconds.filter(({ name }) => name.includes("_udp_"));
  return [
    ...(max > 0 ? [{ name: MAX, value: max }] : []),
    ...tcp,
    ...(wanted.tcpBeLiberal ? [{ name: "nf_conntrack_tcp_be_liberal", value: 1 }] : []),
    ...udp,
  ];
}

/** What the settings are applied to. */
export interface ConntrackSettingsTarget {
  readonly sysctl: Sysctl;
  readonly host: Host;
  readonly logger: Logger;
}

/** Sets what differs. The first one that cannot be set throws `SysctlError`; those before it stand. */
export function applyConntrackSettings(
  wanted: ConntrackSettings,
  { host, logger, sysctl }: ConntrackSettingsTarget,
): void {
  for (const { name, value } of planConntrackSettings(wanted, host.onlineCpus())) {
    const entry = `net/netfilter/${name}`;
    if (ensureSysctl(sysctl, entry, String(value))) logger.info("Set sysctl", { entry, value });
    if (name === MAX) growHashTable(Math.trunc(value / ENTRIES_PER_BUCKET), { host, logger });
  }
}

/** The kernel does not grow its hash table with the limit: a full table would be slow to search. */
function growHashTable(
  buckets: number,
  { host, logger }: Pick<ConntrackSettingsTarget, "host" | "logger">,
): void {
  const present = host.moduleParameter("nf_conntrack", "hashsize");
  if (present === undefined) {
    throw new SysctlError(
      'Cannot read "nf_conntrack.hashsize": no such file; load the kernel module nf_conntrack',
      { setting: "nf_conntrack.hashsize", fault: "absent" },
    );
  }
  if (Number(present) >= buckets) return;
  host.setModuleParameter("nf_conntrack", "hashsize", String(buckets));
  logger.info("Set conntrack hashsize", { conntrackHashsize: buckets });
}
