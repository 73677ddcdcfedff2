import assert from "node:assert/strict";
import type { Logger } from "../../../lib/base/log.ts";
import { keepListening, listen } from "../../../lib/health/listener.ts";

const noTimer = () => () => {};

function collector(): { logger: Logger; errors: string[] } {
  const errors: string[] = [];
  const logger: Logger = {
    info: () => {},
    verbose: () => {},
    warning: () => {},
    error: (_message, error) => errors.push(error instanceof Error ? error.message : String(error)),
    enabled: () => false,
  };
  return { logger, errors };
}

Deno.test("listen() on an unspecified address answers both families", async () => {
  await using listener = listen({ hostname: "0.0.0.0", port: 0 }, () => new Response("here"));
  for (const host of ["127.0.0.1", "[::1]"]) {
    const response = await fetch(`http://${host}:${listener.port}/`);
    assert.equal(await response.text(), "here");
  }
});

Deno.test("listen() tells which family a client came by, and hides what went wrong inside", async () => {
  const families: string[] = [];
  const handler = (_request: Request, family: string) => {
    families.push(family);
    throw new Error("a secret");
  };
  await using listener = listen({ hostname: "::", port: 0 }, handler);
  for (const host of ["127.0.0.1", "[::1]"]) {
    const response = await fetch(`http://${host}:${listener.port}/`);
    assert.equal(response.status, 500);
    assert.equal(await response.text(), "Internal Server Error\n");
  }
  assert.deepEqual(families, ["IPv4", "IPv6"]);
});

Deno.test("keepListening() gives up at once where it must", async () => {
  using taken = Deno.listen({ hostname: "0.0.0.0", port: 0 });
  const port = taken.addr.port;
  const { logger, errors } = collector();
  const served = keepListening({
    name: "metrics server",
    address: { hostname: "0.0.0.0", port },
    handler: () => new Response("ok"),
    clock: {
      now: () => 0,
      monotonic: () => 0,
      sleep: () => assert.fail("it waited"),
      after: noTimer,
    },
    logger,
    signal: new AbortController().signal,
    hardFail: true,
  });
  await assert.rejects(
    served,
    new RegExp(`^Error: Cannot serve the metrics server on "0.0.0.0" port ${port}: .*in use`),
  );
  assert.deepEqual(errors, []);
});

Deno.test("keepListening() tries again until the port is free", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = taken.addr.port;
  const { logger, errors } = collector();
  const stop = new AbortController();
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => Promise.resolve(taken.close()),
    after: noTimer,
  };
  const served = keepListening({
    name: "healthz server",
    address: { hostname: "127.0.0.1", port },
    handler: () => (stop.abort(), new Response("ok")),
    clock,
    logger,
    signal: stop.signal,
    hardFail: false,
  });
  const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
  await response?.body?.cancel();
  stop.abort();
  await served;
  assert.equal(errors.length, 1);
  assert.match(
    errors[0],
    new RegExp(`^Cannot serve the healthz server on "127.0.0.1" port ${port}: .*in use`),
  );
});

Deno.test("keepListening() throws at once when failing hard is asked for", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await assert.rejects(
    keepListening({
      name: "metrics server",
      address: { hostname: "127.0.0.1", port: taken.addr.port },
      handler: () => new Response(),
      clock: { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve(), after: noTimer },
      logger: collector().logger,
      signal: new AbortController().signal,
      hardFail: true,
    }),
    /Cannot serve the metrics server on "127.0.0.1"/,
  );
});
