/** What the kernel knows of this process: its rights, what it uses, and how ready it is to be killed. */
import { readKernelFile, writeKernelFile } from "./sysctl.ts";

/** What this process uses, as the usual `process_*` metrics count it. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  readonly openFileDescriptors: number;
  /** Infinity when there is no limit. */
  readonly maxFileDescriptors: number;
  /** Seconds since the epoch. */
  readonly startTimeSeconds: number;
}

/** This process. */
export interface Self {
  /** Whether it may change the network: CAP_NET_ADMIN is among its effective capabilities. */
  hasNetAdmin(): boolean;
  usage(): ProcessUsage;
  /** -1000 (never killed for memory) to 1000. Throws `SysctlError`; lowering needs CAP_SYS_RESOURCE. */
  setOomScoreAdj(score: number): void;
}

const CAP_NET_ADMIN = 12n;
/** USER_HZ: fixed at 100 on every architecture that this program runs on. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES_FALLBACK = 4096;

/** The real one. */
export class LinuxSelf implements Self {
  hasNetAdmin(): boolean {
    return hasCapability(this.#read("/proc/thread-self/status"), CAP_NET_ADMIN);
  }

  usage(): ProcessUsage {
    const stat = parseProcessStat(this.#read("/proc/self/stat"));
    const status = this.#read("/proc/self/status");
    return {
      cpuSeconds: stat.cpuTicks / TICKS_PER_SECOND,
      residentBytes: statusBytes(status, "VmRSS") ?? stat.residentPages * PAGE_BYTES_FALLBACK,
      virtualBytes: stat.virtualBytes,
      openFileDescriptors: [...Deno.readDirSync("/proc/self/fd")].length,
      maxFileDescriptors: parseMaxOpenFiles(this.#read("/proc/self/limits")),
      startTimeSeconds: bootTimeSeconds(this.#read("/proc/stat")) +
        stat.startTicks / TICKS_PER_SECOND,
    };
  }

  setOomScoreAdj(score: number): void {
    writeKernelFile("/proc/self/oom_score_adj", "oom_score_adj", String(score));
  }

  #read(path: string): string {
    return readKernelFile(path, path) ?? "";
  }
}

/** What this program takes from /proc/self/stat. */
export interface ProcessStat {
  readonly cpuTicks: number;
  readonly startTicks: number;
  readonly virtualBytes: number;
  readonly residentPages: number;
}

/** Reads `pid (comm) state ppid …`; comm may hold spaces and parentheses, so it ends at the last one. */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
  // proc(5) numbers fields from 1 and `state` is 3: field n is at n - 3.
  const field = (number: number) => fields[number - 3] || 0;
  return {
    cpuTicks: field(14) + field(15),
    startTicks: field(22),
    virtualBytes: field(23),
    residentPages: field(24),
  };
}

/** Whether `CapEff:	000001ffffffffff` of /proc/self/status holds the capability. */
export function hasCapability(status: string, capability: bigint): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(status);
  return match !== null && ((BigInt(`0x${match[1]}`) >> capability) & 1n) === 1n;
}

/** The soft limit in `Max open files            20000                20000                files`. */
export function parseMaxOpenFiles(limits: string): number {
  const match = /^Max open files\s+(\d+|unlimited)/m.exec(limits);
  return match && match[1] !== "unlimited" ? Number(match[1]) : Infinity;
}

/** `VmRSS:	   12345 kB` in bytes. */
function statusBytes(status: string, name: string): number | undefined {
  const match = new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(status);
  return match ? Number(match[1]) * 1024 : undefined;
}

/** `btime 1700000000` of /proc/stat. */
function bootTimeSeconds(stat: string): number {
  return Number(/^btime (\d+)$/m.exec(stat)?.[1] ?? 0);
}
