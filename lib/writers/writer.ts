/**
 * The seam between the desired state and a proxy mode. A mode knows nothing of Kubernetes objects,
 * of when it is called, or of any other mode.
 */
import type { FieldsOf } from "../base/fields.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { FamilySettings, ServicePortKey, Snapshot } from "../snapshot/snapshot.ts";
import type { Leftover } from "./leftovers.ts";

/**
 * What may differ from the snapshot of the last successful sync. `all` asks for the kernel to be
 * read and compared. `some` bounds the work of a sync by what changed: keys that are no longer in the
 * snapshot were removed; `settings` says that `Snapshot.settings` changed too.
 */
export type Changes =
  | { readonly kind: "all" }
  | {
    readonly kind: "some";
    readonly services: ReadonlySet<ServicePortKey>;
    readonly settings: boolean;
  };

/** Something worth telling the operator that did not stop the sync. */
export interface Notice {
  /** Present when the notice is about one service port. */
  readonly service?: ServicePortKey;
  /** One sentence. */
  readonly message: string;
}

/** What is said of service ports that cannot be programmed, in sorted order; the values say why. */
export function skipNotices(skipped: ReadonlyMap<ServicePortKey, string>): readonly Notice[] {
  return [...skipped].sort(([a], [b]) => a < b ? -1 : 1).map(([service, message]) => ({
    service,
    message: `Cannot program Service port "${service}": ${message}; it is tried again when it ` +
      "changes and whenever the table is compared as a whole",
  }));
}

/** What a sync did. */
export interface SyncReport {
  /** The kernel was read and compared as a whole. */
  readonly full: boolean;
  /** Messages sent to the kernel; 0 when it already agreed. */
  readonly written: number;
  readonly notices: readonly Notice[];
  /**
   * Changes that are not written yet, so that others need not wait for them: to be among those of the
   * next sync, which should follow at once. Absent as a rule.
   */
  readonly unfinished?: ReadonlySet<ServicePortKey>;
}

/**
 * Keeps one family's rules in the kernel.
 *
 * `sync` is idempotent and makes the kernel agree with the snapshot, writing only what differs. A
 * frontend becomes reachable only when everything behind it is there. When it throws, the kernel
 * holds the old state, the new one or a mix of whole Services; the next call repairs from what the
 * kernel really holds. Calls do not overlap.
 */
export interface RuleWriter extends AsyncDisposable {
  readonly family: IpFamily;
  sync(snapshot: Snapshot, changes: Changes, signal: AbortSignal): Promise<SyncReport>;
  /**
   * Whether somebody else changed what the last sync left. Looks, and changes nothing. When the signal
   * aborts it ends soon, as if nothing were found, and goes on where it was with the next call.
   */
  drifted(signal: AbortSignal): Promise<boolean>;
  /**
   * What the writer has to do of its own between syncs, such as deleting what nothing refers to any
   * more. Does nothing where there is nothing to do, and is called again after a failure.
   */
  maintain(signal: AbortSignal): Promise<void>;
}

/**
 * Changes that come while a sync is going on are one sync together; one that finds the writer idle is
 * written at once.
 */
export interface Gathering {
  /** The next sync starts once no further change came for this long … */
  readonly quietMs: number;
  /** … or this long after the first one that it is for. */
  readonly mostMs: number;
}

