/**
 * Keeps one family's rules in step with its desired state: decides when, asks the writer, and does
 * what follows a success. Families share nothing here, so a fault of one cannot stop another.
 *
 * Nothing is lost by a failure: the source hands out again what was taken, and the next run compares
 * the kernel as a whole.
 */
import type { Clock } from "../base/clock.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";
import { RepeatedFailureLog } from "../base/repeated_failure.ts";
import type { Conntrack } from "../kernel/conntrack/conntrack.ts";
import type { Taken } from "../trackers/family_state.ts";
import type { Changes, RuleWriter, SyncReport } from "../writers/writer.ts";
import { ConntrackReconciler, ReconciliationError } from "./conntrack_reconciler.ts";
import { HealthCheckChanges } from "./health_check_changes.ts";
import type {
  FamilySource,
  HealthCheckSink,
  HealthSink,
  NoticeSink,
  SyncMetrics,
} from "./ports.ts";
import { BoundedFrequencyRunner, type RunIntervals } from "./runner.ts";

/** What a family's sync is made of. */
export interface FamilySyncOptions {
  readonly source: FamilySource;
  readonly writer: RuleWriter;
  readonly conntrack: Conntrack;
  /** Whether Services and EndpointSlices are known completely; nothing is programmed before. */
  readonly isComplete: () => boolean;
  readonly intervals: RunIntervals;
  /** The kernel is compared as a whole when that was not done for so long; never when absent. */
  readonly fullSyncMs?: number;
  /** How often the kernel is asked for foreign changes. Two seconds when absent. */
  readonly driftCheckMs?: number;
  readonly health: HealthSink;
  readonly healthChecks: HealthCheckSink;
  readonly metrics: SyncMetrics;
  readonly notices: NoticeSink;
  readonly logger: Logger;
  readonly clock: Clock;
}

const DRIFT_CHECK_MS = 2000;

/** One family's loop. */
export class FamilySync {
  readonly family: IpFamily;
  readonly #options: FamilySyncOptions;
  readonly #runner: BoundedFrequencyRunner;
  readonly #reconciler: ConntrackReconciler;
  readonly #healthChecks = new HealthCheckChanges();
  readonly #failures: RepeatedFailureLog;
  #needsFull = true;
  #synced = false;
  #requestedMeanwhile = false;
  #lastFullAt = 0;
  /** The writer does one thing at a time. */
  #writerBusy: Promise<unknown> = Promise.resolve();

