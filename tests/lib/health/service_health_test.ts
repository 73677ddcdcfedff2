import assert from "node:assert/strict";
import { ListedPorts, SharedPorts } from "../../../lib/health/ports.ts";
import {
  type HealthCheckService,
  ServiceHealthServers,
} from "../../../lib/health/service_health.ts";
import { ownLoopbackAddress } from "../../fakes/own_loopback_address.ts";

/** Of this run alone, so that no other program of this machine takes the ports. */
const network = ownLoopbackAddress().replace(/\.\d+$/, "");
const [here, there] = [`${network}.1`, `${network}.2`];

/** A port that was free a moment ago, on one address or on all. */
function freePort(hostname = here): number {
  using listener = Deno.listen({ hostname, port: 0 });
  return listener.addr.port;
}

interface World extends AsyncDisposable {
  readonly servers: ServiceHealthServers;
  readonly failures: string[];
  proxyHealthy: boolean;
}

function world(addresses: readonly string[] | (() => readonly string[]) = [here]): World {
  const failures: string[] = [];
  const made: World = {
    failures,
    proxyHealthy: true,
    servers: new ServiceHealthServers({
      ports: new ListedPorts(typeof addresses === "function" ? addresses : () => addresses),
      isProxyHealthy: () => made.proxyHealthy,
      onListenFailure: (service) =>
        failures.push(`${service.namespace}/${service.name}:${service.port}`),
    }),
    [Symbol.asyncDispose]: () => made.servers[Symbol.asyncDispose](),
  };
  return made;
}

function shop(port: number, localEndpoints: number): HealthCheckService {
  return { namespace: "shop", name: "web", port, localEndpoints };
}

async function ask(port: number): Promise<{ status: number; weight: string | null; body: string }> {
  const response = await fetch(`http://${here}:${port}/any/path`);
  return {
    status: response.status,
    weight: response.headers.get("x-load-balancing-endpoint-weight"),
    body: await response.text(),
  };
}

/** Again where another test's new program holds the port for a moment more: each try is told. */
async function updateUntilOpen(w: World): Promise<void> {
  const deadline = Date.now() + 2000;
  for (let told = 0; told < w.failures.length && Date.now() < deadline;) {
    told = w.failures.length;
    await w.servers.update(new Map());
  }
}

/**
 * Whether nobody listens, now or within a moment: a program that another test starts meanwhile holds
 * copies of this process's closed sockets until it runs.
 */
