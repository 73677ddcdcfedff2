/** What a family's sync needs from others, each as small as it can be. */
import type { IpFamily } from "../base/ip_family.ts";
import type { FamilyState } from "../trackers/family_state.ts";
import type { FamilyCounts, HealthCheck } from "../trackers/family_totals.ts";
import type { Notice } from "../writers/writer.ts";

/** Where the desired state comes from: one family's trackers. */
export type FamilySource = Pick<
  FamilyState,
  | "family"
  | "onChange"
  | "take"
  | "commit"
  | "restore"
  | "takeNotices"
  | "counts"
  | "udpPorts"
>;

/** Told what happens to a family, for `/healthz` and `/livez`. */
export interface HealthSink {
  started(family: IpFamily): void;
  queued(family: IpFamily): void;
  updated(family: IpFamily): void;
}

/** The health check ports of one family's Services. */
export interface HealthCheckSink {
  /** Takes what changed by `namespace/name`, undefined for one that is gone; called after every sync. */
  update(changed: ReadonlyMap<string, HealthCheck | undefined>): Promise<void>;
}

/** How long a sync took, and of which kind it was. */
export interface SyncDuration {
  readonly seconds: number;
  readonly full: boolean;
}

/** How a reconciliation of flows went. */
export interface ReconciliationMeasure {
  readonly seconds: number;
  readonly removed: number;
}

/** Told every fact once, when it happens. Times are milliseconds since the epoch. */
export interface SyncMetrics {
  queued(family: IpFamily, nowMs: number): void;
  /** A run ended, well or not. */
  ended(family: IpFamily, duration: SyncDuration): void;
  succeeded(family: IpFamily, nowMs: number): void;
  /** A change became effective so long after its cause. */
  programmed(family: IpFamily, seconds: number): void;
  counts(family: IpFamily, counts: FamilyCounts): void;
  reconciled(family: IpFamily, measure: ReconciliationMeasure): void;
}

/** Takes what an operator should read, of the writer or of the trackers. */
export interface NoticeSink {
  notice(family: IpFamily, notice: Notice): void;
}
