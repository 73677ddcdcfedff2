/** The program ends fifty thousand stale UDP flows, and another Service's change does not wait for that. */
import assert from "node:assert/strict";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { endpointSliceObject, serviceObject } from "../controlplane/rig/objects.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";

const FLOWS = 50_000;
const DEADLINE_MS = 60_000;
const dns = "172.30.0.10";
const web = "172.30.0.11";

Deno.test("a TCP change is in force before the UDP flows of another Service have ended", () =>
  withOwnNamespace(async (namespace) => {
    const folder = await Deno.makeTempDir({ prefix: "kpt-manifests-" });
    try {
      const write = (name: string, ...objects: readonly unknown[]) =>
        Deno.writeTextFile(
          `${folder}/${name}.json`,
          JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
        );
      await write("dns", ...dnsAt("10.128.0.9"));
      await write("web", ...webAt("10.128.0.1"));
      await using proxy = new ProxyProcess({
        program: ourProgram(),
        namespace: namespace.name,
        args: ["run", `--manifests=${folder}`, "--hostname-override=node"],
      });
      await proxy.inSync();
      await insertFlows(namespace, folder);
      await write("dns", ...dnsAt("10.128.0.4"));
      await until(proxy, () => holds(namespace, "10.128.0.4"));
      await write("web", ...webAt("10.128.0.2"));
      await until(proxy, () => holds(namespace, "10.128.0.2"));
      assert.notEqual(await flows(namespace), 0);
      await until(proxy, async () => await flows(namespace) === 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }));

function dnsAt(address: string) {
  const port = { name: "dns", port: 53, protocol: "UDP" };
  const spec = { clusterIP: dns, ports: [port] };
  const slice = endpointSliceObject({ namespace: "shop", name: "dns", addresses: [address] });
  return [serviceObject({ namespace: "shop", name: "dns", spec }), { ...slice, ports: [port] }];
}

function webAt(address: string) {
  return [
    serviceObject({ namespace: "shop", name: "web", spec: { clusterIP: web } }),
    endpointSliceObject({ namespace: "shop", name: "web", addresses: [address] }),
  ];
}

/** As if so many clients had asked the endpoint that is about to go. */
async function insertFlows(namespace: OwnNamespace, folder: string): Promise<void> {
  const lines = Array.from({ length: FLOWS }, (_, i) => {
    const client = `10.128.${8 + Math.floor(i / 60_000)}.7`;
    const port = 1_024 + i % 60_000;
    return `-I -s ${client} -d ${dns} -r 10.128.0.9 -q ${client} -p udp --sport ${port} ` +
      `--dport 53 -t 600 --reply-port-src 53 --reply-port-dst ${port}`;
  });
  const path = `${folder}/flows`;
  await Deno.writeTextFile(path, `${lines.join("\n")}\n`);
  await namespace.run("conntrack", "-R", path);
  assert.equal(await flows(namespace), FLOWS);
}

async function flows(namespace: OwnNamespace): Promise<number> {
  return Number(await namespace.run("conntrack", "-C"));
}

async function holds(namespace: OwnNamespace, address: string): Promise<boolean> {
  const table = await namespace.run("nft", "list", "table", "ip", "kube-proxy");
  return table.includes(address);
}

async function until(proxy: ProxyProcess, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!await condition()) {
    assert.ok(performance.now() < deadline && proxy.isRunning, proxy.log());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
