import assert from "node:assert/strict";
import { systemClock as clock } from "../../../lib/base/clock.ts";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { registerClientMetrics } from "../../../lib/kube/client_metrics.ts";
import { connect } from "../../../lib/kube/connect.ts";
import { serviceCIDRs } from "../../../lib/kube/resource.ts";
import { FakeApiserver, refusal } from "../../fakes/apiserver.ts";
import { createTestClient } from "../../fakes/kube_client.ts";

Deno.test("KubeClient.list() puts the pages of a server without a cache together", async () => {
  await using server = await FakeApiserver.start();
  const pages = [["one", "two"], ["three"]].map((names, i) => ({
    metadata: { resourceVersion: "7", continue: i === 0 ? "more" : "" },
    items: names.map((name) => ({ metadata: { name } })),
  }));
  server.override = ({ query }) =>
    Promise.resolve(Response.json(pages[query.get("continue") === "more" ? 1 : 0]));
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  const signal = AbortSignal.timeout(10_000);
  const list = await client.list(serviceCIDRs, { resourceVersion: "0", signal });
  assert.deepEqual(list.objects.map(({ name }) => name), ["one", "two", "three"]);
  assert.equal(list.resourceVersion, "7");
  transport[Symbol.dispose]();
});

Deno.test("KubeClient counts its requests as rest_client_* and says who it is", async () => {
  await using server = await FakeApiserver.start();
  const folder = await Deno.makeTempDir();
  const cluster = {
    server: server.url,
    "certificate-authority-data": btoa(server.authority.certificate),
  };
  const kubeconfig = {
    "current-context": "c",
    clusters: [{ name: "c", cluster }],
    contexts: [{ name: "c", context: { cluster: "c" } }],
  };
  await Deno.writeTextFile(`${folder}/kubeconfig`, JSON.stringify(kubeconfig));
  const registry = new MetricsRegistry();
  using client = await connect({
    kubeconfig: `${folder}/kubeconfig`,
    master: "",
    environment: () => undefined,
    userAgent: "kube-proxy/v1.37.0 (linux/amd64) kubernetes/abc",
    qps: 5,
    burst: 10,
    metrics: registerClientMetrics(registry),
    clock,
  });
  const signal = AbortSignal.timeout(10_000);
  server.put("servicecidrs", { metadata: { name: "one" } });
  await client.list(serviceCIDRs, { resourceVersion: "0", signal });
  server.override = () => refusal({ code: 403, reason: "Forbidden", message: "no" });
  await assert.rejects(client.list(serviceCIDRs, { resourceVersion: "0", signal }), /403|no/);

  const page = await registry.expose();
  const { host } = new URL(server.url);
  for (
    const line of [
      `rest_client_requests_total{code="200",method="GET",host="${host}"} 1`,
      `rest_client_requests_total{code="403",method="GET",host="${host}"} 1`,
      `rest_client_request_duration_seconds_count{verb="GET",host="${host}"} 2`,
      `rest_client_response_size_bytes_count{verb="GET",host="${host}"} 1`,
      `rest_client_rate_limiter_duration_seconds_count{verb="GET",host="${host}"} 2`,
      `kubeproxy_apiserver_received_objects_total{resource="servicecidrs"} 1`,
    ]
  ) assert.ok(page.includes(line), `${line} is not in\n${page}`);
  const [{ headers }] = server.requests;
  assert.equal(headers.get("user-agent"), "kube-proxy/v1.37.0 (linux/amd64) kubernetes/abc");
  await Deno.remove(folder, { recursive: true });
});
