import assert from "node:assert/strict";
import type { Logger } from "../../../lib/base/log.ts";
import { keepListening, listen } from "../../../lib/health/listener.ts";

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

Deno.test("keepListening() tries again until the port is free", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = taken.addr.port;
  const { logger, errors } = collector();
  const stop = new AbortController();
  const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve(taken.close()) };
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
      clock: { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() },
      logger: collector().logger,
      signal: new AbortController().signal,
      hardFail: true,
    }),
    /Cannot serve the metrics server on "127.0.0.1"/,
  );
});
