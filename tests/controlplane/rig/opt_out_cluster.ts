/** A small cluster whose proxy may see Namespaces, and what it, the apiserver and the kernel count. */
import { type Json, parseNftRuleset } from "../../kernel/rig/nft_ruleset.ts";
import { parseAllDocuments } from "yaml";
import type { ManifestObject } from "./api.ts";
import { ApiClient } from "./api.ts";
import { endpointSliceObject, namespaceObject, serviceObject } from "./objects.ts";
import { sumSeries } from "./prometheus.ts";
import { ProxyFiles } from "./proxy_files.ts";
import { ourProgram, ProxyProcess } from "./proxy_process.ts";
import { nodeAddresses, nodeName, podAddresses, SmallCluster } from "./small_cluster.ts";

export const optOutLabel = "networking.k8s.io/kube-proxy";
export const followed = ["services", "endpointslices"] as const;
const METRICS_PORT = 10249;

/** What the apiserver counted of one resource, over all its clients. */
export interface ServerCounts {
  readonly clusterLists: number;
  readonly namespaceLists: number;
  readonly openWatches: number;
  /** Bodies of lists, as they went over the wire. */
  readonly listBytes: number;
  /** Objects of all lists that its watch cache answered. */
  readonly listObjects: number;
}

/** What the proxy counted of one resource. */
export interface ReceivedCounts {
  readonly bytes: number;
  readonly objects: number;
}

/** Removed with all it started when disposed. */
export class OptOutCluster implements AsyncDisposable {
  readonly small: SmallCluster;
  readonly #mode: string;
  readonly #stack = new AsyncDisposableStack();

  private constructor(small: SmallCluster, mode: string) {
    this.small = small;
    this.#mode = mode;
    this.#stack.use(small);
  }

  /** With the rights of deploy/rbac.yaml unless told otherwise. */
  static async create({ rights = true, mode = "nftables" } = {}): Promise<OptOutCluster> {
    const cluster = new OptOutCluster(await SmallCluster.create(), mode);
    if (rights) await cluster.grantRights();
    return cluster;
  }

  get api(): ApiClient {
    return this.small.api;
  }

  /** The role and binding for opt-out as they are deployed. */
  async grantRights(): Promise<void> {
    const path = new URL("../../../deploy/rbac.yaml", import.meta.url);
    const documents = parseAllDocuments(await Deno.readTextFile(path));
    const objects: ManifestObject[] = documents.map((document) => document.toJS());
    const own = objects.filter(({ metadata }) => metadata.name === "kube-proxy:namespace-opt-out");
    for (const object of own) await this.api.create(object);
  }

  /** Resolves when every Service works. */
  async startProxy(args: readonly string[] = []): Promise<ProxyProcess> {
    const files = this.#stack.use(
      await ProxyFiles.create(this.small.plane.access, {
        mode: this.#mode,
        clusterCIDR: "10.128.0.0/14,fd00:10:128::/48",
        metricsBindAddress: `0.0.0.0:${METRICS_PORT}`,
        nodePortAddresses: [`${nodeAddresses.IPv4}/32`],
      }),
    );
    const proxy = this.#stack.use(
      new ProxyProcess({
        program: ourProgram(),
        namespace: this.small.node,
        args: [...files.args(nodeName), ...args],
      }),
    );
    await proxy.inSync(60_000);
    return proxy;
  }

  async setLabel(namespace: string, value: string | null): Promise<void> {
    await this.api.patch(namespaceObject(namespace), {
      metadata: { labels: { [optOutLabel]: value } },
    });
  }

  /** The proxy's own metrics page. */
  async proxyPage(): Promise<string> {
    const response = await fetch(`http://${nodeAddresses.IPv4}:${METRICS_PORT}/metrics`);
    return await response.text();
  }

  async received(): Promise<Readonly<Record<(typeof followed)[number], ReceivedCounts>>> {
    const page = await this.proxyPage();
    const read = (resource: string): ReceivedCounts => ({
      bytes: sumSeries(page, "kubeproxy_apiserver_received_bytes_total", { resource }),
      objects: sumSeries(page, "kubeproxy_apiserver_received_objects_total", { resource }),
    });
    return { services: read("services"), endpointslices: read("endpointslices") };
  }

  async served(): Promise<Readonly<Record<(typeof followed)[number], ServerCounts>>> {
    // A client of its own: the apiserver may have been restarted.
    using client = new ApiClient(this.small.plane.access);
    const page = await client.requestText("GET", "/metrics");
    const read = (resource: string): ServerCounts => {
      const lists = (scope: string) =>
        sumSeries(page, "apiserver_request_total", { resource, verb: "LIST", scope });
      return {
        clusterLists: lists("cluster"),
        namespaceLists: lists("namespace"),
        openWatches: sumSeries(page, "apiserver_longrunning_requests", { resource, verb: "WATCH" }),
        listObjects: sumSeries(page, "apiserver_storage_list_returned_objects_total", {
          resource,
          storage: "watchcache",
        }),
        listBytes: sumSeries(page, "apiserver_response_sizes_sum", { resource, verb: "LIST" }),
      };
    };
    return { services: read("services"), endpointslices: read("endpointslices") };
  }

  /** Rules and elements of our tables, each as a line of text, sorted. */
  async kernelLines(): Promise<readonly string[]> {
    const lines: string[] = [];
    for (const family of ["ip", "ip6"]) {
      const argv = ["nft", "-j", "list", "table", family, "kube-proxy"];
      const ruleset = parseNftRuleset(await this.small.onNode(argv));
      for (const [chain, rules] of ruleset.chains) {
        lines.push(`${family} chain ${chain}`);
        rules.forEach(({ statements }: { readonly statements: readonly Json[] }, i) =>
          lines.push(`${family} ${chain} ${i}: ${JSON.stringify(statements)}`)
        );
      }
      for (const [name, set] of ruleset.sets) {
        // What connections left behind is no business of whoever wrote the rules.
        if (name === "hairpin-connections") continue;
        lines.push(...set.toLines().map((line) => `${family} ${name} ${line}`));
      }
    }
    return lines.sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** A Service and its slices, all of them leading to pod "a". */
export function reachableService(
  namespace: string,
  name: string,
  options: { readonly number: number; readonly nodePort?: number },
): { readonly clusterIPs: readonly string[]; readonly objects: readonly ManifestObject[] } {
  const { number, nodePort } = options;
  const clusterIPs = [
    `172.30.${240 + (number >> 8)}.${number & 0xff}`,
    `fd00:172:30::f${number.toString(16)}`,
  ];
  const ports = [{
    name: "http",
    port: 80,
    protocol: "TCP",
    targetPort: 8080,
    ...(nodePort === undefined ? {} : { nodePort }),
  }];
  const spec = {
    clusterIPs,
    clusterIP: clusterIPs[0],
    ipFamilyPolicy: "RequireDualStack",
    ipFamilies: ["IPv4", "IPv6"],
    type: nodePort === undefined ? "ClusterIP" : "NodePort",
    ports,
  };
  const slice = (addressType: "IPv4" | "IPv6") =>
    endpointSliceObject({
      namespace,
      name: `${name}-${addressType.toLowerCase()}`,
      service: name,
      addressType,
      addresses: [podAddresses.a[addressType]],
    });
  return {
    clusterIPs,
    objects: [serviceObject({ namespace, name, spec }), slice("IPv4"), slice("IPv6")],
  };
}
