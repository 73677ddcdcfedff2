/**
 * Keeps one family's rules in step with its desired state: decides when, asks the writer, and does
 * what follows a success. Families share nothing here, so a fault of one cannot stop another.
 *
 * A failure loses nothing: the source gives again what was taken, and the next run compares everything
 * with the kernel.
 */
import { linkAbort, type LinkedAbort } from "../base/abort.ts";
import { type Clock, untilNext } from "../base/clock.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";
import { RepeatedFailureLog } from "../base/repeated_failure.ts";
import type { Conntrack } from "../kernel/conntrack/conntrack.ts";
import type { Taken } from "../trackers/family_state.ts";
import type { Changes, RuleWriter, SyncReport } from "../writers/writer.ts";
import { ConntrackReconciler } from "./conntrack_reconciler.ts";
import { FlowUpkeep } from "./flow_upkeep.ts";
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
  /** How often the kernel is asked for foreign changes. */
  readonly driftCheckMs: number;
  /** How often the writer gets to do what it has to do of its own; never when absent. */
  readonly maintainMs?: number;
  readonly health: HealthSink;
  readonly healthChecks: HealthCheckSink;
  readonly metrics: SyncMetrics;
  readonly notices: NoticeSink;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** After a look for foreign changes that made room for a sync: it goes on once that is done. */
const INTERRUPTED_PAUSE_MS = 100;

/** One family's loop. */
export class FamilySync {
  readonly family: IpFamily;
  readonly #options: FamilySyncOptions;
  readonly #runner: BoundedFrequencyRunner;
  readonly #reconciler: ConntrackReconciler;
  readonly #flows: FlowUpkeep;
  readonly #failures: RepeatedFailureLog;
  #needsFull = true;
  /** The clock asks for a comparison, and the changes of this run went before. */
  #owesFull = false;
  #synced = false;
  #requestedMeanwhile = false;
  #lastFullAt = 0;
  /** The look for foreign changes that is going on. */
  #look: LinkedAbort | undefined;
  /** The writer does one thing at a time. */
  #writerBusy: Promise<unknown> = Promise.resolve();