async function refuses(port: number, hostname = here): Promise<boolean> {
  for (const deadline = Date.now() + 2000; Date.now() < deadline;) {
    try {
      (await Deno.connect({ hostname, port })).close();
    } catch {
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

Deno.test("a health-check node port answers with upstream's weight, code and body", async () => {
  await using w = world();
  const port = freePort();
  await w.servers.update(new Map([["shop/web", shop(port, 2)]]));
  assert.deepEqual(await ask(port), {
    status: 200,
    weight: "2",
    body:
      '{\n\t"service": {\n\t\t"namespace": "shop",\n\t\t"name": "web"\n\t},\n\t"localEndpoints": 2,\n\t"serviceProxyHealthy": true\n}',
  });
});

Deno.test("a health-check node port says 503 without local endpoints and while the proxy is unhealthy", async () => {
  await using w = world();
  const port = freePort();
  await w.servers.update(new Map([["shop/web", shop(port, 0)]]));
  assert.equal((await ask(port)).status, 503);
  await w.servers.update(new Map([["shop/web", shop(port, 1)]]));
  assert.equal((await ask(port)).status, 200);
  w.proxyHealthy = false;
  const unhealthy = await ask(port);
  assert.equal(unhealthy.status, 503);
  assert.match(unhealthy.body, /"serviceProxyHealthy": false/);
});

Deno.test("a changed port moves, a removed Service closes", async () => {
  await using w = world();
  const [first, second] = [freePort(), freePort()];
  await w.servers.update(new Map([["shop/web", shop(first, 1)]]));
  await w.servers.update(new Map([["shop/web", shop(second, 1)]]));
  assert.equal(await refuses(first), true);
  assert.equal((await ask(second)).status, 200);
  await w.servers.update(new Map([["shop/web", undefined]]));
  assert.equal(await refuses(second), true);
});

Deno.test("a taken port is reported, leaves nothing half open, and is tried again with the next update", async () => {
  const taken = Deno.listen({ hostname: here, port: 0 });
  const port = taken.addr.port;
  await using w = world([there, here]);
  await w.servers.update(new Map([["shop/web", shop(port, 1)]]));
  assert.deepEqual(w.failures, [`shop/web:${port}`]);
  assert.equal(await refuses(port, there), true);
  taken.close();
  await updateUntilOpen(w);
  assert.equal((await ask(port)).status, 200);
});

Deno.test("on all addresses each family answers with its own count, over one port", async () => {
  const shared = new SharedPorts();
  const port = freePort("::");
  const servers = (["IPv4", "IPv6"] as const).map((family) =>
    new ServiceHealthServers({
      ports: shared.of(family),
      isProxyHealthy: () => true,
      onListenFailure: (_, error) => assert.fail(String(error)),
    })
  );
  const weight = async (host: string) => {
    const response = await fetch(`http://${host}:${port}/`);
    await response.body?.cancel();
    return [response.status, response.headers.get("x-load-balancing-endpoint-weight")];
  };
  const [ipv4, ipv6] = servers;
  await ipv4.update(new Map([["shop/web", shop(port, 3)]]));
  await ipv6.update(new Map([["shop/web", shop(port, 0)]]));
  assert.deepEqual(await weight("127.0.0.1"), [200, "3"]);
  assert.deepEqual(await weight("[::1]"), [503, "0"]);
  await ipv6.update(new Map([["shop/web", undefined]]));
  assert.deepEqual(await weight("127.0.0.1"), [200, "3"]);
  assert.deepEqual(await weight("[::1]"), [503, null]);
  await ipv4.update(new Map([["shop/web", undefined]]));
  assert.equal(await refuses(port, "127.0.0.1"), true);
});

Deno.test("health-check node ports follow addresses that come and go, without a pause on those that stay", async () => {
  let addresses: readonly string[] = [there];
  await using w = world(() => addresses);
  const port = freePort();
  await w.servers.update(new Map([["shop/web", shop(port, 2)]]));
  const staying = await Deno.connect({ hostname: there, port });
  assert.equal(await refuses(port), true);
  addresses = [here, there];
  await w.servers.update(new Map());
  assert.equal((await ask(port)).status, 200);
  addresses = [there];
  await w.servers.update(new Map());
  assert.equal(await refuses(port), true);
  await staying.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const head = new Uint8Array(12);
  await staying.read(head);
  assert.equal(new TextDecoder().decode(head), "HTTP/1.1 200");
  staying.close();
  assert.deepEqual(w.failures, []);
});

Deno.test("a health-check node port that has no address yet opens with the first one", async () => {
  let addresses: readonly string[] = [];
  await using w = world(() => addresses);
  const port = freePort();
  await w.servers.update(new Map([["shop/web", shop(port, 2)]]));
  assert.equal(await refuses(port), true);
  addresses = [here];
  await w.servers.update(new Map());
  assert.equal((await ask(port)).status, 200);
});

Deno.test("a port that is taken on a new address is told, serves on the others, and is tried again", async () => {
  let addresses: readonly string[] = [here];
  await using w = world(() => addresses);
  const taken = Deno.listen({ hostname: there, port: 0 });
  const { port } = taken.addr;
  await w.servers.update(new Map([["shop/web", shop(port, 2)]]));
  addresses = [here, there];
  await w.servers.update(new Map());
  assert.deepEqual(w.failures, [`shop/web:${port}`]);
  assert.equal((await ask(port)).status, 200);
  taken.close();
  await updateUntilOpen(w);
  const answer = await fetch(`http://${there}:${port}/`);
  await answer.body?.cancel();
  assert.equal(answer.status, 200);
});
