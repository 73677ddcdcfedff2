/** What the measurements of whole proxies share: objects in numbers, and the proxies one after the other. */
import type { ManifestObject } from "../controlplane/rig/api.ts";
import { ProxyFiles } from "../controlplane/rig/proxy_files.ts";
import {
  ourProgram,
  ProxyProcess,
  type ProxyProgram,
  upstreamProgram,
} from "../controlplane/rig/proxy_process.ts";
import {
  namespaceName,
  nodeName,
  podAddresses,
  type PodName,
  podPort,
  type SmallCluster,
} from "../controlplane/rig/small_cluster.ts";
import { showBackend, ToolFolder } from "../kernel/rig/mode_rules.ts";
import { podCIDRs } from "../scenarios/addresses.ts";
import { allModes, nftablesMode, type RuleMode } from "../scenarios/setups.ts";

/** A proxy with the settings it is measured with. */
export interface Contender {
  readonly title: string;
  readonly program: ProxyProgram;
  /** As in the configuration; `0s` is what kubeadm writes. */
  readonly minSyncPeriod: string;
}

/** Ours and upstream's as kubeadm configures them, and upstream's without its second between syncs. */
export function contenders(only: string = ""): readonly Contender[] {
  const upstream = upstreamProgram();
  if (!upstream) {
    throw new Error("Cannot measure: no kube-proxy of upstream; run scripts/controlplane-tools");
  }
  const all: readonly Contender[] = [
    { title: "ours", program: ourProgram(), minSyncPeriod: "0s" },
    { title: "upstream", program: upstream, minSyncPeriod: "0s" },
    { title: "upstream, minSyncPeriod 10ms", program: upstream, minSyncPeriod: "10ms" },
  ];
  return all.filter(({ title }) => only === "" || title === only);
}

/** The mode that the arguments `--mode` and `--backend` name. Throws for any other. */
export function ruleModeOf(
  { backend, mode }: { readonly mode: string; readonly backend: string },
): RuleMode {
  const known = allModes.find((each) =>
    each.kind === mode && (each.kind === "nftables" || each.backend === backend)
  );
  if (known) return known;
  throw new Error(`Cannot measure: no mode "${mode}" with backend "${backend}"`);
}

/** Starts a contender on the cluster's node; the files live as long as the returned stack. */
export async function startContender(
  cluster: SmallCluster,
  { program, minSyncPeriod }: Contender,
  mode: RuleMode = nftablesMode,
): Promise<{ readonly process: ProxyProcess; readonly stop: () => Promise<void> }> {
  const files = await ProxyFiles.create(cluster.plane.access, {
    clusterCIDR: `${podCIDRs.IPv4},${podCIDRs.IPv6}`,
    mode: mode.kind,
    minSyncPeriod,
  });
  await showBackend((argv, stdin) => cluster.onNode(argv, stdin), mode);
  const tools = await ToolFolder.create(mode);
  const process = new ProxyProcess({
    program,
    namespace: cluster.node,
    args: files.args(nodeName),
    env: tools.env,
  });
  return {
    process,
    stop: async () => {
      await process[Symbol.asyncDispose]();
      await files[Symbol.asyncDispose]();
      await tools[Symbol.asyncDispose]();
    },
  };
}

const CANARIES = 20;

/** A Service whose endpoint is a real pod. */
export interface Canary {
  readonly name: string;
  readonly clusterIP: string;
}

/** Services with one port and one slice each; 20 canaries are spread over them. */
export class BulkCluster {
  readonly canaries: readonly Canary[];
  readonly #services: number;
  readonly #endpoints: number;

  constructor({ services, endpoints }: { readonly services: number; readonly endpoints: number }) {
    this.#services = services;
    this.#endpoints = endpoints;
    const last = services - 1;
    this.canaries = Array.from({ length: CANARIES }, (_, i) => {
      const number = Math.round(i * last / (CANARIES - 1));
      return { name: nameOf(number), clusterIP: clusterIPOf(number) };
    });
  }

  /** All objects, the canaries on pod "a". */
  objects(): readonly ManifestObject[] {
    const real = new Set(this.canaries.map(({ name }) => name));
    return Array.from({ length: this.#services }, (_, number) => {
      const name = nameOf(number);
      const addresses = real.has(name)
        ? [podAddresses.a.IPv4]
        : Array.from({ length: this.#endpoints }, (_, i) => this.#address(number, i));
      return [serviceOf(number), sliceOf(name, addresses)];
    }).flat();
  }

  canarySlice(canary: Canary, pod: PodName): ManifestObject {
    return sliceOf(canary.name, [podAddresses[pod].IPv4]);
  }

  /** Another state of some Service that is no canary; each step gives another. */
  changedSlice(step: number): ManifestObject {
    const real = new Set(this.canaries.map(({ name }) => name));
    let number = (step * 7919) % this.#services;
    while (real.has(nameOf(number))) number = (number + 1) % this.#services;
    const addresses = Array.from(
      { length: this.#endpoints },
      (_, i) => this.#address(number, i + 1 + step % 3),
    );
    return sliceOf(nameOf(number), addresses);
  }

  /** Within the pods' range, and none of the real pods'. */
  #address(service: number, endpoint: number): string {
    const number = 0x10000 + service * (this.#endpoints + 4) + endpoint;
    return `10.${128 + (number >> 16)}.${(number >> 8) & 0xff}.${number & 0xff}`;
  }
}

function nameOf(number: number): string {
  return `bulk-${String(number).padStart(5, "0")}`;
}

function clusterIPOf(number: number): string {
  const address = number + 256;
  return `172.30.${address >> 8}.${address & 0xff}`;
}

function serviceOf(number: number): ManifestObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: nameOf(number), namespace: namespaceName },
    spec: {
      clusterIP: clusterIPOf(number),
      ipFamilyPolicy: "SingleStack",
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: podPort }],
    },
  };
}

function sliceOf(name: string, addresses: readonly string[]): ManifestObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name,
      namespace: namespaceName,
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: podPort, protocol: "TCP" }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: nodeOf(address),
      targetRef: { kind: "Pod", namespace: namespaceName, name: `${name}-${address}` },
    })),
  };
}

/** The measured node has the real pods; all others are spread as in a cluster of a thousand nodes. */
function nodeOf(address: string): string {
  if (Object.values(podAddresses).some(({ IPv4 }) => IPv4 === address)) return nodeName;
  const [, , high, low] = address.split(".").map(Number);
  return `worker-${(high * 256 + low) % 1000}`;
}
