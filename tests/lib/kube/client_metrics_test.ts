import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { registerClientMetrics } from "../../../lib/kube/client_metrics.ts";

const seconds = ["0.005", "0.025", "0.1", "0.25", "0.5", "1", "2", "4", "8", "15", "30", "60"];
const bytes = ["64", "256", "512", "1024", "4096", "16384", "65536", "262144", "1048576"];
const largeBytes = [...bytes, "4194304", "16777216"];

Deno.test("registerClientMetrics() has client-go's names, labels and buckets", async () => {
  const registry = new MetricsRegistry();
  const metrics = registerClientMetrics(registry);
  const host = "192.168.0.2:6443";
  metrics.requestFinished({
    method: "GET",
    host,
    code: "200",
    durationMs: 3_000,
    requestBytes: 70,
  });
  metrics.responseRead({ method: "GET", host, bytes: 2_000 });
  metrics.rateLimited({ method: "GET", host, waitedMs: 100 });
  const text = await registry.expose();
  const bounds = (name: string) =>
    [...text.matchAll(new RegExp(`^rest_client_${name}_bucket\\{le="([^"]+)"`, "gm"))]
      .map(([, bound]) => bound);
  assert.deepEqual(bounds("request_duration_seconds"), [...seconds, "+Inf"]);
  assert.deepEqual(bounds("rate_limiter_duration_seconds"), [...seconds, "+Inf"]);
  assert.deepEqual(bounds("request_size_bytes"), [...largeBytes, "+Inf"]);
  assert.deepEqual(bounds("response_size_bytes"), [...largeBytes, "+Inf"]);
  const labels = `{verb="GET",host="${host}"}`;
  assert.ok(text.includes(`rest_client_request_duration_seconds_sum${labels} 3\n`), text);
  assert.ok(text.includes(`rest_client_rate_limiter_duration_seconds_sum${labels} 0.1\n`), text);
  assert.ok(text.includes(`rest_client_request_size_bytes_sum${labels} 70\n`), text);
  assert.ok(text.includes(`rest_client_response_size_bytes_sum${labels} 2000\n`), text);
});
