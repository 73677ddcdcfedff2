/**
 * Metrics as the rest of the program sees them: a name, labels, a number. The exposition behind it
 * is prom-client's, except that a family without a series is left out, as upstream's registry does.
 */
import {
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from "prom-client";

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(amount: number, labels?: Labels): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** What every metric is registered with. `help` is shown behind its stability level. */
export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upstream's stability level, the first word of the help text; ALPHA unless told, none for process metrics. */
  readonly stability?: "ALPHA" | "BETA" | "STABLE" | "none";
}

export interface HistogramOptions extends MetricOptions {
  readonly buckets: readonly number[];
}

/** A family whose values are read when it is scraped. */
export interface ScrapedOptions extends MetricOptions {
  readonly type: "counter" | "gauge";
  /** The series at this moment; an empty list hides the family. */
  readonly read: () => readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
}

/** Holds the metrics of one exposition page. Names are unique; registering one twice is a bug and throws. */
export class MetricsRegistry {
  readonly #registry = new Registry();
  readonly #stabilities = new Map<string, number>();
  /** The number of the page that is being put together. */
  #page = 0;

  counter(options: MetricOptions): Counter {
    const counter = new PromCounter(this.#common(options));
    return { add: (amount, labels = {}) => counter.inc(labels, amount) };
  }

  gauge(options: MetricOptions): Gauge {
    const gauge = new PromGauge(this.#common(options));
    return { set: (value, labels = {}) => gauge.set(labels, value) };
  }

  histogram(options: HistogramOptions): Histogram {
    const histogram = new PromHistogram({
      ...this.#common(options),
      buckets: [...options.buckets],
    });
    return { observe: (value, labels = {}) => histogram.observe(labels, value) };
  }

  scraped(options: ScrapedOptions): void {
    const { read, type } = options;
    if (type === "gauge") {
      new PromGauge({
        ...this.#common(options),
        collect() {
          this.reset();
          for (const { labels = {}, value } of read()) this.set(labels, value);
        },
      });
    } else {
      new PromCounter({
        ...this.#common(options),
        collect() {
          this.reset();
          for (const { labels = {}, value } of read()) this.inc(labels, value);
        },
      });
    }
  }

  /** Reads at most once for each page what several scraped families show. */
  perPage<T>(read: () => T): () => T {
    let known: { readonly page: number; readonly value: T } | undefined;
    return () => {
      if (known?.page !== this.#page) known = { page: this.#page, value: read() };
      return known.value;
    };
  }

  /** Names of all registered families, with or without series. */
  names(): string[] {
    return this.#registry.getMetricsAsArray().map((metric) => metric.name).sort();
  }

  /** How many families are registered at each stability level that counts as one. */
  get stabilities(): ReadonlyMap<string, number> {
    return this.#stabilities;
  }

  /** Forgets all values; labelled families lose their series. */
  reset(): void {
    this.#registry.resetMetrics();
  }

  /** The page in text format 0.0.4, families sorted by name. */
  async expose(): Promise<string> {
    this.#page++;
    // All in one go, so that what is scraped is read once.
    const families = (await this.#registry.metrics()).split(/\n+(?=# HELP )/);
    return families.filter(hasSamples).map((text) => ({ name: nameOf(text), text: text.trimEnd() }))
      .sort((a, b) => a.name < b.name ? -1 : 1).map(({ text }) => `${text}\n`).join("");
  }

  #common({ name, help, labels = [], stability = "ALPHA" }: MetricOptions) {
    const isLevel = stability !== "none";
    if (isLevel) this.#stabilities.set(stability, (this.#stabilities.get(stability) ?? 0) + 1);
    return {
      name,
      help: isLevel ? `[${stability}] ${help}` : help,
      labelNames: [...labels],
      registers: [this.#registry],
    };
  }
}

/** `start`, `start * factor`, ...: `count` bucket bounds. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start * factor ** i);
}

/** `start`, `start + width`, ...: `count` bucket bounds. */
export function linearBuckets(start: number, width: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + width * i);
}

/** A family of the page without any series is its two comments. */
function hasSamples(family: string): boolean {
  return /^[^#\s]/m.test(family);
}

function nameOf(family: string): string {
  return /^# HELP (\S+)/.exec(family)?.[1] ?? "";
}
