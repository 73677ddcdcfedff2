/**
 * Upstream's own kube-proxy beside a real apiserver: the judge of what a table of fates says. The
 * node namespace is joined to the control plane's; nothing else differs from the other programmers.
 */
import { ApiClient, type ManifestObject } from "../../../controlplane/rig/api.ts";
import { findProgram } from "../../../controlplane/rig/binaries.ts";
import { ControlPlane } from "../../../controlplane/rig/control_plane.ts";
import { joinNode } from "../../../controlplane/rig/network.ts";
import { podCIDRs } from "../../../scenarios/addresses.ts";
import type { Manifest } from "../../../scenarios/manifests.ts";
import type { Setup } from "../../../scenarios/setups.ts";
import type { Cluster } from "../cluster.ts";
import type { Programmer, RunningProxy } from "../programmer.ts";

/** The node's number on the control plane's network. */
const NODE_INDEX = 77;
const SYNC_DEADLINE_MS = 30_000;
const REST_MS = 800;

/** The program to run; undefined when nobody built it. */
export function findUpstreamProxy(): string | undefined {
  return findProgram("kube-proxy");
}

export class UpstreamProgrammer implements Programmer, AsyncDisposable {
  readonly name = "upstream's kube-proxy";
  readonly #binary: string;
  readonly #plane: ControlPlane;
  readonly #api: ApiClient;
  readonly #joined = new Set<string>();

  private constructor(binary: string, plane: ControlPlane) {
    this.#binary = binary;
    this.#plane = plane;
    this.#api = new ApiClient(plane.access);
  }

  static async create(binary: string): Promise<UpstreamProgrammer> {
    const programmer = new UpstreamProgrammer(binary, await ControlPlane.start());
    await programmer.#api.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop" },
    });
    return programmer;
  }

  async start(
    cluster: Cluster,
    options: { readonly manifests: readonly Manifest[]; readonly setup: Setup },
  ): Promise<RunningProxy> {
    const node = cluster.namespace("node");
    if (!this.#joined.has(node)) {
      this.#joined.add(node);
      const { namespace } = this.#plane.access;
      await joinNode(namespace, { node, index: NODE_INDEX, device: "control" });
    }
    for (const manifest of options.manifests) await this.#put(manifest);
    const folder = await Deno.makeTempDir({ prefix: "kpt-upstream-" });
    await Deno.writeTextFile(`${folder}/kubeconfig`, this.#kubeconfig());
    await Deno.writeTextFile(`${folder}/config`, configuration(folder, options.setup));
    const process = new Deno.Command("ip", {
      args: cluster.inside("node", [this.#binary, `--config=${folder}/config`]).slice(1),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await untilReady(cluster);
    return {
      apply: async (manifests) => {
        for (const manifest of manifests) await this.#put(manifest);
      },
      remove: async (manifests) => {
        for (const manifest of manifests) await this.#api.delete(manifest);
      },
      [Symbol.asyncDispose]: async () => {
        process.kill("SIGTERM");
        await process.status;
        await Deno.remove(folder, { recursive: true });
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api[Symbol.dispose]();
    await this.#plane[Symbol.asyncDispose]();
  }

  /** Creates or replaces, and writes the load balancer's part of the status. */
  async #put(object: Manifest): Promise<void> {
    const stored = await this.#createOrUpdate(object);
    const status = object["status"];
    if (object.kind === "Service" && status !== undefined) {
      await this.#api.patch(stored, { status }, "status");
    }
  }

  async #createOrUpdate(object: Manifest): Promise<ManifestObject> {
    // The apiserver made the ServiceCIDR itself, from its own flags.
    if (object.kind === "ServiceCIDR") return object;
    try {
      return await this.#api.update(object);
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("NotFound"))) throw error;
      return await this.#api.create(object);
    }
  }

  #kubeconfig(): string {
    const { url, caCertificate, proxyToken } = this.#plane.access;
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{
        name: "test",
        cluster: { server: url, "certificate-authority-data": btoa(caCertificate) },
      }],
      users: [{ name: "proxy", user: { token: proxyToken } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "proxy" } }],
      "current-context": "test",
    });
  }
}

function configuration(folder: string, setup: Setup): string {
  return JSON.stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: "node",
    clientConnection: { kubeconfig: `${folder}/kubeconfig` },
    healthzBindAddress: "127.0.0.1:10256",
    metricsBindAddress: "127.0.0.1:10249",
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nodePortAddresses: setup.nodePortAddresses === "all" ? ["0.0.0.0/0", "::/0"] : ["primary"],
    detectLocalMode: "ClusterCIDR",
    clusterCIDR: setup.detectLocal === "none" ? "" : `${podCIDRs.IPv4},${podCIDRs.IPv6}`,
    nftables: { masqueradeAll: setup.masqueradeAll, syncPeriod: "10s", minSyncPeriod: "10ms" },
  });
}

/**
 * Upstream says it is healthy before its first sync, syncs each family by itself, and learns of zone
 * and service ranges a little later: its tables are ready when they are there and rest.
 */
async function untilReady(cluster: Cluster): Promise<void> {
  const deadline = Date.now() + SYNC_DEADLINE_MS;
  let before = "";
  let restingSince = Infinity;
  while (Date.now() < deadline) {
    const listings = await Promise.all(
      ["ip", "ip6"].map((family) =>
        cluster.tryRun("node", ["nft", "-s", "list", "table", family, "kube-proxy"])
      ),
    );
    const complete = listings.every(({ stdout }) => /service-[^-]+-shop/.test(stdout));
    const now = listings.map(({ stdout }) => stdout).join("");
    if (!complete || now !== before) restingSince = Date.now();
    if (Date.now() - restingSince > REST_MS) return;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Cannot start upstream's kube-proxy: its tables do not come to rest`);
}
