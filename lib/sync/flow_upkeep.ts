/**
 * When stale UDP flows are ended: after a sync that changed endpoints, while the next sync may already
 * go on, and again after a failure. Rules are in force meanwhile, so no failure here is one of a sync.
 */
import type { Clock } from "../base/clock.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";
import { RepeatedFailureLog } from "../base/repeated_failure.ts";
import type { ConntrackReconciler } from "./conntrack_reconciler.ts";
import type { SyncMetrics } from "./ports.ts";
import { BoundedFrequencyRunner } from "./runner.ts";

/** Reconciling that finds nothing due is nothing: it need not be asked for by the clock. */
const maxMs = 24 * 60 * 60_000;

/** What the upkeep is made of. */
export interface FlowUpkeepOptions {
  readonly family: IpFamily;
  readonly reconciler: ConntrackReconciler;
  /** From a failure to the next try. */
  readonly retryMs: number;
  readonly metrics: Pick<SyncMetrics, "reconciled">;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Ends stale flows of one family whenever they are due. */
export class FlowUpkeep {
  readonly #options: FlowUpkeepOptions;
  readonly #runner: BoundedFrequencyRunner;
  readonly #failures: RepeatedFailureLog;

  constructor(options: FlowUpkeepOptions) {
    const { clock, family, logger, retryMs } = options;
    this.#options = options;
    this.#failures = new RepeatedFailureLog(logger, clock);
    this.#runner = new BoundedFrequencyRunner({
      intervals: { minMs: 0, retryMs, maxMs },
      clock,
      work: (signal) => this.reconcile(signal),
      onFailure: (error, retryingMs) => {
        const values = { ipFamily: family, retryingTime: `${retryingMs / 1000}s` };
        const message = "Failed to reconcile conntrack entries";
        this.#failures.report({ key: "conntrack", message, error, values });
      },
    });
  }

  /** Something may be due. */
  request(): void {
    if (this.#options.reconciler.due) this.#runner.request();
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#runner.run(signal);
  }

  /** Ends now what is due, if anything is; throws where it cannot. `run` must not be going on. */
  async reconcile(signal: AbortSignal): Promise<void> {
    const { clock, family, logger, metrics, reconciler } = this.#options;
    if (!reconciler.due) return;
    const startedAt = clock.monotonic();
    const { complete, removed } = await reconciler.reconcile(signal);
    this.#failures.clear("conntrack");
    const seconds = (clock.monotonic() - startedAt) / 1000;
    metrics.reconciled(family, { seconds, removed });
    const values = { ipFamily: family, entriesDeleted: removed };
    logger.verbose(4, "Finished reconciling conntrack entries", values);
    if (!complete) logger.verbose(2, "Reconciled a part of the conntrack entries", values);
  }
}