  constructor(options: FamilySyncOptions) {
    const { clock, conntrack, intervals, logger, metrics, source } = options;
    this.#options = options;
    this.family = source.family;
    this.#failures = new RepeatedFailureLog(logger, clock);
    const { family } = this;
    this.#reconciler = new ConntrackReconciler(family, conntrack);
    const { retryMs } = intervals;
    const reconciler = this.#reconciler;
    this.#flows = new FlowUpkeep({ family, reconciler, retryMs, metrics, logger, clock });
    this.#runner = new BoundedFrequencyRunner({
      intervals,
      clock,
      work: (signal) => this.#sync(signal),
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
    const { clock, health, metrics, source } = this.#options;
    source.onChange(() => this.request());
    health.started(this.family);
    metrics.queued(this.family, clock.now());
    if (this.#options.isComplete()) this.#runner.request();
    await Promise.all([
      this.#runner.run(signal),
      this.#flows.run(signal),
      this.#watchDrift(signal),
      this.#maintain(signal),
    ]);
  }

  /** One sync with all that follows it, now; throws when it failed. `run` must not be going on. */
  async sync(signal: AbortSignal): Promise<void> {
    await this.#sync(signal);
    await this.#flows.reconcile(signal);
  }

  /** Whether it wrote anything: if not, it was in nobody's way. */
  async #sync(signal: AbortSignal): Promise<boolean> {
    if (!this.#options.isComplete()) return false;
    const { clock, metrics, notices, source } = this.#options;
    const startedAt = clock.monotonic();
    this.#requestedMeanwhile = false;
    let hasWritten = false;
    const taken = source.take();
    let full = false;
    try {
      // Whoever has something to write goes first.
      this.#look?.abort();
      const report = await this.#alone(() => {
        // Only now: what had the writer before may have found that the kernel has to be compared.
        full = this.#isFullDue(taken);
        this.#needsFull = false;
        return this.#write(taken, full ? { kind: "all" } : taken.changes, signal);
      });
      full = report.full;
      hasWritten = report.written > 0;
      await this.#followUp(taken, report);
    } finally {
      const seconds = (clock.monotonic() - startedAt) / 1000;
      metrics.ended(this.family, { seconds, full });
      // What taking settled, such as who of two Services has an address, is known only now.
      for (const notice of source.takeNotices()) notices.notice(this.family, notice);
    }
    this.#failures.clear("sync");
    return hasWritten;
  }

  async #write(taken: Taken, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    const { clock, logger, source, writer } = this.#options;
    this.#reconciler.begin(taken.changes.services);
    try {
      const report = await writer.sync(taken.snapshot, changes, signal);
      source.commit(report.unfinished);
      const { full, written: messages } = report;
      logger.verbose(2, "Wrote rules", { ipFamily: this.family, full, messages });
      this.#synced = true;
      if (report.full) {
        this.#lastFullAt = clock.monotonic();
        this.#owesFull = false;
      }
      return report;
    } catch (error) {
      source.restore();
      this.#reconciler.abandon();
      this.#flows.request();
      this.#needsFull = true;
      throw error;
    }
  }

  /** In upstream's order, so that what a dashboard sees of one sync comes in the order it knows. */
  async #followUp(taken: Taken, report: SyncReport): Promise<void> {
    const { clock, health, metrics, notices, source } = this.#options;
    const now = clock.now();
    for (const time of taken.triggerTimesMs) {
      metrics.programmed(this.family, Math.max(0, now - time) / 1000);
    }
    metrics.counts(this.family, source.counts);
    health.updated(this.family);
    if (report.unfinished || taken.hasMore || this.#owesFull) this.#goOn();
    // What came while this sync ran is still waiting.
    if (this.#requestedMeanwhile) health.queued(this.family);
    metrics.succeeded(this.family, now);
    for (const notice of report.notices) notices.notice(this.family, notice);
    await this.#updateHealthChecks(taken);
    const { unfinished = new Set() } = report;
    const written = unfinished.size === 0
      ? taken.changes.services
      : taken.changes.services.difference(unfinished);
    this.#reconciler.note(written, {
      udpPorts: source.udpPorts,
      endpointsChanged: taken.conntrackCleanup,
    });
    this.#flows.request();
  }

  async #updateHealthChecks(taken: Taken): Promise<void> {
    try {
      await this.#options.healthChecks.update(taken.healthChecks);
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

  async #watchDrift(signal: AbortSignal): Promise<void> {
    const { clock, driftCheckMs } = this.#options;
    let pauseMs: number | undefined;
    while (!signal.aborted) {
      await clock.sleep(pauseMs ?? untilNext(driftCheckMs, clock), signal);
      pauseMs = undefined;
      // Before a first success, and after a failure, the whole is compared anyway.
      if (signal.aborted || !this.#synced || this.#needsFull) continue;
      using look = linkAbort(signal);
      try {
        const isDrifted = await this.#lookForDrift(look);
        // One that made room for a sync goes on soon.
        if (look.signal.aborted) pauseMs = Math.min(INTERRUPTED_PAUSE_MS, driftCheckMs);
        if (!isDrifted) continue;
      } catch (error) {
        if (signal.aborted) return;
        const message = "Cannot look for foreign changes of the rules";
        this.#failures.report({ key: "drift", message, error, values: { ipFamily: this.family } });
        continue;
      }
      this.#queued();
      this.#runner.force();
    }
  }

  #lookForDrift(look: LinkedAbort): Promise<boolean> {
    return this.#alone(async () => {
      this.#look = look;
      try {
        const isDrifted = await this.#options.writer.drifted(look.signal);
        // Before anybody else has the writer: a sync that waits has to compare the kernel already.
        this.#needsFull ||= isDrifted;
        return isDrifted;
      } finally {
        this.#look = undefined;
      }
    });
  }

  async #maintain(signal: AbortSignal): Promise<void> {
    const { clock, maintainMs, writer } = this.#options;
    while (maintainMs !== undefined && !signal.aborted) {
      await clock.sleep(untilNext(maintainMs, clock), signal);
      if (signal.aborted || !this.#synced || this.#needsFull) continue;
      try {
        await this.#alone(() => writer.maintain(signal));
        this.#failures.clear("maintain");
      } catch (error) {
        if (signal.aborted) return;
        const message = "Cannot tidy up the rules";
        const values = { ipFamily: this.family };
        this.#failures.report({ key: "maintain", message, error, values });
      }
    }
  }

  /** The rest of a long change, or what it went before: the next run is due, behind whatever comes until then. */
  #goOn(): void {
    this.#requestedMeanwhile = true;
    this.#runner.force();
  }

  #failed(error: unknown, retryMs: number): void {
    const values = { ipFamily: this.family, retryingTime: `${retryMs / 1000}s` };
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

  /** Changes go before a comparison that the clock alone asks for, which takes much longer: it comes next. */
  #isFullDue({ changes: { services } }: Taken): boolean {
    const { clock, fullSyncMs } = this.#options;
    if (this.#needsFull || this.#owesFull) return true;
    if (fullSyncMs === undefined || clock.monotonic() - this.#lastFullAt < fullSyncMs) return false;
    this.#owesFull = services.size > 0;
    return !this.#owesFull;
  }

  /** Waits for its turn with the writer. */
  #alone<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#writerBusy.then(action);
    // A failure is the caller's own; the next one's turn comes all the same.
    this.#writerBusy = result.catch(() => {});
    return result;
  }
}
