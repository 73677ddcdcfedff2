/**
 * The third door of a mode: what it may have left on a node. It needs no settings and no writer, so
 * that whoever looks for the rules of other modes does not load those modes.
 */
import type { Clock } from "../base/clock.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Protocol } from "../base/protocol.ts";
import type { Kernel } from "../kernel/kernel.ts";

/** Rules of a mode that are in the kernel: of one family, in one of the places where the mode can write. */
export interface Leftover {
  /** As `cleanup` spells it. */
  readonly mode: string;
  /** Which part of the kernel holds them; a mode that has only one place gives its own name. */
  readonly backend: string;
  readonly family: IpFamily;
  /** What gave them away, as the tool for it names it: `table ip kube-proxy`. Sorted. */
  readonly objects: readonly string[];
}

/** One thing that a removal does, as data: what is printed is what is done. */
export interface RemovalStep {
  readonly action: "delete" | "empty" | "set";
  readonly backend: string;
  readonly family: IpFamily;
  /** What the thing is, in the singular: `table`, `chain`, `jump`, `sysctl`. People see counts of it. */
  readonly kind: string;
  /** Where it is, such as `table nat`; empty when its name says it. */
  readonly place: string;
  readonly name: string;
}

/** Something that a removal leaves, and why. */
export interface Kept {
  readonly what: string;
  readonly reason: string;
}

/** What a removal would do now, in this order. Empty where there is nothing to remove. */
export interface RemovalPlan {
  readonly steps: readonly RemovalStep[];
  /** Not ours, or still needed by somebody: these do not count as remaining. */
  readonly kept: readonly Kept[];
  /** Ours, and beyond what can be done here: with the way out. */
  readonly remaining: readonly Kept[];
  /** What else people want to know, such as why there is nothing to remove. */
  readonly remarks?: readonly string[];
}

/** What a removal did, by reading again afterwards. */
export interface RemovalReport {
  readonly removed: readonly RemovalStep[];
  readonly remaining: readonly Kept[];
  /** What was planned, and turned out to be still needed by somebody: does not count as remaining. */
  readonly kept?: readonly Kept[];
}

/**
 * Removes what a mode left, and nothing else. The plan goes back to the door that made it. A failed
 * step does not keep the others; a second removal finds nothing to do.
 */
export interface Removal {
  /** Reads the kernel and changes nothing. */
  plan(kernel: Kernel, signal: AbortSignal): Promise<RemovalPlan>;
  apply(kernel: Kernel, plan: RemovalPlan, signal: AbortSignal): Promise<RemovalReport>;
}

/** A kernel setting that a mode changes on its node. */
export interface ModeSetting {
  /** By its path below /proc/sys. */
  readonly setting: string;
  readonly family: IpFamily;
  /** What the mode sets it to. */
  readonly value: string;
  /** What kernels begin with. */
  readonly usual: string;
  /** Whoever else lives by that now, why, as half a sentence; undefined: nobody. Changes nothing. */
  neededBy?(kernel: Kernel): string | undefined;
}

/** An address and port that leads to endpoints. The address is canonical text. */
export interface ServedFrontend {
  readonly ip: string;
  readonly port: number;
  readonly protocol: Protocol;
}

/** What any command may ask about the rules that a mode left. */
export interface ModeLeftovers {
  /**
   * What of this mode is in the kernel now, IPv4 first. Changes nothing, loads no module, and costs a
   * few messages however much there is.
   */
  find(kernel: Kernel, signal: AbortSignal): Promise<readonly Leftover[]>;
  /**
   * What of this is the mode's indeed, where `find` took something for its own that is too large to be
   * looked into at a start. Takes longer, and holds nobody up. Absent where there is nothing of the kind.
   */
  confirm?(kernel: Kernel, options: ConfirmOptions): Promise<readonly Leftover[]>;
  readonly removal: Removal;
  /** The same without what is in these ranges, in a mode whose configuration has such: it is somebody else's. */
  removalBut?(excluded: readonly string[]): Removal;
  /**
   * Waits until what the mode holds has no connections, and removes each part as soon as that is so; another
   * mode serves already. Tells what is left at the deadline. Absent where connections need nothing of
   * the mode.
   */
  drain?(kernel: Kernel, options: DrainOptions): Promise<readonly Kept[]>;
  /** What the mode may have set; whoever removes its rules decides whether that goes back. */
  readonly settings?: readonly ModeSetting[];
  /**
   * Where its rules lead connections to endpoints now, node ports left out; absent where that cannot be
   * read. Changes nothing and loads no module, but may take as long as reading all rules does.
   */
  served?(kernel: Kernel, signal: AbortSignal): Promise<readonly ServedFrontend[]>;
  /**
   * Has these rules decide nothing from now on, without removing them, so that another mode's do; absent
   * where that is not possible or not needed. Established connections go on. Tells what it changed, and how:
   * nothing when repeated.
   */
  standAside?(kernel: Kernel, options: StandAsideOptions): Promise<readonly string[]>;
}

/** What is to be looked at again. */
export interface ConfirmOptions {
  /** What `find` told. */
  readonly found: readonly Leftover[];
  readonly signal: AbortSignal;
}

/** How a mode waits for its connections. */
export interface DrainOptions {
  readonly clock: Clock;
  /** By the clock's monotonic time. */
  readonly deadlineMs: number;
  /** What is in these ranges is somebody else's. */
  readonly excluded: readonly string[];
  readonly onProgress: (progress: DrainProgress) => void;
  readonly signal: AbortSignal;
}

/** What is waited for. */
export interface DrainProgress {
  readonly connections: number;
  readonly servers: number;
  readonly leftMs: number;
}

/** What another mode serves in the place of from now on. */
export interface StandAsideOptions {
  /** What `find` told, of the families that are served by now. */
  readonly found: readonly Leftover[];
  readonly signal: AbortSignal;
}
