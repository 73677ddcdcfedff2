/**
 * What a proxy is put through before its pages are read: Services of the kinds that its metrics tell
 * apart, a change, a flow that is ended. The same for upstream's proxy, whose pages are recorded, and
 * for ours, whose pages are compared with the record.
 */
import { controlPlaneVersion } from "../controlplane/rig/binaries.ts";
import { ProxyFiles } from "../controlplane/rig/proxy_files.ts";
import { ProxyProcess, type ProxyProgram } from "../controlplane/rig/proxy_process.ts";
import {
  namespaceName,
  nodeAddresses,
  nodeName,
  podAddresses,
  type PodName,
  podPort,
  type SmallCluster,
  untilAnsweredBy,
} from "../controlplane/rig/small_cluster.ts";
import type { ManifestObject } from "../controlplane/rig/api.ts";
import { showBackend, ToolFolder } from "../kernel/rig/mode_rules.ts";
import { podCIDRs } from "../scenarios/addresses.ts";
import type { RuleMode } from "../scenarios/setups.ts";
import { parseExposition } from "./exposition.ts";

/** Where the proxy's pages are, seen from the control plane. */
export const metricsPage = `http://${nodeAddresses.IPv4}:10249`;
export const healthPage = `http://${nodeAddresses.IPv4}:10256`;

export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const web = { name: "web", clusterIPs: ["172.30.0.10", "fd00:172:30::10"] } as const;
const dns = { name: "dns", clusterIPs: ["172.30.0.11", "fd00:172:30::11"] } as const;
const lonelyNodePort = 30_012;
const DEADLINE_MS = 20_000;

/** What upstream's proxy showed in a mode. */
export function recordOfPages({ kind }: RuleMode): URL {
  const suffix = kind === "nftables" ? "" : `-${kind}`;
  const name = `kubernetes-${controlPlaneVersion.slice(1)}${suffix}.json`;
  return new URL(`./recorded/pages/${name}`, import.meta.url);
}

/** A proxy that has been through the scenario. */
export class ExercisedProxy implements AsyncDisposable {
  readonly process: ProxyProcess;
  /** `/metrics` after the first sync, before anything changed. */
  readonly atFirst: string;
  readonly #files: AsyncDisposable;

  private constructor(parts: { process: ProxyProcess; files: AsyncDisposable; atFirst: string }) {
    this.process = parts.process;
    this.#files = parts.files;
    this.atFirst = parts.atFirst;
  }

