/** Reads the text format of metrics pages, in which one family looks like
 * ```
 * # HELP kubeproxy_x_seconds [ALPHA] What it is
 * # TYPE kubeproxy_x_seconds histogram
 * kubeproxy_x_seconds_bucket{ip_family="IPv4",le="0.001"} 3
 * ```
 */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The families of a page by name, in the order of the page. */
export function parseExposition(text: string): ReadonlyMap<string, MetricFamily> {
  const families = new Map<string, MetricFamily & { samples: Sample[] }>();
  let help = "";
  let current: (MetricFamily & { samples: Sample[] }) | undefined;
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === "HELP") help = rest;
    else if (kind === "TYPE") {
      current = { name, type: rest, help, samples: [] };
      families.set(name, current);
    } else current?.samples.push(parseSample(line));
  }
  return families;
}

function parseSample(line: string): Sample {
  const [, name, labels = "", value] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new SyntaxError(`Cannot read the metric "${line}"`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, key, text]) => [key, text])),
    value: value === "+Inf" ? Infinity : Number(value),
  };
}

/** What dashboards rely on: everything about a family but its values. */
export interface FamilyShape {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

export function shapeOf({ name, type, help, samples }: MetricFamily): FamilyShape {
  const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
  labels.delete("le");
  const bounds = samples.filter((sample) =>
    sample.labels.le !== undefined && sample.labels.le !== "+Inf"
  )
    .map((sample) => Number(sample.labels.le));
  const buckets = [...new Set(bounds)].sort((a, b) => a - b);
  return {
    name,
    type,
    help,
    labels: [...labels].sort(),
    ...(type === "histogram" ? { buckets } : {}),
  };
}
