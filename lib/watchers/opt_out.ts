/**
 * Namespaces labelled `networking.k8s.io/kube-proxy=disabled`, as what the watches of Services and
 * EndpointSlices leave out. One watch with a label selector tells; its changes are gathered for a
 * moment, because every one of them costs each node a new watch.
 */
import { linkAbort } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { Gauge } from "../base/metrics.ts";
import type { Namespace } from "../kube/objects.ts";
import { excludeNamespaces, type Exclusion, type ExclusionFeed, noExclusion } from "./exclusion.ts";
import { sameExclusion } from "./exclusion.ts";
import type { WatchBatch, Watcher } from "./watcher.ts";

export interface OptOutOptions {
  readonly namespaces: Watcher<Namespace>;
  readonly clock: Clock;
  /** How long changes are gathered; up to half of it again is added, other on each node. */
  readonly delayMs: number;
  readonly metrics?: OptOutMetrics;
  readonly random?: () => number;
}

export interface OptOutMetrics {
  /** `kubeproxy_optout_namespaces` */
  readonly namespaces: Gauge;
  /** `kubeproxy_optout_filtered_locally` */
  readonly filteredLocally: Gauge;
}

/** Start without an answer rather than leave the node without rules. */
const startDeadlineMs = 5_000;

/** The feed; it follows the namespaces while `run` does. */
export class OptOutFeed implements ExclusionFeed {
  readonly #options: OptOutOptions;
  readonly #names = new Set<string>();
  readonly #answered = Promise.withResolvers<void>();
  #current = noExclusion;
  #changed = Promise.withResolvers<void>();
  #hasAnswer = false;
  #publishing = false;

  constructor(options: OptOutOptions) {
    this.#options = options;
    this.#publishMetrics();
  }

  get current(): Exclusion {
    return this.#current;
  }

  /** Follows the namespaces until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const batch of this.#options.namespaces.watch(signal)) {
      this.#fold(batch);
      if (!this.#hasAnswer) {
        this.#hasAnswer = true;
        this.#publish();
        this.#answered.resolve();
      } else this.#publishSoon(signal);
    }
  }

  async ready(signal: AbortSignal): Promise<void> {
    if (this.#hasAnswer) return;
    using over = linkAbort(signal);
    const waiting = this.#options.clock.sleep(startDeadlineMs, over.signal);
    await Promise.race([this.#answered.promise, waiting]);
    over.abort();
  }

  async changedFrom(known: Exclusion, signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    signal.addEventListener("abort", stop);
    while (!signal.aborted && sameExclusion(known, this.#current)) {
      await Promise.race([this.#changed.promise, aborted]);
    }
    signal.removeEventListener("abort", stop);
  }

  #fold(batch: WatchBatch<Namespace>): void {
    if (batch.kind === "replace") {
      this.#names.clear();
      for (const { name, optedOut } of batch.objects) if (optedOut) this.#names.add(name);
      return;
    }
    for (const change of batch.changes) {
      if (change.kind === "upsert" && change.object.optedOut) this.#names.add(change.object.name);
      else this.#names.delete(change.kind === "upsert" ? change.object.name : change.name);
    }
  }

  /** Counted from the first change, so that a label that never rests is followed all the same. */
  async #publishSoon(signal: AbortSignal): Promise<void> {
    if (this.#publishing) return;
    this.#publishing = true;
    const { clock, delayMs, random = Math.random } = this.#options;
    await clock.sleep(delayMs * (1 + random() / 2), signal);
    this.#publishing = false;
    if (!signal.aborted) this.#publish();
  }

  #publish(): void {
    const next = excludeNamespaces(this.#names);
    if (sameExclusion(next, this.#current)) return;
    this.#current = next;
    this.#publishMetrics();
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }

  #publishMetrics(): void {
    const { all, atServer } = this.#current;
    this.#options.metrics?.namespaces.set(all.length);
    this.#options.metrics?.filteredLocally.set(all.length - atServer.length);
  }
}
