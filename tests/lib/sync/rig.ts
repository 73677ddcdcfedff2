/** One family's sync with everything round it in memory, and time that stands still. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { EndpointSlice, Service } from "../../../lib/kube/objects.ts";
import { FakeConntrack } from "../../../lib/kernel/conntrack/fake_conntrack.ts";
import { FamilySync } from "../../../lib/sync/family_sync.ts";
import type { RunIntervals } from "../../../lib/sync/runner.ts";
import { FamilyState } from "../../../lib/trackers/family_state.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";
import { FakeRuleWriter } from "../../fakes/fake_rule_writer.ts";

/** Everything that happens to a family, in order, as short words. */
export class Journal {
  readonly entries: string[] = [];

  add(entry: string): void {
    this.entries.push(entry);
  }

  /** What was added since the last call. */
  take(): readonly string[] {
    return this.entries.splice(0);
  }
}

/** What a test can turn and read. */
export interface SyncRig {
  readonly clock: FakeClock;
  readonly state: FamilyState;
  readonly writer: FakeRuleWriter;
  readonly conntrack: FakeConntrack;
  readonly logger: FakeLogger;
  readonly journal: Journal;
  readonly sync: FamilySync;
  /** Whether Services and EndpointSlices are known; false at first. */
  complete: boolean;
}

/** How a rig differs from the usual one. */
export interface SyncRigOptions {
  readonly family?: IpFamily;
  readonly intervals?: RunIntervals;
  readonly fullSyncMs?: number;
  readonly maintainMs?: number;
  readonly clock?: FakeClock;
  readonly failingHealthChecks?: boolean;
}

const intervals: RunIntervals = { minMs: 1000, retryMs: 30_000, maxMs: 3_600_000 };

/** Runs the body while the family's loop runs. */
export async function withSync(
  options: SyncRigOptions,
  body: (rig: SyncRig) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const rig = syncRig(options);
  const loop = rig.sync.run(stop.signal);
  try {
    await rig.clock.advance(0);
    await body(rig);
  } finally {
    stop.abort();
    await rig.clock.advance(0);
    await loop;
  }
}

/** A rig whose loop is not started. */
export function syncRig(options: SyncRigOptions = {}): SyncRig {
  const family = options.family ?? "IPv4";
  const clock = options.clock ?? new FakeClock();
  const journal = new Journal();
  const state = new FamilyState({
    family,
    node: { name: "node1", zone: "" },
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "unknown" },
      nodePortAddresses: { kind: "all" },
      serviceCIDRs: [],
      leftovers: false,
    },
    startedMs: clock.now(),
  });
  const writer = new FakeRuleWriter(family);
  const conntrack = new FakeConntrack();
  const logger = new FakeLogger();
  const rig: SyncRig = {
    clock,
    state,
    writer,
    conntrack,
    logger,
    journal,
    complete: false,
    sync: new FamilySync({
      source: state,
      writer,
      conntrack,
      isComplete: () => rig.complete,
      intervals: options.intervals ?? intervals,
      ...(options.fullSyncMs !== undefined && { fullSyncMs: options.fullSyncMs }),
      driftCheckMs: 2000,
      ...(options.maintainMs !== undefined && { maintainMs: options.maintainMs }),
      ...journalSinks(journal, options.failingHealthChecks ?? false),
      logger,
      clock,
    }),
  };
  return rig;
}

function journalSinks(journal: Journal, failingHealthChecks: boolean) {
  return {
    health: {
      started: () => journal.add("health started"),
      queued: () => journal.add("health queued"),
      updated: () => journal.add("health updated"),
    },
    healthChecks: {
      update: (changed: ReadonlyMap<string, { readonly localEndpoints: number } | undefined>) => {
        const words = [...changed].map(([key, check]) => `${key}=${check?.localEndpoints}`);
        journal.add(["health checks", ...words].join(" "));
        return failingHealthChecks ? Promise.reject(new Error("port in use")) : Promise.resolve();
      },
    },
    metrics: {
      queued: () => journal.add("queued timestamp"),
      ended: (_family: IpFamily, { full }: { readonly full: boolean }) =>
        journal.add(`ended ${full ? "full" : "partial"}`),
      succeeded: () => journal.add("sync timestamp"),
      programmed: (_family: IpFamily, seconds: number) => journal.add(`programmed ${seconds}`),
      counts: () => journal.add("counts"),
      reconciled: (_family: IpFamily, { removed }: { readonly removed: number }) =>
        journal.add(`reconciled ${removed}`),
    },
    notices: {
      notice: (_family: IpFamily, { message }: { readonly message: string }) =>
        journal.add(`notice ${message}`),
    },
  };
}

/** A Service `test/name` with one port. */
export function service(name: string, rest: Partial<Service> = {}): Service {
  return {
    namespace: "test",
    name,
    resourceVersion: "1",
    createdMs: 0,
    type: "ClusterIP",
    clusterIP: "172.30.0.10",
    clusterIPs: ["172.30.0.10"],
    ipFamilies: ["IPv4"],
    externalIPs: [],
    ports: [{ name: "", protocol: "TCP", port: 80, nodePort: 0 }],
    affinitySeconds: 0,
    externalTrafficPolicy: "Cluster",
    internalTrafficPolicy: "Cluster",
    loadBalancerSourceRanges: [],
    ingress: [],
    healthCheckNodePort: 0,
    otherProxy: false,
    ...rest,
  };
}

/** The slice of Service `test/name` with ready endpoints on node1. */
export function slice(
  name: string,
  addresses: readonly string[],
  rest: Partial<EndpointSlice> = {},
): EndpointSlice {
  return {
    namespace: "test",
    name: `${name}-1`,
    resourceVersion: "1",
    serviceName: name,
    addressType: "IPv4",
    ports: [{ name: "", protocol: "TCP", port: 8080 }],
    endpoints: addresses.map((address) => ({
      address,
      ready: true,
      serving: true,
      terminating: false,
      nodeName: "node1",
      zoneHints: [],
      nodeHints: [],
    })),
    triggerTimeMs: 0,
    otherProxy: false,
    ...rest,
  };
}
