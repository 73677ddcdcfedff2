/**
 * What is set on a node once, before the first sync, and by a privileged run with `--init-only`: modules,
 * settings of the kernel, timeouts; and whether the scheduler is there.
 */
import type { Logger } from "../../base/log.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Ipvs, IpvsServer } from "../../kernel/ipvs/ipvs.ts";
import { ensureSysctl } from "../../kernel/sysctl.ts";
import type { PrepareContext } from "../writer.ts";
import type { IpvsSettings } from "./config.ts";
import { setOf } from "./names.ts";
import { reuseMode, settingsOfAll, strictSettings } from "./settings.ts";

/** Throws one sentence where the mode cannot do without. */
export async function prepare(
  settings: IpvsSettings,
  { kernel, logger, settings: families }: PrepareContext,
): Promise<void> {
  const { ipset, ipvs, sysctl } = kernel;
  await ipvs.load();
  if (!ipset.isLoaded()) {
    const [family = "IPv4"] = families.keys();
    // Whoever makes a set loads them all.
    const [failure] = await ipset.commit([{ kind: "create", set: setOf("clusterIP", family) }]);
    if (failure) throw new Error(failure.message);
  }
  for (const [setting, value] of settingsOfAll) ensureSysctl(sysctl, setting, value);
  setReuseMode(kernel, logger);
  for (const [setting, value] of settings.strictARP ? strictSettings : []) {
    ensureSysctl(sysctl, setting, value);
  }
  setTimeouts(settings, ipvs, logger);
  await requireScheduler(settings.scheduler || defaultScheduler, ipvs);
}

/** Round robin. */
export const defaultScheduler = "rr";

/** Newer kernels do what is right by themselves; before, a port that is used again would wait for a second. */
function setReuseMode({ host, sysctl }: Kernel, logger: Logger): void {
  const [major = 0, minor = 0] = host.kernelRelease().split(/[.-]/).map(Number);
  const isAtLeast = (a: number, b: number) => major > a || (major === a && minor >= b);
  if (isAtLeast(5, 9)) return;
  if (isAtLeast(4, 1)) {
    ensureSysctl(sysctl, reuseMode, "0");
    return;
  }
  logger.error(
    "Cannot keep connections from being delayed: this kernel is older than 4.1 and lacks conn_reuse_mode; update it",
  );
}

/** What is not given keeps the kernel's value. Nothing is written where all is as it should be. */
function setTimeouts(
  { tcpFinTimeoutMs, tcpTimeoutMs, udpTimeoutMs }: IpvsSettings,
  ipvs: Ipvs,
  logger: Logger,
): void {
  const wanted = {
    tcp: Math.trunc(tcpTimeoutMs / 1000),
    tcpFin: Math.trunc(tcpFinTimeoutMs / 1000),
    udp: Math.trunc(udpTimeoutMs / 1000),
  };
  const names = ["tcp", "tcpFin", "udp"] as const;
  if (names.every((name) => wanted[name] <= 0)) return;
  try {
    const current = ipvs.timeouts();
    if (names.every((name) => wanted[name] <= 0 || wanted[name] === current[name])) return;
    ipvs.setTimeouts(wanted);
  } catch (error) {
    logger.error("Cannot set the timeouts of IPVS", error);
  }
}

/** An address of documentation, where hardly anybody has a server. */
const sample = { family: "IPv4", protocol: "tcp", address: "198.51.100.0" } as const;
const samplePorts = [20_000, 20_001, 20_002];

/** Only making a server tells whether the kernel has its scheduler, or can load it. */
async function requireScheduler(scheduler: string, ipvs: Ipvs): Promise<void> {
  if (ipvs.firstSchedulers().has(scheduler)) return;
  for (const port of samplePorts) {
    const server: IpvsServer = { ...sample, port, scheduler, flags: 0 };
    const [failure] = await ipvs.commit([{ kind: "add-server", server }]);
    if (!failure) {
      await ipvs.commit([{ kind: "delete-server", server }]);
      return;
    }
    if (failure.refusal === "exists") continue;
    if (failure.refusal !== "no-scheduler") throw failure.error;
    throw new Error(
      `Cannot use the scheduler "${scheduler}" of IPVS: the kernel module "ip_vs_${scheduler}" is not ` +
        `there; run "modprobe ip_vs_${scheduler}" on the node, or set ipvs.scheduler to one that is`,
      { cause: failure.error },
    );
  }
}
