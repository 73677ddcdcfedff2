import assert from "node:assert/strict";
import { systemClock as clock } from "../../../lib/base/clock.ts";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { FakeCommands } from "../../../lib/kernel/fake_commands.ts";
import { registerClientMetrics } from "../../../lib/kube/client_metrics.ts";
import { connect } from "../../../lib/kube/connect.ts";
import { namespaces, nodes, serviceCIDRs, services } from "../../../lib/kube/resource.ts";
import { FakeApiserver, refusal } from "../../fakes/apiserver.ts";
import { createTestClient } from "../../fakes/kube_client.ts";
import { bytesOf, recordedResource } from "../../peers/recorded_protobuf.ts";

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
    commands: new FakeCommands(),
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
  const bytes = /^kubeproxy_apiserver_received_bytes_total\{resource="servicecidrs"\} (\d+)$/m;
  assert.ok(Number(bytes.exec(page)?.[1]) > 50, page);
  const [{ headers }] = server.requests;
  assert.equal(headers.get("user-agent"), "kube-proxy/v1.37.0 (linux/amd64) kubernetes/abc");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("KubeClient counts what it received, and requests without an answer but not those it gave up", async () => {
  await using server = await FakeApiserver.start();
  server.put("servicecidrs", { metadata: { name: "one" } });
  server.put("servicecidrs", { metadata: { name: "two" } });
  const { client, transport, received, finished } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  const list = (signal = AbortSignal.timeout(10_000)) =>
    client.list(serviceCIDRs, { resourceVersion: "0", signal });
  const codes = () => finished.splice(0).map(({ code }) => code);
  let length = 0;
  server.override = () => {
    const text = JSON.stringify({ metadata: { resourceVersion: "7" }, items: [{ metadata: {} }] });
    length = text.length;
    return new Response(text, { headers: { "content-type": "application/json" } });
  };
  await list();
  assert.deepEqual(received, [{ resource: "servicecidrs", bytes: length, objects: 1 }]);
  assert.deepEqual(codes(), ["200"]);
  const stop = new AbortController();
  server.override = () => Promise.withResolvers<Response>().promise;
  const unwanted = list(stop.signal);
  // Once it is under way.
  while (server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  stop.abort();
  await assert.rejects(unwanted, { name: "AbortError" });
  assert.deepEqual(codes(), []);
  await server.stop();
  await assert.rejects(list(), { name: "ConnectionError" });
  assert.deepEqual(codes(), ["<error>"]);
  transport[Symbol.dispose]();
});

const protobuf = "application/vnd.kubernetes.protobuf";
const accepted: readonly (readonly [
  name: string,
  options: { readonly contentType?: string; readonly acceptContentTypes?: string },
  accepted: string,
])[] = [
  ["nothing", {}, `${protobuf},application/json`],
  ["an empty content type", { contentType: "" }, `${protobuf},application/json`],
  ["protobuf", { contentType: protobuf }, `${protobuf},application/json`],
  ["JSON", { contentType: "application/json" }, "application/json,application/json"],
  [
    "what to accept",
    { contentType: protobuf, acceptContentTypes: "application/json, application/cbor" },
    "application/json,application/cbor",
  ],
];

for (const [name, options, expected] of accepted) {
  Deno.test(`KubeClient asks for the right encodings where ${name} is configured`, async () => {
    await using server = await FakeApiserver.start();
    const { client, transport } = createTestClient({
      url: server.url,
      caCertificate: server.authority.certificate,
      ...options,
    });
    const signal = AbortSignal.timeout(10_000);
    await client.list(serviceCIDRs, { resourceVersion: "0", signal });
    await client.list(namespaces, { resourceVersion: "0", signal });
    const [whole, metadata] = server.requests.map(({ headers }) => headers.get("accept"));
    assert.equal(whole, expected);
    const partial = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const types = expected.split(",");
    assert.equal(metadata, [...types.map((type) => type + partial), ...types].join(","));
    transport[Symbol.dispose]();
  });
}

Deno.test("KubeClient says of which type a body is, and nothing of one where there is none", async () => {
  await using server = await FakeApiserver.start();
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  server.override = () => Response.json({ said: "yes" });
  const ask = { path: "/api/v1/namespaces/a", signal: AbortSignal.timeout(10_000) };
  const patch = "application/merge-patch+json";
  await client.json({ ...ask, method: "GET" });
  await client.json({ ...ask, method: "POST", body: { a: 1 } });
  const answer = await client.json({ ...ask, method: "PATCH", body: {}, contentType: patch });
  assert.deepEqual(answer, { said: "yes" });
  assert.deepEqual(
    server.requests.map(({ body, headers }) => [headers.get("content-type"), body]),
    [[null, ""], ["application/json", '{"a":1}'], [patch, "{}"]],
  );
  transport[Symbol.dispose]();
});

Deno.test("KubeClient makes each request wait its turn", async () => {
  await using server = await FakeApiserver.start();
  server.put("nodes", { metadata: { name: "node-a" } });
  const { client, limited, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  const signal = AbortSignal.timeout(10_000);
  await client.get(nodes, { name: "node-a", namespace: "", signal });
  await client.list(services, { resourceVersion: "0", signal });
  await client.json({ method: "GET", path: "/api/v1/nodes/node-a", signal });
  assert.deepEqual(limited, ["GET", "GET", "GET"]);
  transport[Symbol.dispose]();
});

Deno.test("KubeClient reads what a server sends, in its encoding", async () => {
  await using server = await FakeApiserver.start();
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  const signal = AbortSignal.timeout(10_000);
  const { list } = recordedResource("services");
  const items: unknown[] = [];
  for (const encoding of ["protobuf", "json"] as const) {
    server.override = () =>
      new Response(bytesOf(encoding, list[encoding]).slice(), {
        headers: { "content-type": encoding === "protobuf" ? protobuf : "application/json" },
      });
    items.push((await client.list(services, { resourceVersion: "0", signal })).objects);
  }
  const [fromProtobuf, fromJson] = items;
  assert.ok(Array.isArray(fromProtobuf) && fromProtobuf.length > 0);
  assert.deepEqual(fromProtobuf, fromJson);
  server.override = () => new Response("<html>", { headers: { "content-type": "text/html" } });
  const page = client.list(services, { resourceVersion: "0", signal });
  await assert.rejects(
    page,
    /the answer is "text\/html", which no apiserver sends; look for a proxy/,
  );
  transport[Symbol.dispose]();
});

Deno.test("connect() needs no metrics", async () => {
  await using server = await FakeApiserver.start();
  server.put("servicecidrs", { metadata: { name: "one" } });
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
  using client = await connect({
    kubeconfig: `${folder}/kubeconfig`,
    master: "",
    environment: () => undefined,
    userAgent: "test",
    qps: 0,
    burst: 1,
    commands: new FakeCommands(),
    clock,
  });
  const signal = AbortSignal.timeout(10_000);
  const { objects } = await client.list(serviceCIDRs, { resourceVersion: "0", signal });
  assert.equal(objects.length, 1);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("KubeClient says who answers in the apiserver's place", async () => {
  await using server = await FakeApiserver.start();
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  const signal = AbortSignal.timeout(10_000);
  server.override = () => new Response("<html>", { headers: { "content-type": "text/html" } });
  await assert.rejects(client.list(serviceCIDRs, { resourceVersion: "0", signal }), {
    name: "ConnectionError",
    message: 'Cannot list servicecidrs: the answer is "text/html", which no apiserver sends; ' +
      "look for a proxy in between",
  });
  server.override = () => new Response("busy", { status: 503, headers: { "retry-after": "7" } });
  await assert.rejects(client.list(serviceCIDRs, { resourceVersion: "0", signal }), {
    name: "ApiError",
    message: "Cannot list servicecidrs: HTTP status 503",
    status: { code: 503, reason: "", message: "", retryAfterMs: 7_000, cause: "" },
  });
  transport[Symbol.dispose]();
});