/** How long others get the kernel for themselves after a sync of any family. */
export interface Rest {
  /** So many times as long as the sync took, within the bounds. */
  readonly times: number;
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * How often a mode wants to be asked for what. The first three hold where the configuration has no
 * `minSyncPeriod`; one that is set says all there is to say about the time between two syncs.
 */
export interface Pace {
  /** Least time from the end of a sync to the start of the next. */
  readonly minSyncPeriodMs: number;
  readonly gathering: Gathering;
  /** Absent: a sync that follows at once is in nobody's way. */
  readonly rest?: Rest;
  /** The longest time without comparing the kernel as a whole. */
  readonly fullSyncMs: number;
  /** Whether syncs of `some` changes exist, and are told apart from whole ones. */
  readonly partialSyncs: boolean;
  /** Between two calls of `drifted`. */
  readonly driftCheckMs: number;
  /** Between two calls of `maintain`; absent where the mode has nothing of its own to do. */
  readonly maintainMs?: number;
}

/** What a pace may depend on. */
export interface PaceContext {
  readonly kernel: Kernel;
  /** As configured: how often everything is looked at again. */
  readonly syncPeriodMs: number;
}

/** Three answers: only the first two are conclusive. */
export type Probe =
  | { readonly kind: "supported" }
  | { readonly kind: "unsupported"; readonly reason: string }
  | { readonly kind: "unknown"; readonly reason: string };

/**
 * The settings of a mode: the door `config.ts`, of which every program may have all at once. `Settings`
 * are below the name of the mode's folder in a configuration.
 */
export interface ModeConfig<Settings, Mode extends string = string> {
  /** As the field `mode` spells it. */
  readonly mode: Mode;
  /** The kind of the document that holds these settings alone. */
  readonly documentKind: string;
  /** A few words for whoever edits the file. */
  readonly doc: string;
  /** Types, defaults and conditions of the settings. */
  readonly fields: FieldsOf<Settings>;
  /** The settings of which nobody said anything: what flags and v1alpha1 start from. */
  readonly defaults: Settings;
  /** What the program must run on; Linux when absent. */
  readonly platform?: "windows";
  /** The feature gate that must be on to choose it. */
  readonly gate?: string;
  /** Present where it will go: what people are told at each start, as an Event with this reason too. */
  readonly deprecation?: { readonly reason: string; readonly note: string };
  /** Where node ports answer when nobody says anything; on every address of the node when absent. */
  readonly nodePortAddresses?: readonly string[];
}

/** What a mode sets on a node once, before its first sync. */
export interface PrepareContext {
  readonly kernel: Kernel;
  /** The families that will be programmed, each with its settings as they are known by then. */
  readonly settings: ReadonlyMap<IpFamily, FamilySettings>;
  readonly logger: Logger;
}

/** What a writer is made of besides its mode's settings. */
export interface WriterContext {
  readonly family: IpFamily;
  readonly kernel: Kernel;
  readonly logger: Logger;
}

/**
 * The rules of a mode: the door `mod.ts`, loaded only when a kernel is to be programmed with it, or
 * rules to be printed. One object serves all families of a program.
 */
export interface ModeRuntime {
  /**
   * Whether its rules name every address of the node where node ports answer on all of them. Each
   * address that comes or goes is then a change of the settings.
   */
  readonly listsAllAddresses: boolean;
  /** A link that the mode makes for itself: its addresses are no node's, and it holds them by the thousand. */
  readonly ownLink?: string;
  /** Asks the kernel, without changing it, whether the mode can work there. */
  probe(kernel: Kernel, family: IpFamily): Promise<Probe>;
  /**
   * Sets what is set once: sysctls, links. Also all that a run with `--init-only` asks for. Writes
   * only what differs; throws one sentence where the mode cannot do without.
   */
  prepare(context: PrepareContext): Promise<void>;
  /** Where it writes on this node, in a mode that can do so in several places; only looks. */
  backend?(kernel: Kernel): Promise<string>;
  pace(context: PaceContext): Promise<Pace>;
  createWriter(context: WriterContext): Promise<RuleWriter>;
  /** What a first sync would write, as people and the mode's own tool read it. Needs no kernel. */
  renderText(snapshot: Snapshot): string | Promise<string>;
  /** Registers the mode's own metrics, which its writers then count in. Called at most once. */
  registerMetrics(registry: MetricsRegistry): void;
  /** Whether what was found is what this mode programs, and so no leftover while it runs. */
  owns(found: Leftover): boolean;
  /**
   * Whether its rules decide although these do too, so that these need not stand aside; absent: none of them
   * does.
   */
  outranks?(found: Leftover): boolean;
  /**
   * Whether Services are served as they should be beside these, which stand aside where they can; beside
   * everything where it is absent.
   */
  servesBeside?(found: Leftover): boolean;
  /**
   * Where they are not: all that differs until these are removed, as clauses of a sentence. Empty or absent:
   * that is not known, and anything may.
   */
  differsBeside?(found: Leftover): readonly string[];
}
