import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { metricsPages, type MetricsPagesOptions } from "../../../lib/health/metrics_pages.ts";

function pages(overrides: Partial<MetricsPagesOptions> = {}) {
  const metrics = new MetricsRegistry();
  metrics.gauge({ name: "kubeproxy_sync_proxy_rules_service_changes_pending", help: "Pending" })
    .set(3);
  metrics.counter({ name: "kubeproxy_unused_total", help: "Unused", labels: ["ip_family"] });
  const handler = metricsPages({
    metrics,
    mode: "some-mode",
    configz: () => ({ kind: "KubeProxyConfiguration" }),
    flagz: () => ({ v: "2", config: "/etc/p.yaml" }),
    statusz: {
      startMs: 1000,
      now: () => 3_723_000,
      runtimeVersion: "deno",
      binaryVersion: "1.37.0",
      emulationVersion: "1.37",
      paths: ["/configz", "/metrics"],
      details: () => ({ "Effective minSyncPeriod": "unset" }),
    },
    processStartMs: 1_700_000_000_500,
    ...overrides,
  });
  return async (path: string, init?: RequestInit) => {
    const response = await handler(new Request(`http://node${path}`, init));
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

const rows: readonly {
  path: string;
  status: number;
  text: RegExp;
  accept?: string;
  method?: string;
}[] = [
  {
    path: "/metrics",
    status: 200,
    text:
      /^# HELP kubeproxy_sync_proxy_rules_service_changes_pending \[ALPHA\] Pending\n# TYPE \S+ gauge\n\S+ 3\n$/,
  },
  { path: "/metrics", method: "DELETE", status: 200, text: /changes_pending 3/ },
  {
    path: "/metrics/slis",
    status: 200,
    text:
      /^# HELP process_start_time_seconds \[ALPHA\] .*\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1700000000.5\n$/,
  },
  { path: "/metrics/slis", method: "DELETE", status: 200, text: /^metrics reset\n$/ },
  { path: "/healthz", status: 200, text: /^ok$/ },
  { path: "/healthz?verbose", status: 200, text: /^\[\+\]ping ok\nhealthz check passed\n$/ },
  { path: "/healthz/ping", status: 200, text: /^ok$/ },
  { path: "/proxyMode", status: 200, text: /^some-mode$/ },
  {
    path: "/configz",
    status: 200,
    text: /^\{"kubeproxy.config.k8s.io":\{"kind":"KubeProxyConfiguration"\}\}$/,
  },
  {
    path: "/flagz",
    status: 200,
    text: /^kube-proxy flagz\nWarning: .*\n\nconfig=\/etc\/p.yaml\nv=2\n$/,
  },
  { path: "/flagz", accept: "application/json", status: 406, text: /NotAcceptable/ },
  {
    path: "/flagz",
    accept: "application/json;v=v1beta1;g=config.k8s.io;as=Flagz",
    status: 200,
    text: /"flags":\{"config"/,
  },
  {
    path: "/flagz",
    accept: "application/json;v=v1beta1;g=config.k8s.io;as=Statusz",
    status: 406,
    text: /NotAcceptable/,
  },
  {
    path: "/statusz",
    status: 200,
    text: /Up=1 hr 02 min 02 sec\n(.*\n)*Effective minSyncPeriod=unset\n$/,
  },
  {
    path: "/statusz",
    accept: "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz",
    status: 200,
    text: /"uptimeSeconds":3722/,
  },
  { path: "/", status: 404, text: /404 page not found/ },
  { path: "/livez", status: 404, text: /404/ },
  { path: "/debug/pprof/", status: 404, text: /404/ },
];

Deno.test("the metrics server's pages", async (t) => {
  const get = pages();
  for (const { path, status, text, accept, method } of rows) {
    await t.step(`${method ?? "GET"} ${path} ${accept ?? ""}`, async () => {
      const answer = await get(path, { method, headers: accept ? { accept } : {} });
      assert.equal(answer.status, status);
      assert.match(answer.text, text);
    });
  }
});

Deno.test("/metrics tells when the process started", async () => {
  assert.equal((await pages()("/metrics")).headers.get("process-start-time-unix"), "1700000000");
});

Deno.test("/statusz tells the start to the second", async () => {
  const startMs = 1_700_000_000_600;
  const get = pages({
    statusz: {
      startMs,
      now: () => startMs + 1_500,
      runtimeVersion: "deno",
      binaryVersion: "1.37.0",
      emulationVersion: "1.37",
      paths: [],
      details: () => ({}),
    },
  });
  const accept = "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz";
  const { startTime, uptimeSeconds } = JSON.parse(
    (await get("/statusz", { headers: { accept } })).text,
  );
  assert.equal(Date.parse(startTime), 1_700_000_000_000);
  assert.equal(uptimeSeconds, 1);
});

Deno.test("/flagz and /statusz are not found while their gates are off", async () => {
  const get = pages({ flagz: undefined, statusz: undefined });
  assert.deepEqual([(await get("/flagz")).status, (await get("/statusz")).status], [404, 404]);
});

Deno.test("/debug works with profiling enabled", async (t) => {
  const levels: number[] = [];
  const get = pages({
    debug: { setVerbosity: (level) => levels.push(level), sleep: () => Promise.resolve() },
  });
  await t.step("a CPU profile", async () => {
    const profile = await get("/debug/pprof/profile?seconds=1");
    assert.equal(profile.status, 200);
    assert.ok(JSON.parse(profile.text).nodes.length > 0);
  });
  await t.step("a profile of no length is refused", async () => {
    assert.equal((await get("/debug/pprof/profile?seconds=0")).status, 400);
  });
  await t.step("Go's profiles are refused clearly", async () => {
    const heap = await get("/debug/pprof/heap");
    assert.equal(heap.status, 501);
    assert.match(heap.text, /not written in Go/);
  });
  await t.step(
    "cmdline is not shown",
    async () => assert.equal((await get("/debug/pprof/cmdline")).status, 404),
  );
  await t.step("verbosity is set", async () => {
    const set = await get("/debug/flags/v", { method: "PUT", body: "4" });
    assert.equal(set.text, "successfully set klog.logging.verbosity to 4");
    assert.deepEqual(levels, [4]);
  });
  await t.step("a bad verbosity is refused", async () => {
    assert.equal((await get("/debug/flags/v", { method: "PUT", body: "loud" })).status, 400);
    assert.equal((await get("/debug/flags/v")).status, 406);
    assert.deepEqual(levels, [4]);
  });
});

Deno.test("/metrics/slis counts what /healthz checks, until it is reset", async () => {
  const get = pages();
  await get("/healthz");
  await get("/healthz?verbose");
  await get("/healthz?exclude=ping");
  await get("/healthz/ping");
  const { text } = await get("/metrics/slis");
  assert.match(text, /kubernetes_healthcheck\{name="ping",type="healthz"\} 1\n/);
  assert.match(
    text,
    /kubernetes_healthchecks_total\{name="ping",type="healthz",status="success"\} 2\n/,
  );
  await get("/metrics/slis", { method: "DELETE" });
  assert.doesNotMatch((await get("/metrics/slis")).text, /kubernetes_healthcheck/);
});
