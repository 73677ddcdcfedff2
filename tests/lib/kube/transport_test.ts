import assert from "node:assert/strict";
import type { Clock } from "../../../lib/base/clock.ts";
import { serviceCIDRs } from "../../../lib/kube/resource.ts";
import { FakeApiserver, refusal } from "../../fakes/apiserver.ts";
import { FakeClock, settle } from "../../fakes/fake_clock.ts";
import { inFolder } from "../../fakes/folder.ts";
import { createTestClient } from "../../fakes/kube_client.ts";

type TestClient = ReturnType<typeof createTestClient>;
type Access = NonNullable<Parameters<typeof createTestClient>[0]["access"]>;

async function withServer(
  options: { readonly access?: (server: FakeApiserver) => Access; readonly clock?: Clock },
  body: (server: FakeApiserver, client: TestClient) => Promise<void>,
): Promise<void> {
  await using server = await FakeApiserver.start();
  const client = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
    access: options.access?.(server),
    clock: options.clock,
    commands: tokens(),
  });
  try {
    await body(server, client);
  } finally {
    client.transport[Symbol.dispose]();
  }
}

/** A plugin that prints another token each time. */
function tokens() {
  let runs = 0;
  const print = () =>
    JSON.stringify({ apiVersion: "v1", kind: "ExecCredential", status: { token: `t${++runs}` } });
  return { run: () => Promise.resolve({ exitCode: 0, stdout: print(), stderr: "" }) };
}
const exec = { apiVersion: "v1", command: "login", args: [], env: [], provideClusterInfo: false };

function list({ client }: TestClient, signal = AbortSignal.timeout(10_000)) {
  return client.list(serviceCIDRs, { resourceVersion: "0", signal });
}

const portsOf = ({ requests }: FakeApiserver) =>
  new Set(requests.map(({ clientPort }) => clientPort));

Deno.test("cold requests that start together share one connection, as do those that follow", () =>
  withServer({}, async (server, client) => {
    await Promise.all(Array.from({ length: 8 }, () => list(client)));
    await list(client);
    assert.equal(server.requests.length, 9);
    assert.equal(portsOf(server).size, 1);
  }));

Deno.test("a connection is kept however long it rests, with the cluster's authority alone", async () => {
  const { createHttpClient } = Deno;
  const asked: Deno.CreateHttpClientOptions[] = [];
  Deno.createHttpClient = (options) => {
    asked.push(options as Deno.CreateHttpClientOptions);
    return createHttpClient(options as Deno.CreateHttpClientOptions);
  };
  try {
    await withServer({}, async (server, client) => {
      await list(client);
      assert.deepEqual(asked.map(({ caCerts, poolIdleTimeout }) => [caCerts, poolIdleTimeout]), [
        [[server.authority.certificate], false],
      ]);
    });
  } finally {
    Deno.createHttpClient = createHttpClient;
  }
});

Deno.test("cold requests that start together try one connection between them", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted: Deno.TcpConn[] = [];
  const ports = () => accepted.map(({ remoteAddr }) => remoteAddr.port);
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  (async () => {
    for await (const connection of listener) accepted.push(connection);
  })();
  const { port } = listener.addr;
  const client = createTestClient({ url: `https://127.0.0.1:${port}`, caCertificate: "" });
  const stop = new AbortController();
  const requests = Array.from({ length: 8 }, () => list(client, stop.signal));
  const outcomes = Promise.allSettled(requests);
  await until(() => accepted.length > 0);
  // Whatever was opened before is accepted before.
  const marker = await Deno.connect({ hostname: "127.0.0.1", port });
  await until(() => ports().includes(marker.localAddr.port));
  assert.equal(accepted.length, 2, "the first request's and the marker");
  stop.abort();
  await outcomes;
  client.transport[Symbol.dispose]();
  for (const connection of [...accepted, marker, listener]) connection.close();
});

