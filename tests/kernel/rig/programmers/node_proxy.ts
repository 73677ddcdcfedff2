/**
 * The program's trackers and a mode's writers in a process of their own inside the node's
 * namespace, driven line by line: what a sync does is known the moment it is done. No watcher, no
 * timer, no command line.
 */
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { LinuxKernel } from "../../../../lib/kernel/kernel.ts";
import { readEndpointSlice } from "../../../../lib/kube/json/endpoint_slice.ts";
import { readNode } from "../../../../lib/kube/json/node.ts";
import { readService } from "../../../../lib/kube/json/service.ts";
import { readServiceCIDR } from "../../../../lib/kube/json/service_cidr.ts";
import type { ObjectChange } from "../../../../lib/kube/object_batch.ts";
import type { ApiObject } from "../../../../lib/kube/objects.ts";
import type { Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import { ClusterState } from "../../../../lib/trackers/cluster_state.ts";
import { defaultSections, loadRuntime } from "../../../../lib/writers/registry.ts";
import type { ModeRuntime, RuleWriter } from "../../../../lib/writers/writer.ts";
import { FakeLogger } from "../../../fakes/fake_logger.ts";
import { podCIDRs } from "../../../scenarios/addresses.ts";
import type { Manifest } from "../../../scenarios/manifests.ts";
import type { Setup } from "../../../scenarios/setups.ts";
import { TextLineStream } from "../lines.ts";
import type { ProxyAnswer, ProxyRequest } from "./node_proxy_protocol.ts";

/** Both families of one node. */
class NodeProxy implements AsyncDisposable {
  readonly #state: ClusterState;
  readonly #kernel = new LinuxKernel();
  readonly #runtime: ModeRuntime;
  readonly #writers = new Map<IpFamily, RuleWriter>();
  #synced = false;

  constructor(setup: Setup, runtime: ModeRuntime) {
    this.#runtime = runtime;
    this.#state = new ClusterState({
      families: ipFamilies,
      nodeName: "node",
      nodeIPOverride: [],
      masqueradeAll: setup.masqueradeAll,
      localTraffic: setup.detectLocal === "none"
        ? { kind: "none" }
        : { kind: "cluster-cidr", clusterCIDRs: Object.values(podCIDRs) },
      nodePortAddresses: [setup.nodePortAddresses],
      startedMs: 0,
      listsAllAddresses: runtime.listsAllAddresses,
    });
    this.#state.setLeftovers(setup.leftovers ?? false);
    this.#state.setInterfaceAddresses(
      Deno.networkInterfaces().filter(({ name }) => name !== runtime.ownLink)
        .map(({ address }) => address),
    );
  }

  /** Answers how many messages went to the kernel. */
  async handle({ apply, remove }: ProxyRequest): Promise<ProxyAnswer> {
    for (const manifest of apply) this.#applyManifest(manifest);
    for (const manifest of remove) this.#removeManifest(manifest);
    const taken = [...this.#state.families].map(([family, state]) => ({
      family,
      state,
      ...state.take(),
    }));
    if (!this.#synced) await this.#prepare(taken.map(({ snapshot }) => snapshot));
    let written = 0;
    const notices: string[] = [];
    for (const { family, state, snapshot, changes } of taken) {
      const writer = this.#writers.get(family);
      if (writer === undefined) continue;
      const report = await writer.sync(
        snapshot,
        this.#synced ? changes : { kind: "all" },
        new AbortController().signal,
      );
      state.commit();
      written += report.written;
      notices.push(...report.notices.map((notice) => notice.message));
    }
    this.#synced = true;
    return { kind: "synced", written, notices };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kernel[Symbol.asyncDispose]();
  }

  async #prepare(snapshots: readonly Snapshot[]): Promise<void> {
    const runtime = this.#runtime;
    const [kernel, logger] = [this.#kernel, new FakeLogger()];
    const settings = new Map(snapshots.map((each) => [each.family, each.settings]));
    await runtime.prepare({ kernel, logger, settings });
    for (const { family } of snapshots) {
      this.#writers.set(family, await runtime.createWriter({ family, kernel, logger }));
    }
  }

  #applyManifest(manifest: Manifest): void {
    switch (manifest.kind) {
      case "Service": {
        const object = readService(manifest);
        // To a source that leaves out what another proxy owns, such an object is gone.
        if (object.otherProxy) this.#removeManifest(manifest);
        else this.#state.applyServices(upsert(object));
        return;
      }
      case "EndpointSlice": {
        const object = readEndpointSlice(manifest);
        if (object.otherProxy) this.#removeManifest(manifest);
        else this.#state.applyEndpointSlices(upsert(object));
        return;
      }
      case "Node":
        return void this.#state.applyNodes(upsert(readNode(manifest)));
      case "ServiceCIDR":
        return void this.#state.applyServiceCIDRs(upsert(readServiceCIDR(manifest)));
      default:
        throw new TypeError(`Cannot apply a "${manifest.kind}"`);
    }
  }

  #removeManifest({ kind, metadata }: Manifest): void {
    const change = {
      kind: "delete" as const,
      namespace: metadata.namespace ?? "",
      name: metadata.name,
    };
    const batch = { kind: "changes" as const, changes: [change] };
    if (kind === "Service") this.#state.applyServices(batch);
    else if (kind === "EndpointSlice") this.#state.applyEndpointSlices(batch);
    else throw new TypeError(`Cannot remove a "${kind}"`);
  }
}

function upsert<T extends ApiObject>(object: T) {
  const change: ObjectChange<T> = { kind: "upsert", object };
  return { kind: "changes" as const, changes: [change] };
}

async function openRuntime({ mode }: Setup): Promise<ModeRuntime> {
  const sections = defaultSections();
  const iptables = mode.kind === "iptables"
    ? { ...sections.iptables, backend: mode.backend }
    : sections.iptables;
  const runtime = await loadRuntime(mode.kind, { ...sections, iptables });
  if (runtime === undefined) throw new Error(`Cannot run mode "${mode.kind}": it has no rules yet`);
  return runtime;
}

async function main(): Promise<void> {
  let proxy: NodeProxy | undefined;
  for await (const line of Deno.stdin.readable.pipeThrough(new TextLineStream())) {
    const request: ProxyRequest = JSON.parse(line);
    proxy ??= new NodeProxy(request.setup, await openRuntime(request.setup));
    const answer: ProxyAnswer = await proxy.handle(request)
      .catch((error) => ({
        kind: "failed",
        message: error instanceof Error ? `${error.message}\n${error.stack}` : String(error),
      }));
    Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(answer)}\n`));
  }
  await proxy?.[Symbol.asyncDispose]();
}

await main();
