/** The metrics of the proxy that runs on this node. */
import type { Clock } from "../../base/clock.ts";
import type { FactReader } from "../fact.ts";
import { absent, known, unknown } from "./known.ts";
import type { InvalidDrops, ProxyMetrics } from "./node_values.ts";

/** The text of a page; undefined where nobody serves it. */
export type ReadPage = (path: string, signal: AbortSignal) => Promise<string | undefined>;

/** Reads them from where the proxy serves them. */
export function proxyMetricsReader(readPage: ReadPage): FactReader<ProxyMetrics> {
  return {
    read: async ({ signal }) => {
      const page = await readPage("/metrics", signal);
      if (page === undefined) return absent("no proxy serves its metrics on this node");
      const metrics = parseMetrics(page);
      return metrics.size === 0 ? unknown("the page of metrics holds none") : known(metrics);
    },
  };
}

const invalidCounter = "kubeproxy_iptables_ct_state_invalid_dropped_packets_total";
const secondLookMs = 1_000;

/** Looks twice where there are any, to see whether there are more of them. */
export function invalidDropsReader(
  { clock, readPage }: { readonly readPage: ReadPage; readonly clock: Pick<Clock, "sleep"> },
): FactReader<InvalidDrops> {
  return {
    read: async ({ facts, signal }) => {
      const metrics = await facts.read("proxyMetrics");
      if (metrics.kind !== "value") return metrics;
      const count = metrics.value.get(invalidCounter);
      if (count === undefined) return absent("the proxy that runs does not count them");
      if (count === 0) return known({ count, isRising: false });
      await clock.sleep(secondLookMs, signal);
      const later = parseMetrics(await readPage("/metrics", signal) ?? "").get(invalidCounter);
      return known({ count, isRising: later !== undefined && later > count });
    },
  };
}

/** `kubeproxy_x_total{a="b"} 3`; a page that was cut ends in half a line. */
function parseMetrics(page: string): ProxyMetrics {
  const found = new Map<string, number>();
  const whole = page.slice(0, page.lastIndexOf("\n") + 1);
  for (const [, name, value] of whole.matchAll(/^([A-Za-z_:][\w:]*)(?:\{.*\})? ([-+.\deE]+)$/gm)) {
    found.set(name, (found.get(name) ?? 0) + Number(value));
  }
  return found;
}
