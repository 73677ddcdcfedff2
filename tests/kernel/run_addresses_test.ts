/** What a running proxy makes of addresses of its node that come and go. */
import assert from "node:assert/strict";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";

const DEADLINE_MS = 10_000;
const HEALTH_CHECK_PORT = 32000;

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    type: "LoadBalancer",
    clusterIP: "172.30.0.10",
    externalTrafficPolicy: "Local",
    healthCheckNodePort: HEALTH_CHECK_PORT,
    ports: [{ port: 80, protocol: "TCP", nodePort: 30080 }],
  },
};

/** A proxy whose node ports are on 192.168.0.0/16, in a namespace without such an address. */
async function withProxy(
  body: (namespace: OwnNamespace, proxy: ProxyProcess) => Promise<void>,
): Promise<void> {
  await withOwnNamespace(async (namespace) => {
    const folder = await Deno.makeTempDir({ prefix: "kpt-addresses-" });
    try {
      await Deno.writeTextFile(`${folder}/web.json`, JSON.stringify(service));
      await namespace.run("ip", "link", "add", "late", "type", "veth", "peer", "name", "late-peer");
      await namespace.run("ip", "link", "set", "late", "up");
      await using proxy = new ProxyProcess({
        program: ourProgram(),
        namespace: namespace.name,
        args: [
          "run",
          `--manifests=${folder}`,
          "--hostname-override=node",
          "--nodeport-addresses=192.168.0.0/16",
        ],
      });
      await proxy.inSync();
      await body(namespace, proxy);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

async function until(condition: () => Promise<boolean>, told: () => string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!await condition()) {
    assert.ok(performance.now() < deadline, told());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The status with which the health check of the Service answers there; empty when nobody does. */
async function healthCheck(namespace: OwnNamespace, address: string): Promise<string> {
  const url = `http://${address}:${HEALTH_CHECK_PORT}/`;
  const arguments_ = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "2", url];
  return await namespace.run("curl", ...arguments_).catch(() => "");
}

Deno.test("a load balancer's health check is answered on an address that comes later, until it goes", () =>
  withProxy(async (namespace, proxy) => {
    const [first, second] = ["192.168.0.7", "192.168.0.8"];
    assert.equal(await healthCheck(namespace, first), "");
    for (const address of [first, second]) {
      await namespace.run("ip", "address", "add", `${address}/32`, "dev", "late");
      // No endpoint is on this node: the answer is that it takes no traffic.
      await until(async () => await healthCheck(namespace, address) === "503", () => proxy.log());
    }
    await namespace.run("ip", "address", "del", `${first}/32`, "dev", "late");
    const listening = async () =>
      (await namespace.run("ss", "-Htln", "sport", "=", String(HEALTH_CHECK_PORT))).includes(first);
    await until(async () => !await listening(), () => proxy.log());
    assert.equal(await healthCheck(namespace, second), "503");
  }));

Deno.test("5,000 addresses that come and go all the time do not end the proxy, and it knows those that stay", () =>
  withProxy(async (namespace, proxy) => {
    const addresses = Array.from(
      { length: 5_000 },
      (_, i) => `192.168.${64 + (i >> 8)}.${i & 255}/32`,
    );
    const batch = (verb: string) =>
      addresses.map((address) => `address ${verb} ${address} dev late`).join("\n");
    const file = await Deno.makeTempFile({ prefix: "kpt-batch-" });
    try {
      for (const verb of ["add", "del", "add", "del"]) {
        await Deno.writeTextFile(file, batch(verb));
        await namespace.run("ip", "-batch", file);
        assert.ok(proxy.isRunning, proxy.log());
      }
      await namespace.run("ip", "address", "add", "192.168.0.7/32", "dev", "late");
      const served = async () =>
        (await namespace.run("nft", "list", "table", "ip", "kube-proxy")).includes("192.168.0.7");
      await until(served, () => proxy.log());
    } finally {
      await Deno.remove(file);
    }
    assert.equal(await proxy.end("SIGTERM"), 0);
  }));

Deno.test("README's run --manifests examples/shop serves its node port on a host that is called otherwise", () =>
  withOwnNamespace(async (namespace) => {
    const [own, endpoints] = ["192.168.5.5", ["10.128.0.2", "10.128.0.3"]];
    await namespace.run("ip", "link", "add", "out", "type", "veth", "peer", "name", "out-peer");
    for (const link of ["out", "out-peer"]) await namespace.run("ip", "link", "set", link, "up");
    await namespace.run("ip", "address", "add", `${own}/24`, "dev", "out");
    await namespace.run("ip", "route", "add", "default", "via", "192.168.5.1");
    for (const ip of endpoints) {
      await namespace.run("ip", "address", "add", `${ip}/32`, "dev", "lo");
    }
    using listener = namespace.inside(() => Deno.listen({ hostname: "0.0.0.0", port: 8080 }));
    const shop = new URL("../../examples/shop", import.meta.url).pathname;
    await using proxy = new ProxyProcess({
      program: ourProgram(),
      namespace: namespace.name,
      args: ["run", "--manifests", shop],
    });
    await proxy.inSync();
    assert.equal(proxy.count(`addresses="${own}"`), 1, proxy.log());
    const connecting = namespace.inside(() => Deno.connect({ hostname: own, port: 30080 }));
    using connection = await listener.accept();
    using _client = await connecting;
    assert.equal(connection.localAddr.transport, "tcp");
    assert.ok(endpoints.includes((connection.localAddr as Deno.NetAddr).hostname));
  }));