  static async run(
    cluster: SmallCluster,
    { program, mode }: { readonly program: ProxyProgram; readonly mode: RuleMode },
  ): Promise<ExercisedProxy> {
    for (const object of objects()) await cluster.api.create(object);
    await showBackend((argv, stdin) => cluster.onNode(argv, stdin), mode);
    await using opened = new AsyncDisposableStack();
    const tools = opened.use(await ToolFolder.create(mode));
    const files = opened.use(
      await ProxyFiles.create(cluster.plane.access, {
        mode: mode.kind,
        clusterCIDR: `${podCIDRs.IPv4},${podCIDRs.IPv6}`,
        metricsBindAddress: "0.0.0.0:10249",
        detectLocalMode: "ClusterCIDR",
      }),
    );
    const process = new ProxyProcess({
      program,
      namespace: cluster.node,
      args: files.args(nodeName),
      env: tools.env,
    });
    try {
      await untilAnsweredBy("a", web.clusterIPs[0], { pauseMs: 10 });
      await untilAnsweredBy("a", web.clusterIPs[1], { pauseMs: 10 });
      const atFirst = (await page(`${metricsPage}/metrics`)).body;
      await exercise(cluster);
      return new ExercisedProxy({ process, files: opened.move(), atFirst });
    } catch (error) {
      await process[Symbol.asyncDispose]();
      throw new Error(`Cannot exercise the proxy:\n${process.log()}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await this.#files[Symbol.asyncDispose]();
  }
}

/** A page with those of its headers that say something. */
export async function page(url: string, init: RequestInit = {}): Promise<Page> {
  const response = await fetch(url, init);
  const told = ["content-type", "x-content-type-options", "process-start-time-unix"];
  const headers = told.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    body: await response.text(),
  };
}

async function exercise(cluster: SmallCluster): Promise<void> {
  // Only a sync can be told how long its change took, so the change says when it was made.
  for (const [index] of web.clusterIPs.entries()) await cluster.api.update(slice(web, "b", index));
  for (const clusterIP of web.clusterIPs) await untilAnsweredBy("b", clusterIP);
  for (const clusterIP of dns.clusterIPs) await speakUdp(cluster, clusterIP);
  for (const [index] of dns.clusterIPs.entries()) await cluster.api.update(slice(dns, "b", index));
  await untilMetric("kubeproxy_conntrack_reconciler_deleted_entries_total", (sum) => sum >= 2);
  for (const path of ["/healthz", "/livez"]) await page(healthPage + path);
  // iptables mode counts what goes to node ports on the loopback address, wherever it ends.
  await cluster.agent.probe({
    namespace: cluster.node,
    protocol: "TCP",
    address: "127.0.0.1",
    port: lonelyNodePort,
    timeoutMs: 200,
  });
}

async function speakUdp(cluster: SmallCluster, address: string): Promise<void> {
  const namespace = cluster.plane.access.namespace;
  const probe = { namespace, address, port: 53, timeoutMs: 500, protocol: "UDP" as const };
  const deadline = Date.now() + DEADLINE_MS;
  while (Date.now() < deadline) {
    if ((await cluster.agent.probe(probe)).kind === "reached") return;
  }
  throw new Error(`Cannot reach ${address} by UDP`);
}

async function untilMetric(name: string, isEnough: (sum: number) => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  let last = 0;
  while (Date.now() < deadline) {
    const { body } = await page(`${metricsPage}/metrics`);
    last = parseExposition(body).get(name)?.samples.reduce((sum, { value }) => sum + value, 0) ?? 0;
    if (isEnough(last)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Cannot see ${name} move: it is ${last}`);
}

interface Subject {
  readonly name: string;
  readonly clusterIPs: readonly [string, string];
}

function objects(): readonly ManifestObject[] {
  return [
    service(web, { ports: [{ name: "p", port: 80, protocol: "TCP", targetPort: podPort }] }),
    service(dns, { ports: [{ name: "p", port: 53, protocol: "UDP", targetPort: podPort }] }),
    // Nobody serves these here: they are what `no_local_endpoints` counts.
    service({ name: "lonely", clusterIPs: ["172.30.0.12", "fd00:172:30::12"] }, {
      ports: [{
        name: "p",
        port: 80,
        protocol: "TCP",
        targetPort: podPort,
        nodePort: lonelyNodePort,
      }],
      internalTrafficPolicy: "Local",
      externalTrafficPolicy: "Local",
      type: "NodePort",
    }),
    ...[web, dns].flatMap((each) => [slice(each, "a", 0), slice(each, "a", 1)]),
    ...[0, 1].map((family) => remoteSlice(family)),
  ];
}

function service(
  { name, clusterIPs }: Subject,
  spec: Readonly<Record<string, unknown>>,
): ManifestObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: namespaceName },
    spec: { clusterIP: clusterIPs[0], clusterIPs, ipFamilyPolicy: "RequireDualStack", ...spec },
  };
}

function slice({ name }: Subject, pod: PodName, family: number): ManifestObject {
  const udp = name === dns.name;
  const { IPv4, IPv6 } = podAddresses[pod];
  return sliceObject({
    name,
    family,
    address: family === 0 ? IPv4 : IPv6,
    protocol: udp ? "UDP" : "TCP",
    host: nodeName,
  });
}

function remoteSlice(family: number): ManifestObject {
  const address = family === 0 ? "10.129.0.9" : "fd00:10:128:1::9";
  return sliceObject({ name: "lonely", family, address, protocol: "TCP", host: "elsewhere" });
}

interface SliceParts {
  readonly name: string;
  readonly family: number;
  readonly address: string;
  readonly protocol: string;
  readonly host: string;
}

function sliceObject({ name, family, address, protocol, host }: SliceParts): ManifestObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${name}-${family}`,
      namespace: namespaceName,
      labels: { "kubernetes.io/service-name": name },
      annotations: {
        "endpoints.kubernetes.io/last-change-trigger-time": new Date().toISOString(),
      },
    },
    addressType: family === 0 ? "IPv4" : "IPv6",
    ports: [{ name: "p", port: podPort, protocol }],
    endpoints: [{
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: host,
    }],
  };
}

/** The pods answer UDP as well. */
export async function serveUdp(cluster: SmallCluster): Promise<void> {
  for (const [name, addresses] of Object.entries(podAddresses)) {
    for (const address of Object.values(addresses)) {
      const server = { name, address, port: podPort, protocol: "UDP" as const };
      await cluster.agent.serve({ namespace: cluster.pods, ...server });
    }
  }
}