  constructor(options: FamilySyncOptions) {
    const { clock, conntrack, intervals, logger, source } = options;
    this.#options = options;
    this.family = source.family;
    this.#failures = new RepeatedFailureLog(logger, clock);
    this.#reconciler = new ConntrackReconciler(source.family, conntrack);
    this.#runner = new BoundedFrequencyRunner({
      intervals,
      clock,
      work: (signal) => this.sync(signal),
      onFailure: (error, retryMs) => this.#failed(error, retryMs),
    });
  }

  /** Something changed. Until the first complete state changes only gather. */
  request(): void {
    if (!this.#options.isComplete()) return;
    this.#queued();
    this.#runner.request();
  }

  /** Syncs when it is time to, watches for foreign changes, and returns when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, health, metrics } = this.#options;
    health.started(this.family);
    metrics.queued(this.family, clock.now());
    if (this.#options.isComplete()) this.#runner.request();
    await Promise.all([this.#runner.run(signal), this.#watchDrift(signal)]);
  }

  /** One sync, now; throws when it failed. `run` must not be going on at the same time. */
  async sync(signal: AbortSignal): Promise<void> {
    if (!this.#options.isComplete()) return;
    const { clock, metrics, source } = this.#options;
    const startedAt = clock.monotonic();
    this.#requestedMeanwhile = false;
    const taken = source.take();
    const full = this.#isFullDue();
    let report: SyncReport | undefined;
    try {
      report = await this.#write(taken, full ? { kind: "all" } : taken.changes, signal);
      await this.#followUp(taken, report, signal);
    } finally {
      const seconds = (clock.monotonic() - startedAt) / 1000;
      metrics.ended(this.family, { seconds, full: report?.full ?? full });
    }
    this.#failures.clear("sync");
  }

  async #write(taken: Taken, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    const { clock, metrics, source, writer } = this.#options;
    try {
      const report = await this.#alone(() => writer.sync(taken.snapshot, changes, signal));
      source.commit();
      this.#needsFull = false;
      this.#synced = true;
      if (report.full) this.#lastFullAt = clock.monotonic();
      return report;
    } catch (error) {
      source.restore();
      this.#needsFull = true;
      if (!signal.aborted) metrics.failed(this.family);
      throw error;
    }
  }

  /** In upstream's order, so that what a dashboard sees of one sync comes in the order it knows. */
  async #followUp(taken: Taken, report: SyncReport, signal: AbortSignal): Promise<void> {
    const { clock, health, metrics, notices, source } = this.#options;
    const now = clock.now();
    for (const time of taken.triggerTimesMs) {
      metrics.programmed(this.family, Math.max(0, now - time) / 1000);
    }
    metrics.counts(this.family, source.counts);
    health.updated(this.family);
    // What came while this sync ran is still waiting.
    if (this.#requestedMeanwhile) health.queued(this.family);
    metrics.succeeded(this.family, now);
    for (const notice of report.notices) notices.notice(this.family, notice);
    await this.#updateHealthChecks();
    this.#reconciler.note(taken.changes.services, source.udpPorts, {
      endpointsChanged: taken.conntrackCleanup,
    });
    if (this.#reconciler.due) await this.#reconcile(signal);
  }

  async #updateHealthChecks(): Promise<void> {
    const { healthChecks, source } = this.#options;
    try {
      await healthChecks.update(this.#healthChecks.since(source.healthChecks));
    } catch (error) {
      // Rules are in force; a load balancer that cannot ask is told of, and no reason to sync again.
      this.#failures.report({
        key: "health checks",
        message: "Cannot update health check ports",
        error,
        values: { ipFamily: this.family },
      });
    }
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { clock, logger, metrics } = this.#options;
    const startedAt = clock.monotonic();
    const { complete, removed } = await this.#reconciler.reconcile(signal);
    const seconds = (clock.monotonic() - startedAt) / 1000;
    metrics.reconciled(this.family, { seconds, removed });
    const values = { ipFamily: this.family, entriesDeleted: removed };
    logger.verbose(4, "Finished reconciling conntrack entries", values);
    if (!complete) logger.verbose(2, "Reconciled a part of the conntrack entries", values);
  }

  async #watchDrift(signal: AbortSignal): Promise<void> {
    const { clock, driftCheckMs, writer } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(driftCheckMs ?? DRIFT_CHECK_MS, signal);
      // Before a first success, and after a failure, the whole is compared anyway.
      if (signal.aborted || !this.#synced || this.#needsFull) continue;
      try {
        if (!await this.#alone(() => writer.drifted(signal))) continue;
      } catch (error) {
        if (signal.aborted) return;
        const message = "Cannot look for foreign changes of the rules";
        this.#failures.report({ key: "drift", message, error, values: { ipFamily: this.family } });
        continue;
      }
      this.#needsFull = true;
      this.#queued();
      this.#runner.force();
    }
  }

  #failed(error: unknown, retryMs: number): void {
    const values = { ipFamily: this.family, retryingTime: `${retryMs / 1000}s` };
    if (error instanceof ReconciliationError) {
      const message = "Failed to reconcile conntrack entries";
      this.#failures.report({ key: "conntrack", message, error, values });
      return;
    }
    // The rerun is a change that waits, so that a proxy which fails for long is seen to be unhealthy.
    this.#options.health.queued(this.family);
    this.#failures.report({ key: "sync", message: "Sync failed", error, values });
  }

  #queued(): void {
    const { clock, health, metrics } = this.#options;
    this.#requestedMeanwhile = true;
    health.queued(this.family);
    metrics.queued(this.family, clock.now());
  }

  #isFullDue(): boolean {
    const { clock, fullSyncMs } = this.#options;
    return this.#needsFull ||
      (fullSyncMs !== undefined && clock.monotonic() - this.#lastFullAt >= fullSyncMs);
  }

  /** Waits for its turn with the writer. */
  #alone<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#writerBusy.then(action);
    // A failure is the caller's own; the next one's turn comes all the same.
    this.#writerBusy = result.catch(() => {});
    return result;
  }
}
