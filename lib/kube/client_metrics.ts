/** What the client counts: upstream's `rest_client_*` families, and what each resource's watch receives. */
import type { MetricsRegistry } from "../base/metrics.ts";

/** One request that came to its end, well or not. */
export interface FinishedRequest {
  readonly method: string;
  readonly host: string;
  /** The HTTP status, or `<error>` where no answer came. */
  readonly code: string;
  /** Until the answer's head: the body of a watch lasts as long as it likes. */
  readonly durationMs: number;
  readonly requestBytes: number;
}

/** Where the client's figures go. */
export interface ClientMetrics {
  requestFinished(request: FinishedRequest): void;
  /** A whole answer was read; watches have none. Bytes are counted after decompression. */
  responseRead(response: { readonly method: string; readonly host: string; bytes: number }): void;
  rateLimited(request: { readonly method: string; readonly host: string; waitedMs: number }): void;
  /** Bytes after decompression; objects of lists and of watch events alike. */
  received(resource: string, amount: { readonly bytes: number; readonly objects: number }): void;
}

/** Counts nothing. */
export const noClientMetrics: ClientMetrics = {
  requestFinished: () => {},
  responseRead: () => {},
  rateLimited: () => {},
  received: () => {},
};

const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizeBuckets = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];

/** Registers the families; call it once for a registry. */
export function registerClientMetrics(registry: MetricsRegistry): ClientMetrics {
  const labels = ["verb", "host"];
  const histogram = (name: string, help: string, buckets: readonly number[]) =>
    registry.histogram({ name, help, labels, buckets });
  const requests = registry.counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host.",
    labels: ["code", "method", "host"],
  });
  const duration = histogram(
    "rest_client_request_duration_seconds",
    "Request latency in seconds. Broken down by verb, and host.",
    durationBuckets,
  );
  const requestSize = histogram(
    "rest_client_request_size_bytes",
    "Request size in bytes. Broken down by verb and host.",
    sizeBuckets,
  );
  const responseSize = histogram(
    "rest_client_response_size_bytes",
    "Response size in bytes. Broken down by verb and host.",
    sizeBuckets,
  );
  const limiter = histogram(
    "rest_client_rate_limiter_duration_seconds",
    "Client side rate limiter latency in seconds. Broken down by verb, and host.",
    durationBuckets,
  );
  const received = registerReceived(registry);
  return {
    requestFinished({ method, host, code, durationMs, requestBytes }) {
      const verb = { verb: method, host };
      requests.add(1, { code, method, host });
      duration.observe(durationMs / 1000, verb);
      requestSize.observe(requestBytes, verb);
    },
    responseRead: ({ method, host, bytes }) => responseSize.observe(bytes, { verb: method, host }),
    rateLimited: ({ method, host, waitedMs }) =>
      limiter.observe(waitedMs / 1000, { verb: method, host }),
    received,
  };
}

function registerReceived(registry: MetricsRegistry): ClientMetrics["received"] {
  const bytes = registry.counter({
    name: "kubeproxy_apiserver_received_bytes_total",
    help: "Bytes of lists and watches received from the apiserver, after decompression.",
    labels: ["resource"],
  });
  const objects = registry.counter({
    name: "kubeproxy_apiserver_received_objects_total",
    help: "Objects received from the apiserver, in lists and in watch events.",
    labels: ["resource"],
  });
  return (resource, amount) => {
    if (amount.bytes > 0) bytes.add(amount.bytes, { resource });
    if (amount.objects > 0) objects.add(amount.objects, { resource });
  };
}
