/**
 * What somebody else changes in our table is put right within seconds, however often the cluster and
 * other software's tables change meanwhile: the program with 10,000 Services beside an apiserver in
 * memory, a change after the other, and a neighbour that commits once a second.
 */
import assert from "node:assert/strict";
import { ProxyFiles } from "../controlplane/rig/proxy_files.ts";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { endpointSliceObject, serviceObject } from "../controlplane/rig/objects.ts";
import { FakeApiserver } from "../fakes/apiserver.ts";
import { Agent } from "./rig/agent_client.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";

const SERVICES = 10_000;
const ENDPOINTS = 10;
/** The map in which the program keeps what it answers for. */
const frontends = "ip kube-proxy service-ips";
const START_DEADLINE_MS = 60_000;
const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
/**
 * What the program promises; where other tests take the processor, what still tells it from a repair
 * that waits for the changes to end.
 */
const REPAIR_MS = isFull ? 5_000 : 20_000;
const ratesPerSecond = isFull ? [1, 10, 100] : [10, 100];
const seconds = isFull ? 60 : 4;

Deno.test("a foreign edit is repaired while changes keep coming", async (test) => {
  await withOwnNamespace(async (namespace) => {
    await using apiserver = await FakeApiserver.start({ inside: namespace.inside });
    fill(apiserver);
    await using agent = await serveEndpoints(namespace);
    const { authority, url } = apiserver;
    await using files = await ProxyFiles.create({
      namespace: namespace.name,
      url,
      caCertificate: authority.certificate,
      adminToken: "",
      proxyToken: "",
    }, { clusterCIDR: "10.128.0.0/14" });
    await using proxy = new ProxyProcess({
      program: ourProgram(),
      namespace: namespace.name,
      args: files.args("node"),
    });
    await proxy.inSync(START_DEADLINE_MS);
    let edits = 0;
    for (const perSecond of ratesPerSecond) {
      await test.step(`${perSecond} changes a second`, async () => {
        const stop = new AbortController();
        const others = [
          repeatedly(1_000 / perSecond, stop.signal, (step) => change(apiserver, step)),
          repeatedly(1_000, stop.signal, (step) => commitElsewhere(namespace, step)),
        ];
        const end = performance.now() + seconds * 1_000;
        try {
          while (performance.now() < end) {
            const address = clusterIP(edits++);
            await namespace.run("nft", `delete element ${frontends} { ${address} . tcp . 80 }`);
            const repairMs = await untilReached(address, { agent, namespace });
            assert.ok(repairMs < REPAIR_MS, `repaired after ${repairMs} ms\n${proxy.log()}`);
          }
        } finally {
          stop.abort();
          await Promise.all(others);
        }
      });
    }
  });
});

function fill(apiserver: FakeApiserver): void {
  apiserver.put("nodes", {
    metadata: { name: "node" },
    spec: { podCIDRs: ["10.128.0.0/24"] },
    status: { addresses: [{ type: "InternalIP", address: "192.168.0.1" }] },
  });
  for (let number = 0; number < SERVICES; number++) {
    const spec = { clusterIP: clusterIP(number) };
    apiserver.put("services", serviceObject({ namespace: "shop", name: name(number), spec }));
    apiserver.put("endpointslices", sliceOf(number, 0));
  }
}

/** Some Service's endpoints move; Services that are tampered with are left alone. */
function change(apiserver: FakeApiserver, step: number): void {
  const number = SERVICES / 2 + step % (SERVICES / 2);
  apiserver.put("endpointslices", sliceOf(number, 1 + step % 3));
}

/** Another program's table, whose commits move the generation of the whole ruleset. */
async function commitElsewhere(namespace: OwnNamespace, step: number): Promise<void> {
  await namespace.run("nft", `add table ip neighbour; add chain ip neighbour c${step % 10}`);
  await namespace.run("nft", "delete table ip neighbour");
}

/** Every endpoint is this namespace itself, which answers for all of them. */
async function serveEndpoints({ name: namespace, run }: OwnNamespace): Promise<Agent> {
  await run("ip", "address", "add", "192.168.0.1/32", "dev", "lo");
  await run("ip", "route", "add", "172.30.0.0/16", "dev", "lo", "src", "192.168.0.1");
  await run("ip", "route", "add", "local", "10.128.0.0/14", "dev", "lo");
  const agent = Agent.start();
  await agent.serve({ namespace, name: "pod", protocol: "TCP", address: "0.0.0.0", port: 8080 });
  return agent;
}

/** Connects again and again; resolves to the milliseconds until somebody answered. */
async function untilReached(
  address: string,
  { agent, namespace }: { readonly agent: Agent; readonly namespace: OwnNamespace },
): Promise<number> {
  const startedAt = performance.now();
  const target = { namespace: namespace.name, protocol: "TCP", address, port: 80 } as const;
  for (;;) {
    const { kind } = await agent.probe({ ...target, timeoutMs: 100 });
    const waitedMs = performance.now() - startedAt;
    if (kind === "reached" || waitedMs > REPAIR_MS) return waitedMs;
  }
}

/** Until the signal aborts; one that takes longer than the period is not caught up with. */
async function repeatedly(
  periodMs: number,
  signal: AbortSignal,
  action: (step: number) => void | Promise<void>,
): Promise<void> {
  for (let step = 0; !signal.aborted; step++) {
    const due = performance.now() + periodMs;
    await action(step);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  }
}

function name(number: number): string {
  return `web-${number}`;
}

function clusterIP(number: number): string {
  return `172.30.${1 + (number >> 8)}.${number & 255}`;
}

function sliceOf(number: number, shift: number) {
  const first = 0x0a810000 + number * (ENDPOINTS + 4) + shift;
  const addresses = Array.from({ length: ENDPOINTS }, (_, i) => addressOf(first + i));
  return endpointSliceObject({ namespace: "shop", name: name(number), addresses });
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
}
