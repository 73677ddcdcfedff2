/**
 * What the kernel alone takes for the batches of changes: the same rules are written by the mode's
 * writer in this thread, and only the call of the kernel counts. No watch, no waiting for others, no
 * packet.
 */
import assert from "node:assert/strict";
import { systemClock } from "../../lib/base/clock.ts";
import { DirectTransport } from "../../lib/kernel/nf_tables/direct_transport.ts";
import type { NfTransport } from "../../lib/kernel/nf_tables/transport.ts";
import { inNetworkNamespace } from "../../lib/kernel/netns.ts";
import { FakeNfacct } from "../../lib/kernel/nfacct/fake_nfacct.ts";
import { NetlinkNftables } from "../../lib/kernel/nftables/netlink_nftables.ts";
import { NftXtables } from "../../lib/kernel/xtables/nft_xtables.ts";
import { readEndpointSlice } from "../../lib/kube/json/endpoint_slice.ts";
import { readService } from "../../lib/kube/json/service.ts";
import { ClusterState } from "../../lib/trackers/cluster_state.ts";
import { Counters } from "../../lib/writers/iptables/counters.ts";
import { IptablesWriter } from "../../lib/writers/iptables/writer.ts";
import { NftablesWriter } from "../../lib/writers/nftables/writer.ts";
import type { RuleWriter } from "../../lib/writers/writer.ts";
import type { ManifestObject } from "../controlplane/rig/api.ts";
import { podCIDRs } from "../scenarios/addresses.ts";
import type { RuleMode } from "../scenarios/setups.ts";
import type { BulkCluster } from "./cluster_subject.ts";

/** Operations that the difference between a node and this thread may be worth. */
const FEW = 50;

/** Where the rules of a proxy are that has ended. */
export interface ReplayPlace {
  readonly namespace: string;
  readonly bulk: BulkCluster;
  readonly mode: RuleMode;
  readonly changes: number;
}

/** Milliseconds of each change's batches; undefined where batches go through a program. */
export async function replayBare(place: ReplayPlace): Promise<readonly number[] | undefined> {
  const { bulk, changes, mode } = place;
  if (mode.kind === "iptables" && mode.backend === "legacy") return undefined;
  const path = `/run/netns/${place.namespace}`;
  const direct = inNetworkNamespace(path, () => new DirectTransport());
  try {
    const timed = new TimedTransport(direct);
    const replay = new Replay(writerOf(mode, timed.transport));
    // Its Service and node addresses are the apiserver's and the node's own.
    const written = await replay.apply(bulk.objects());
    assert.ok(written < FEW, `the rules are not those of the cluster: ${written} were written`);
    const samples: number[] = [];
    for (let i = 0; i < changes; i++) {
      const canary = bulk.canaries[i % bulk.canaries.length];
      const pod = Math.floor(i / bulk.canaries.length) % 2 === 0 ? "b" : "a";
      timed.elapsedMs = 0;
      await replay.apply([bulk.canarySlice(canary, pod)]);
      samples.push(timed.elapsedMs);
    }
    return samples;
  } finally {
    direct.close();
  }
}

function writerOf(mode: RuleMode, transport: NfTransport): RuleWriter {
  if (mode.kind === "nftables") {
    const nftables = new NetlinkNftables(transport);
    return new NftablesWriter({ family: "IPv4", nftables, masqueradeBit: 14, clock: systemClock });
  }
  return new IptablesWriter({
    family: "IPv4",
    xtables: new NftXtables(transport),
    facts: {
      masqueradeBit: 14,
      localhostNodePorts: true,
      isLiberal: false,
      hasIpvsLink: () => false,
    },
    counters: new Counters(new FakeNfacct()),
  });
}

/** Counts the time of commits. */
class TimedTransport {
  readonly transport: NfTransport;
  elapsedMs = 0;

  constructor(direct: DirectTransport) {
    const commit: NfTransport["commit"] = async (bytes, series) => {
      const started = performance.now();
      const result = await direct.commit(bytes, series);
      this.elapsedMs += performance.now() - started;
      return result;
    };
    this.transport = new Proxy<NfTransport>(direct, {
      get: (_, name: keyof NfTransport) => {
        if (name === "commit") return commit;
        const value = direct[name];
        return typeof value === "function" ? value.bind(direct) : value;
      },
    });
  }
}

/** Trackers and writer of one family. */
class Replay {
  readonly #writer: RuleWriter;
  readonly #state = new ClusterState({
    families: ["IPv4"],
    nodeName: "node",
    nodeIPOverride: [],
    masqueradeAll: false,
    localTraffic: { kind: "cluster-cidr", clusterCIDRs: [podCIDRs.IPv4] },
    nodePortAddresses: [],
    startedMs: 0,
  });
  #synced = false;

  constructor(writer: RuleWriter) {
    this.#writer = writer;
  }

  /** Answers how much was written. */
  async apply(objects: readonly ManifestObject[]): Promise<number> {
    for (const object of objects) {
      if (object.kind === "Service") {
        const changes = [{ kind: "upsert" as const, object: readService(asServed(object)) }];
        this.#state.applyServices({ kind: "changes", changes });
      } else {
        const changes = [{ kind: "upsert" as const, object: readEndpointSlice(object) }];
        this.#state.applyEndpointSlices({ kind: "changes", changes });
      }
    }
    const [[, family]] = this.#state.families;
    const { snapshot, changes } = family.take();
    const { signal } = new AbortController();
    const report = await this.#writer.sync(
      snapshot,
      this.#synced ? changes : { kind: "all" },
      signal,
    );
    family.commit();
    this.#synced = true;
    return report.written;
  }
}

/** With what an apiserver adds. */
function asServed(object: ManifestObject): ManifestObject {
  const spec = object["spec"] as { readonly clusterIP: string };
  return {
    ...object,
    spec: { type: "ClusterIP", ipFamilies: ["IPv4"], clusterIPs: [spec.clusterIP], ...spec },
  };
}