Deno.test("cold requests wait for the first one, and go their own way when it fails", () =>
  withServer({}, async (server, client) => {
    await server.stop();
    const results = await Promise.allSettled(Array.from({ length: 4 }, () => list(client)));
    for (const result of results) {
      assert.ok(result.status === "rejected");
      assert.match(
        String(result.reason),
        /^ConnectionError: Cannot reach apiserver "127\.0\.0\.1:/,
      );
    }
  }));

Deno.test("a request that is not wanted any more does not wait for the one that opens the connection", () =>
  withServer({}, async (server, client) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let first = true;
    server.override = async () => {
      if (first) {
        first = false;
        await held;
      }
      return Response.json({ metadata: { resourceVersion: "1" }, items: [] });
    };
    const opening = list(client);
    const stop = new AbortController();
    const waiting = list(client, stop.signal);
    stop.abort(new Error("not wanted"));
    await assert.rejects(waiting, /not wanted/);
    release();
    await opening;
    assert.equal(server.requests.length, 1);
  }));

Deno.test("a connection that gets an answer takes the place of one that hangs, for all that follow", () => {
  const clock = new FakeClock();
  return withServer({ clock }, async (server, client) => {
    const hanging = Promise.withResolvers<Response>();
    server.override = ({ path }) => {
      const isFirst = server.requests.length === 1;
      return isFirst && path !== "/version" ? hanging.promise : undefined;
    };
    try {
      const listing = list(client);
      while (server.requests.length === 0) await settle();
      await clock.advance(2_000);
      await listing;
      await list(client);
      const [first, beside, again, later] = server.requests.map(({ clientPort }) => clientPort);
      assert.deepEqual(server.requests.map(({ path }) => path.split("/").at(-1)), [
        "servicecidrs",
        "version",
        "servicecidrs",
        "servicecidrs",
      ]);
      assert.notEqual(beside, first);
      assert.deepEqual([again, later], [beside, beside]);
    } finally {
      hanging.resolve(new Response(null, { status: 500 }));
    }
  });
});

Deno.test("rotated files of certificates open another connection, and files as they were do not", () =>
  inFolder(async (folder) => {
    const path = `${folder}/ca.crt`;
    const access = ({ authority }: FakeApiserver): Access => {
      Deno.writeTextFileSync(path, authority.certificate);
      return { certificateAuthority: { kind: "file", path } };
    };
    await withServer({ access }, async (server, client) => {
      await list(client);
      await list(client);
      assert.equal(portsOf(server).size, 1);
      Deno.writeTextFileSync(path, `${server.authority.certificate}\n`);
      await list(client);
      await list(client);
      assert.equal(portsOf(server).size, 2);
      const [first, second, third, fourth] = server.requests.map(({ clientPort }) => clientPort);
      assert.deepEqual([first === second, third === fourth, second === third], [true, true, false]);
    });
  }));

Deno.test("credentials that are refused are fetched anew, once", () =>
  withServer({ access: () => ({ exec }) }, async (server, client) => {
    server.override = ({ headers }) =>
      headers.get("authorization") === "Bearer t1"
        ? refusal({ code: 401, reason: "Unauthorized", message: "who?" })
        : undefined;
    await list(client);
    const sent = () => server.requests.map(({ headers }) => headers.get("authorization"));
    assert.deepEqual(sent(), ["Bearer t1", "Bearer t2"]);
    server.override = () => refusal({ code: 401, reason: "Unauthorized", message: "who?" });
    await assert.rejects(list(client), /who\?/);
    assert.deepEqual(sent().slice(2), ["Bearer t2", "Bearer t3"]);
  }));

Deno.test("requests say who sends them, and ask for plain bytes where the kubeconfig wants that", async () => {
  for (const disableCompression of [false, true]) {
    await withServer({ access: () => ({ disableCompression }) }, async (server, client) => {
      await list(client);
      const [{ headers }] = server.requests;
      assert.equal(headers.get("user-agent"), "kube-proxy/test");
      assert.equal(headers.get("accept-encoding") === "identity", disableCompression);
    });
  }
});
