import assert from "node:assert/strict";
import { askPage, type PageAnswer } from "../../../lib/health/ask_page.ts";
import { listen } from "../../../lib/health/listener.ts";

const { signal } = new AbortController();

/** Serves raw bytes to the first connection, or nothing at all. */
async function answerOf(text: string | undefined, timeoutMs: number): Promise<PageAnswer> {
  using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = server.accept().then(async (connection) => {
    using opened = connection;
    if (text !== undefined) return void await opened.write(new TextEncoder().encode(text));
    // Until the other side gives up.
    const buffer = new Uint8Array(1024);
    while (await opened.read(buffer).catch(() => null) !== null);
  });
  const address = { hostname: "127.0.0.1", port: server.addr.port };
  const answer = await askPage({ address, path: "/proxyMode", timeoutMs }, signal);
  await served;
  return answer;
}

Deno.test("askPage() tells the status and the page of our own server", async () => {
  await using server = listen(
    { hostname: "127.0.0.1", port: 0 },
    (request) =>
      new URL(request.url).pathname === "/proxyMode"
        ? new Response("nftables")
        : new Response("no", { status: 404 }),
  );
  const address = { hostname: "127.0.0.1", port: server.port };
  const ask = (path: string) => askPage({ address, path, timeoutMs: 5_000 }, signal);
  assert.deepEqual(await ask("/proxyMode"), { kind: "page", status: 200, body: "nftables" });
  assert.deepEqual(await ask("/other"), { kind: "page", status: 404, body: "no" });
});

Deno.test("askPage() tells that nobody listens", async () => {
  const server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = { hostname: "127.0.0.1", port: server.addr.port };
  server.close();
  const answer = await askPage({ address, path: "/", timeoutMs: 5_000 }, signal);
  assert.deepEqual(answer, { kind: "nobody" });
});

Deno.test("askPage() does not take what is no HTTP, or no answer in time, for nobody", async () => {
  assert.deepEqual(await answerOf("SSH-2.0-x\r\n\r\n", 5_000), { kind: "silent" });
  assert.deepEqual(await answerOf("HTTP/1.1 200 OK\r\ncut off", 5_000), { kind: "silent" });
  assert.deepEqual(await answerOf(undefined, 50), { kind: "silent" });
});

Deno.test("askPage() throws once its signal aborts", async () => {
  const address = { hostname: "127.0.0.1", port: 1 };
  const question = { address, path: "/", timeoutMs: 5_000 };
  await assert.rejects(askPage(question, AbortSignal.abort()), { name: "AbortError" });
});
