// deno-lint-ignore-file no-console -- showing things on the terminal is what this program is for
/**
 * The first minute: the shop of examples/shop on a node made of network namespaces, served by the
 * built binary, asked by real clients, changed under load.
 */
import { Cluster } from "../kernel/rig/cluster.ts";
import type { LoadReport, Outcome } from "../kernel/rig/agent_protocol.ts";
import { type Host, hostAddresses } from "../scenarios/addresses.ts";
import { startProxy } from "./proxy_process.ts";

const pods: readonly Host[] = ["pod-a", "pod-b"];
const replacements = 50;
const connectionsPerSecond = 200;

if (import.meta.main) await demo(Deno.args.includes("--keep"));

async function demo(keep: boolean): Promise<void> {
  step("A node, two pods and a client, each a network namespace");
  await using cluster = await Cluster.create();
  await servePods(cluster);
  const manifests = await copyOfShop();
  try {
    step("kube-proxy run --manifests examples/shop --config tests/demo/config.yaml");
    await using proxy = await startProxy({ cluster, manifests });
    say(`every Service answers ${proxy.readyMs} ms after the process was started`);
    await askAround(cluster);
    await replaceUnderLoad(cluster, manifests);
    await showRules(cluster);
    if (keep) await untilInterrupted(cluster);
    step("SIGTERM: the proxy ends, its rules stay and serve on");
    say(`ended after ${await proxy.stop()} ms`);
    await ask(cluster, {
      from: "client-a",
      what: "LoadBalancer",
      address: "203.0.113.80",
      port: 80,
    });
  } finally {
    await Deno.remove(manifests, { recursive: true });
  }
  step("Done; nothing is left behind");
}

async function servePods(cluster: Cluster): Promise<void> {
  for (const pod of pods) {
    for (const address of Object.values(hostAddresses[pod])) {
      await cluster.agent.serve({
        namespace: cluster.namespace(pod),
        name: pod,
        protocol: "TCP",
        address,
        port: 8080,
      });
    }
  }
}

/** The demo edits its files, and the repository's stay as they are. */
async function copyOfShop(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "kube-proxy-demo-" });
  const source = new URL("../../examples/shop/", import.meta.url);
  for await (const { name } of Deno.readDir(source)) {
    await Deno.copyFile(new URL(name, source), `${folder}/${name}`);
  }
  return folder;
}

interface Question {
  readonly from: Host;
  readonly what: string;
  readonly address: string;
  readonly port: number;
}

async function askAround(cluster: Cluster): Promise<void> {
  step("Who asks what, and who answers");
  const node = hostAddresses.node;
  const questions: readonly Question[] = [
    { from: "pod-a", what: "ClusterIP", address: "192.0.2.80", port: 80 },
    { from: "pod-a", what: "ClusterIP", address: "2001:db8:30::80", port: 80 },
    { from: "node", what: "ClusterIP", address: "192.0.2.80", port: 80 },
    { from: "client-a", what: "NodePort", address: node.IPv4, port: 30080 },
    { from: "client-a", what: "NodePort", address: node.IPv6, port: 30080 },
    { from: "client-a", what: "LoadBalancer", address: "203.0.113.80", port: 80 },
    { from: "client-a", what: "LoadBalancer", address: "2001:db8:113::80", port: 80 },
    { from: "pod-b", what: "session affinity", address: "192.0.2.81", port: 8080 },
    { from: "pod-b", what: "the same again", address: "192.0.2.81", port: 8080 },
    { from: "pod-a", what: "no endpoints", address: "192.0.2.82", port: 9200 },
    { from: "pod-a", what: "no such Service", address: "192.0.2.200", port: 80 },
  ];
  for (const question of questions) await ask(cluster, question);
}

async function ask(cluster: Cluster, { from, what, address, port }: Question): Promise<void> {
  const outcome = await cluster.agent.probe({
    namespace: cluster.namespace(from),
    protocol: "TCP",
    address,
    port,
    timeoutMs: 500,
  });
  const target = `${address.includes(":") ? `[${address}]` : address}:${port}`;
  say(`${from.padEnd(9)} ${what.padEnd(16)} ${target.padEnd(24)} ${describe(outcome)}`);
}

function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case "reached":
      return `${outcome.endpoint} answers, seeing ${outcome.source}`;
    case "rejected":
      return `refused at once (${outcome.reason})`;
    case "dropped":
      return "no answer: dropped";
  }
}

async function replaceUnderLoad(cluster: Cluster, manifests: string): Promise<void> {
  step(
    `${connectionsPerSecond} connections a second, while the endpoints of "web" are replaced ${replacements} times`,
  );
  const stop = await cluster.agent.startLoad({
    namespace: cluster.namespace("client-a"),
    protocol: "TCP",
    address: "203.0.113.80",
    port: 80,
    perSecond: connectionsPerSecond,
    timeoutMs: 2000,
  });
  const path = `${manifests}/endpoints.yaml`;
  const original = await Deno.readTextFile(path);
  for (let i = 0; i < replacements; i++) {
    await writeBeside(path, withOnly(original, i % 3));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  report(await stop());
}

/** 0: pod-a alone, 1: pod-b alone, 2: both. */
function withOnly(manifest: string, turn: number): string {
  if (turn === 2) return manifest;
  const gone = turn === 0 ? /::3"|\.0\.3\]/ : /::2"|\.0\.2\]/;
  const lines = manifest.split("\n");
  return lines.filter((line, i) =>
    !gone.test(line) && !(gone.test(lines[i - 1] ?? "") && line.includes("nodeName"))
  ).join("\n");
}

async function writeBeside(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, text);
  await Deno.rename(`${path}.new`, path);
}

function report({ attempts, failed, p50Ms, p99Ms, reached }: LoadReport): void {
  const failures = Object.values(failed).reduce((sum, count) => sum + count, 0);
  const shares = Object.entries(reached).sort().map(([name, count]) => `${name} ${count}`).join(
    ", ",
  );
  say(
    `${attempts} connections, ${failures} failed${
      failures === 0 ? "" : ` ${JSON.stringify(failed)}`
    }`,
  );
  say(`answered by ${shares}; p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);
  if (failures > 0) Deno.exitCode = 1;
}

async function showRules(cluster: Cluster): Promise<void> {
  step("What nft shows of it: nft list map ip kube-proxy service-ips");
  const listing = await cluster.run("node", [
    "nft",
    "list",
    "map",
    "ip",
    "kube-proxy",
    "service-ips",
  ]);
  for (const line of listing.trimEnd().split("\n")) say(line);
}

async function untilInterrupted(cluster: Cluster): Promise<void> {
  step("Kept up until Ctrl-C. Look around in another shell:");
  say(`ip netns exec ${cluster.namespace("node")} nft list ruleset`);
  say(`ip netns exec ${cluster.namespace("node")} curl -s localhost:10256/healthz`);
  say(`ip netns exec ${cluster.namespace("node")} curl -s localhost:10249/metrics`);
  say(`ip netns exec ${cluster.namespace("client-a")} bash`);
  await new Promise(() => {});
}

function step(text: string): void {
  console.log(`\n== ${text}`);
}

function say(text: string): void {
  console.log(`   ${text}`);
}
