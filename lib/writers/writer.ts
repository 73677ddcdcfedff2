/**
 * The seam between the desired state and a proxy mode. A mode knows nothing of Kubernetes objects,
 * of when it is called, or of any other mode.
 */
import type { FieldsOf } from "../base/fields.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { ServicePortKey, Snapshot } from "../snapshot/snapshot.ts";

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
  readonly kind: "service-skipped" | "repaired" | "foreign-object" | "cleanup-failed";
  /** Present when the notice is about one service port. */
  readonly service?: ServicePortKey;
  /** One sentence. */
  readonly message: string;
}

/** What a sync did. */
export interface SyncReport {
  /** The kernel was read and compared as a whole. */
  readonly full: boolean;
  /** Messages sent to the kernel; 0 when it already agreed. */
  readonly written: number;
  readonly notices: readonly Notice[];
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
  /** Whether somebody else changed what the last sync left; cheap enough to ask every second. */
  drifted(signal: AbortSignal): Promise<boolean>;
}

/** Three answers: only the first two are conclusive. */
export type Probe =
  | { readonly kind: "supported" }
  | { readonly kind: "unsupported"; readonly reason: string }
  | { readonly kind: "unknown"; readonly reason: string };

/** The half of a mode that every program may have at once: the settings it owns. */
export interface ModeConfig<Settings> {
  /** As the field `mode` spells it. */
  readonly mode: string;
  /** The kind of the document that holds these settings alone. */
  readonly documentKind: string;
  /** A few words for whoever edits the file. */
  readonly doc: string;
  /** Types, defaults and conditions of the settings. */
  readonly fields: FieldsOf<Settings>;
}

/** Counts what only this mode can fail at, under the names that dashboards know. */
export interface ModeMetrics {
  syncFailed(family: IpFamily): void;
  cleanupFailed(family: IpFamily): void;
}

/** What a writer is made of besides its mode's settings. */
export interface WriterContext {
  readonly family: IpFamily;
  readonly kernel: Kernel;
  readonly logger: Logger;
}

/** The half of a mode that is loaded only when a kernel is to be programmed with it. */
export interface ModeRuntime {
  /** Asks the kernel, without changing it, whether the mode can work there. */
  probe(kernel: Kernel, family: IpFamily): Promise<Probe>;
  createWriter(context: WriterContext): Promise<RuleWriter>;
  /** What a first sync would write, as people and the mode's own tool read it. Needs no kernel. */
  renderText(snapshot: Snapshot): string;
  /** Names of this mode's objects that are in the kernel now; looking changes nothing. */
  findLeftovers(kernel: Kernel): Promise<readonly string[]>;
  /** Registers the mode's own metrics. Called once. */
  registerMetrics(registry: MetricsRegistry): ModeMetrics;
}
