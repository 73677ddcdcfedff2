/** A node in a guest on which one proxy follows the other, beside a real apiserver. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import type { ProxyProgram } from "../../controlplane/rig/proxy_process.ts";
import { upstreamProgram } from "../../controlplane/rig/proxy_process.ts";
import { Cluster } from "../../kernel/rig/cluster.ts";
import { patience } from "../../kernel/rig/patience.ts";
import {
  ApiserverProgrammer,
  type ApiserverProxy,
} from "../../kernel/rig/programmers/apiserver.ts";
import { startEndpoints } from "../../kernel/rig/servers.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { type RuleMode, type Setup, setupsOf } from "../../scenarios/setups.ts";
import { GuestPlane } from "./guest_plane.ts";
import { trafficServices } from "./traffic.ts";

const SYNC_DEADLINE_MS = 60_000 * patience;

/** Upstream's proxy, which is on every guest's drive. */
export function upstreams(): ProxyProgram {
  const program = upstreamProgram();
  assert.ok(program, "no kube-proxy on the guests' drive; run scripts/controlplane-tools");
  return program;
}

/** Whether upstream's nftables mode takes this kernel: it refuses those before 5.13. */
export const upstreamHasNftables = !/^5\.(\d|1[0-2])\./.test(Deno.osRelease());

/** The node, its pods and clients, and the objects of the traffic's Services. */
export class ProofNode implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly programmer: ApiserverProgrammer;

  private constructor(cluster: Cluster, programmer: ApiserverProgrammer) {
    this.cluster = cluster;
    this.programmer = programmer;
  }

  static async create(): Promise<ProofNode> {
    const cluster = await Cluster.create();
    try {
      await startEndpoints(cluster);
      const programmer = await ApiserverProgrammer.create(upstreams(), await GuestPlane.open());
      return new ProofNode(cluster, programmer);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Resolves when its first sync of both families is done, also over rules that are there. */
  async start(
    program: ProxyProgram,
    mode: RuleMode,
    rest: Pick<Setup, "excludeCIDRs"> = {},
  ): Promise<ApiserverProxy> {
    const setup = { ...setupsOf(mode)[0], ...rest };
    const manifests = clusterManifests(trafficServices);
    const proxy = await this.programmer.start(this.cluster, { manifests, setup, program });
    const deadline = Date.now() + SYNC_DEADLINE_MS;
    while (!await isSynced(this.cluster)) {
      assert.ok(Date.now() < deadline && proxy.process.isRunning, proxy.process.log());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.programmer[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

/** Whether the proxy on the node has synced both families, as both programs count it. */
async function isSynced(cluster: Cluster): Promise<boolean> {
  const page = "http://127.0.0.1:10249/metrics";
  const { stdout } = await cluster.tryRun("node", ["curl", "-s", page]);
  return syncedBoth(stdout);
}

/** Whether a proxy with these metrics has synced both families. */
export function syncedBoth(metrics: string): boolean {
  const name = "kubeproxy_sync_proxy_rules_duration_seconds_count";
  return ipFamilies.every((family) => {
    const line = new RegExp(`^${name}\\{ip_family="${family}"\\} (\\d+)`, "m");
    return Number(line.exec(metrics)?.[1] ?? 0) > 0;
  });
}
