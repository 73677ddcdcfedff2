/** What the kernel knows of this process: its rights, what it uses, and how ready it is to be killed. */
import { collectGarbage, keepLittleFreeMemory, returnFreeMemory } from "./memory.ts";
import { KernelFiles } from "./kernel_files.ts";
import { type NetworkNamespace, networkNamespace } from "./network_namespace.ts";

/** What this process uses, as the usual `process_*` metrics count it. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  /** Infinity when there is no limit. */
  readonly maxVirtualBytes: number;
  /** By IP, in the network namespace that the process was started in. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
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
  /** The network namespace that it works on. Throws where the kernel does not tell. */
  networkNamespace(): NetworkNamespace;
  usage(): ProcessUsage;
  /** -1000 (never killed for memory) to 1000. Throws `SysctlError`; lowering needs CAP_SYS_RESOURCE. */
  setOomScoreAdj(score: number): void;
  /** From now on little of what native code frees is kept for later use. */
  keepLittleFreeMemory(): void;
  /** Gives free memory back to the system; takes about a millisecond. */
  returnFreeMemory(): void;
  /** What the program's objects take, garbage included. */
  heapBytes(): number;
  /** Collects all garbage now, where the program was built to; a large heap takes 50 ms and more. */
  collectGarbage(): void;
}

const CAP_NET_ADMIN = 12n;
/** USER_HZ: fixed at 100 on every architecture that this program runs on. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES_FALLBACK = 4096;

/** The real one. */
export class LinuxSelf implements Self {
  /** This process is always on this machine. */
  readonly #files = new KernelFiles();

  hasNetAdmin(): boolean {
    return hasCapability(this.#read("/proc/thread-self/status"), CAP_NET_ADMIN);
  }

  networkNamespace(): NetworkNamespace {
    return networkNamespace();
  }

  usage(): ProcessUsage {
    const stat = parseProcessStat(this.#read("/proc/self/stat"));
    const status = this.#read("/proc/self/status");
    const limits = this.#read("/proc/self/limits");
    const traffic = parseTraffic(this.#read("/proc/self/net/netstat"));
    return {
      cpuSeconds: stat.cpuTicks / TICKS_PER_SECOND,
      residentBytes: statusBytes(status, "VmRSS") ?? stat.residentPages * PAGE_BYTES_FALLBACK,
      virtualBytes: stat.virtualBytes,
      maxVirtualBytes: parseLimit(limits, "Max address space"),
      receivedBytes: traffic.received,
      sentBytes: traffic.sent,
      openFileDescriptors: [...Deno.readDirSync("/proc/self/fd")].length,
      maxFileDescriptors: parseLimit(limits, "Max open files"),
      startTimeSeconds: bootTimeSeconds(this.#read("/proc/stat")) +
        stat.startTicks / TICKS_PER_SECOND,
    };
  }

  setOomScoreAdj(score: number): void {
    this.#files.write("/proc/self/oom_score_adj", "oom_score_adj", String(score));
  }

  keepLittleFreeMemory(): void {
    keepLittleFreeMemory();
  }

  returnFreeMemory(): void {
    returnFreeMemory();
  }

  heapBytes(): number {
    return Deno.memoryUsage().heapUsed;
  }

  collectGarbage(): void {
    collectGarbage();
  }

  #read(path: string): string {
    return this.#files.read(path) ?? "";
  }
}

/** What this program takes from /proc/self/stat. */
export interface ProcessStat {
  readonly cpuTicks: number;
  readonly startTicks: number;
  readonly virtualBytes: number;
  readonly residentPages: number;
}

/**
 * Reads `pid (comm) state ppid …`; comm may hold spaces and parentheses, so it ends at the last one.
 * For tests: the texts of other processes.
 */
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

/** Whether `CapEff:	000001ffffffffff` of /proc/self/status holds the capability. For tests: other processes. */
export function hasCapability(status: string, capability: bigint): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(status);
  return match !== null && ((BigInt(`0x${match[1]}`) >> capability) & 1n) === 1n;
}

/** The soft limit in `Max open files            20000                20000                files`. For tests: other limits. */
export function parseLimit(limits: string, name: string): number {
  const match = new RegExp(`^${name}\\s+(\\d+|unlimited)`, "m").exec(limits);
  return match && match[1] !== "unlimited" ? Number(match[1]) : Infinity;
}

/**
 * The two figures of /proc/self/net/netstat, where a line of names stands above each line of values:
 * ```
 * IpExt: InNoRoutes InTruncatedPkts InMcastPkts OutMcastPkts InBcastPkts OutBcastPkts InOctets OutOctets …
 * IpExt: 0 0 12 14 0 0 123456 65432 …
 * ```
 * For tests: the texts of other kernels.
 */
export function parseTraffic(
  netstat: string,
): { readonly received: number; readonly sent: number } {
  const [names = [], values = []] = netstat.split("\n").filter((line) => line.startsWith("IpExt: "))
    .map((line) => line.split(" "));
  const read = (name: string) => Number(values[names.indexOf(name)] ?? 0);
  return { received: read("InOctets"), sent: read("OutOctets") };
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
