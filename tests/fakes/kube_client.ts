/** A client for a fake apiserver, impatient enough for tests, and a reader for what watchers yield. */
import { type Clock, systemClock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/log.ts";
import { FakeCommands } from "../../lib/kernel/fake_commands.ts";
import { type ClientTiming, KubeClient } from "../../lib/kube/client.ts";
import { type FinishedRequest, noClientMetrics } from "../../lib/kube/client_metrics.ts";
import { Credentials } from "../../lib/kube/credentials/credentials.ts";
import type { PluginCommands } from "../../lib/kube/credentials/exec_plugin.ts";
import { anonymousAccess, type ClusterAccess } from "../../lib/kube/credentials/kubeconfig.ts";
import type { WatchBatch } from "../../lib/kube/object_batch.ts";
import type { ApiObject } from "../../lib/kube/objects.ts";
import { RateLimiter } from "../../lib/kube/rate_limiter.ts";
import { Transport } from "../../lib/kube/transport.ts";
import type { FakeClock } from "./fake_clock.ts";

export interface TestClientOptions {
  readonly url: string;
  readonly caCertificate: string;
  readonly access?: Partial<ClusterAccess>;
  readonly timing?: Partial<ClientTiming>;
  readonly contentType?: string;
  readonly acceptContentTypes?: string;
  readonly clock?: Clock;
  /** Runs credential plugins; none where not given. */
  readonly commands?: PluginCommands;
  /** Half a second where not given. */
  readonly probeTimeoutMs?: number;
}

/** A client and its transport; close the transport at the end. */
export function createTestClient(options: TestClientOptions) {
  const { clock = systemClock } = options;
  const access: ClusterAccess = {
    ...anonymousAccess,
    server: options.url,
    certificateAuthority: { kind: "inline", text: options.caCertificate },
    ...options.access,
  };
  const credentials = new Credentials(access, {
    clock,
    commands: options.commands ?? new FakeCommands(),
  });
  const transport = new Transport({
    access,
    credentials,
    userAgent: "kube-proxy/test",
    clock,
    probeTimeoutMs: options.probeTimeoutMs ?? 500,
  });
  const received: { resource: string; bytes: number; objects: number }[] = [];
  const finished: FinishedRequest[] = [];
  /** Methods of requests that had their turn. */
  const limited: string[] = [];
  const client = new KubeClient({
    transport,
    limiter: new RateLimiter({ qps: 0, burst: 1, clock }),
    metrics: {
      ...noClientMetrics,
      rateLimited: ({ method }) => limited.push(method),
      requestFinished: (request) => finished.push(request),
      received: (resource, amount) => received.push({ resource, ...amount }),
    },
    clock,
    timing: options.timing,
    contentType: options.contentType,
    acceptContentTypes: options.acceptContentTypes,
  });
  return { client, transport, received, finished, limited };
}

/** A logger that keeps what was said. */
export class CollectingLog implements Logger {
  readonly lines: string[] = [];
  /** What is only said when asked for. */
  readonly details: string[] = [];

  info(message: string, values: unknown = {}): void {
    this.lines.push(`info: ${message} ${JSON.stringify(values)}`);
  }
  verbose(_level: number, message: string, values: unknown = {}): void {
    this.details.push(`${message} ${JSON.stringify(values)}`);
  }
  warning(message: string, values: unknown = {}): void {
    this.lines.push(`warning: ${message} ${JSON.stringify(values)}`);
  }
  error(message: string, error?: unknown, values: unknown = {}): void {
    this.lines.push(`error: ${message}: ${error} ${JSON.stringify(values)}`);
  }
  enabled(): boolean {
    return false;
  }
}

/** Small beside every time that anything waits for, so that answers come in between. */
const clockStepMs = 50;

/** Folds what a watcher yields, and waits for a state with a deadline instead of sleeping. */
export class Follower<T extends ApiObject> {
  readonly objects = new Map<string, T>();
  readonly batches: WatchBatch<T>[] = [];
  /** Ends when the stream does. */
  readonly done: Promise<void>;
  readonly #clock: FakeClock | undefined;
  #changed = Promise.withResolvers<void>();

  /** While a test waits, a fake clock goes on: a second of it takes about a tenth of a real one. */
  constructor(stream: AsyncIterable<WatchBatch<T>>, clock?: FakeClock) {
    this.#clock = clock;
    this.done = this.#follow(stream);
  }

  /** Names as `namespace/name`, sorted. */
  get names(): readonly string[] {
    return [...this.objects.keys()].sort();
  }

  /** Resolves when the condition holds; fails with what there is when it does not in time. */
  async until(what: string, condition: () => boolean, deadlineMs = 10_000): Promise<void> {
    const deadline = Date.now() + deadlineMs;
    const clockDeadline = (this.#clock?.monotonic() ?? 0) + deadlineMs;
    while (!condition()) {
      const left = deadline - Date.now();
      const isLate = this.#clock !== undefined && this.#clock.monotonic() > clockDeadline;
      if (left <= 0 || isLate) {
        const seen = `objects ${this.names.join(", ")}; batches ${this.describe()}`;
        throw new Error(`Not in ${deadlineMs} ms: ${what}; seen: ${seen}`);
      }
      if (this.#clock) {
        await this.#clock.advance(clockStepMs);
        // Answers of the server take real time: a clock that outran them would end every wait for one.
        await new Promise((resolve) => setTimeout(resolve, clockStepMs / 10));
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, Math.min(left, 20));
      await Promise.race([promise, this.#changed.promise]);
      clearTimeout(timer);
    }
  }

  describe(): string {
    return this.batches.map((batch) =>
      batch.kind === "replace"
        ? `replace ${batch.namespace ?? "all"} (${batch.objects.length})`
        : `changes (${batch.changes.length})`
    ).join(", ");
  }

  async #follow(stream: AsyncIterable<WatchBatch<T>>): Promise<void> {
    for await (const batch of stream) {
      this.#fold(batch);
      this.batches.push(batch);
      const { resolve } = this.#changed;
      this.#changed = Promise.withResolvers<void>();
      resolve();
    }
  }

  #fold(batch: WatchBatch<T>): void {
    if (batch.kind === "replace") {
      for (const [key, { namespace }] of this.objects) {
        if (batch.namespace === undefined || batch.namespace === namespace) {
          this.objects.delete(key);
        }
      }
      for (const object of batch.objects) this.objects.set(keyOf(object), object);
      return;
    }
    for (const change of batch.changes) {
      if (change.kind === "upsert") this.objects.set(keyOf(change.object), change.object);
      else this.objects.delete(keyOf(change));
    }
  }
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}
