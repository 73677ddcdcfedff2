/** Ports that come and go with addresses, and those that two families share. */
import assert from "node:assert/strict";
import type { Handler } from "../../../lib/health/listener.ts";
import { ListedPorts, type Ports, SharedPorts } from "../../../lib/health/ports.ts";
import { ownLoopbackAddress } from "../../fakes/own_loopback_address.ts";

/** Of this run alone, so that no other program of this machine takes the ports. */
const network = ownLoopbackAddress().replace(/\.\d+$/, "");
const [one, two, three] = [`${network}.11`, `${network}.12`, `${network}.13`];

function freePort(hostname: string): number {
  using listener = Deno.listen({ hostname, port: 0 });
  return listener.addr.port;
}

const saying = (text: string): Handler => () => new Response(text);

/** What is answered there; undefined where nobody listens. */
async function answer(hostname: string, port: number): Promise<string | undefined> {
  try {
    const response = await fetch(`http://${hostname}:${port}/`);
    const text = await response.text();
    return response.status === 200 ? text : `status ${response.status}`;
  } catch {
    return undefined;
  }
}

/**
 * Tries for a moment: a program that another test starts meanwhile holds copies of this process's closed
 * sockets until it runs.
 */
async function soon(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 2000; !await isSo();) {
    assert.ok(Date.now() < deadline, "it does not come to that");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function opened(ports: Ports, port: number, handler: Handler): Promise<AsyncDisposable> {
  let found: AsyncDisposable | undefined;
  await soon(async () => {
    found = await ports.open(port, handler).catch(() => undefined);
    return found !== undefined;
  });
  return found!;
}

/** Answers on each of the addresses. */
async function answers(port: number): Promise<readonly (string | undefined)[]> {
  return [await answer(one, port), await answer(two, port), await answer(three, port)];
}

Deno.test("ListedPorts follows addresses that come and go, and asks for nothing that did not change", async () => {
  let addresses: readonly string[] = [one, two];
  let asked = 0;
  const ports = new ListedPorts(() => {
    asked++;
    return addresses;
  });
  const port = freePort(one);
  await using _open = await ports.open(port, saying("web"));
  assert.deepEqual(await answers(port), ["web", "web", undefined]);
  addresses = [two, three];
  assert.deepEqual(await ports.follow(), new Map());
  assert.deepEqual(await answers(port), [undefined, "web", "web"]);
  const before = asked;
  assert.deepEqual(await ports.follow(), new Map());
  assert.equal(asked, before + 1);
});

Deno.test("ListedPorts tells of a port that another program holds, and tries it again", async () => {
  let addresses: readonly string[] = [one];
  const ports = new ListedPorts(() => addresses);
  const port = freePort(two);
  await using _open = await ports.open(port, saying("web"));
  const other = Deno.listen({ hostname: two, port });
  addresses = [one, two];
  assert.deepEqual([...(await ports.follow()).keys()], [port]);
  assert.equal(await answer(one, port), "web");
  other.close();
  await soon(async () => (await ports.follow()).size === 0);
  assert.equal(await answer(two, port), "web");
});

Deno.test("ListedPorts opens on all addresses or on none", async () => {
  const ports = new ListedPorts(() => [one, two]);
  const port = freePort(two);
  const other = Deno.listen({ hostname: two, port });
  await assert.rejects(ports.open(port, saying("web")), Deno.errors.AddrInUse);
  assert.equal(await answer(one, port), undefined);
  other.close();
  assert.deepEqual(await ports.follow(), new Map());
  assert.equal(await answer(one, port), undefined, "nobody wants it any more");
  await using _open = await opened(ports, port, saying("web"));
  assert.equal(await answer(two, port), "web");
});

Deno.test("a port that was closed does not follow addresses", async () => {
  let addresses: readonly string[] = [one];
  const ports = new ListedPorts(() => addresses);
  const port = freePort(two);
  const opened = await ports.open(port, saying("web"));
  await opened[Symbol.asyncDispose]();
  addresses = [one, two];
  assert.deepEqual(await ports.follow(), new Map());
  assert.deepEqual(await answers(port), [undefined, undefined, undefined]);
});

Deno.test("SharedPorts closes a port with the last family, and opens it again", async () => {
  const shared = new SharedPorts();
  const port = freePort("::");
  for (const round of ["first", "second"]) {
    const ipv4 = await opened(shared.of("IPv4"), port, saying(`IPv4 ${round}`));
    const ipv6 = await opened(shared.of("IPv6"), port, saying(`IPv6 ${round}`));
    assert.equal(await answer("127.0.0.1", port), `IPv4 ${round}`);
    assert.equal(await answer("[::1]", port), `IPv6 ${round}`);
    await ipv4[Symbol.asyncDispose]();
    assert.equal(await answer("127.0.0.1", port), "status 503");
    assert.equal(await answer("[::1]", port), `IPv6 ${round}`);
    await ipv6[Symbol.asyncDispose]();
    assert.equal(await answer("[::1]", port), undefined);
  }
  assert.deepEqual(await shared.of("IPv4").follow(), new Map());
});
