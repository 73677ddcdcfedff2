/** What opting namespaces out saves one proxy: the same cluster measured with and without the label. */
import type { ApiClient, ManifestObject } from "../controlplane/rig/api.ts";
import {
  endpointSliceObject,
  namespaceObject,
  serviceObject,
} from "../controlplane/rig/objects.ts";
import { followed, type OptOutCluster } from "../controlplane/rig/opt_out_cluster.ts";
import type { ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { podAddresses, whoAnswers } from "../controlplane/rig/small_cluster.ts";
import type { LoadReport } from "../kernel/rig/agent_protocol.ts";

export interface ReliefSize {
  readonly namespaces: number;
  readonly optedOut: number;
  readonly services: number;
  readonly endpoints: number;
}

/** Services spread evenly over namespaces; the first and the last of each namespace lead to a real pod. */
export class ReliefCluster {
  readonly size: ReliefSize;

  constructor(size: ReliefSize) {
    this.size = size;
  }

  namespace(index: number): string {
    return `team-${String(index).padStart(3, "0")}`;
  }

  /** Namespaces that are to be out; the first ones stay in. */
  get outNames(): readonly string[] {
    const { namespaces, optedOut } = this.size;
    return Array.from({ length: optedOut }, (_, i) => this.namespace(namespaces - optedOut + i));
  }

  /** Addresses of the namespace's real Services. */
  realIPs(index: number): readonly string[] {
    const { namespaces, services } = this.size;
    return [clusterIPOf(index), clusterIPOf(services - namespaces + index)];
  }

  async create(api: ApiClient): Promise<void> {
    const { namespaces, services } = this.size;
    await api.createAll(
      Array.from({ length: namespaces }, (_, i) => namespaceObject(this.namespace(i))),
    );
    await api.createAll(
      Array.from({ length: services }, (_, number) => [this.#service(number), this.slice(number)])
        .flat(),
    );
  }

  async labelAll(cluster: OptOutCluster, value: string | null): Promise<void> {
    await Promise.all(this.outNames.map((name) => cluster.setLabel(name, value)));
  }

  /** Another state of something in the namespaces that are to be out; each step gives another. */
  change(step: number): ManifestObject {
    const { namespaces, optedOut, services } = this.size;
    const rows = Math.floor(services / namespaces) - 2;
    const row = 1 + Math.floor(step / optedOut) % rows;
    const number = row * namespaces + namespaces - optedOut + step % optedOut;
    return this.slice(number, 1 + step % 200);
  }

  slice(number: number, shift = 0): ManifestObject {
    const { namespaces, services, endpoints } = this.size;
    const real = number < namespaces || number >= services - namespaces;
    const first = 0x10000 + number * (endpoints + 1) + shift;
    const addresses = real
      ? [podAddresses.a.IPv4]
      : Array.from({ length: endpoints }, (_, i) => podIPOf(first + i));
    return endpointSliceObject({
      namespace: this.namespace(number % namespaces),
      name: nameOf(number),
      addresses,
    });
  }

  #service(number: number): ManifestObject {
    const clusterIP = clusterIPOf(number);
    const namespace = this.namespace(number % this.size.namespaces);
    return serviceObject({ namespace, name: nameOf(number), spec: { clusterIP } });
  }
}

/** Of both followed resources together. */
export interface StartFigures {
  readonly bytes: number;
  readonly objects: number;
  /** As the apiserver counts them, compressed. */
  readonly serverBytes: number;
  readonly serverObjects: number;
  readonly startMs: number;
  readonly cpuSeconds: number;
  readonly residentMb: number;
  /** Rules and elements in the kernel. */
  readonly rules: number;
}

/** Starts a proxy on a node without rules, and tells what that took. The proxy goes on. */
export async function measureStart(
  cluster: OptOutCluster,
): Promise<{ readonly proxy: ProxyProcess; readonly figures: StartFigures }> {
  await cluster.small.deleteRules();
  const before = await serverTotals(cluster);
  const started = performance.now();
  const proxy = await cluster.startProxy();
  const startMs = performance.now() - started;
  const { cpuSeconds, residentMb } = proxy.usage();
  const after = await serverTotals(cluster);
  const received = await receivedTotals(cluster);
  const figures = {
    ...received,
    serverBytes: after.bytes - before.bytes,
    serverObjects: after.objects - before.objects,
    startMs,
    cpuSeconds,
    residentMb,
    rules: (await cluster.kernelLines()).length,
  };
  return { proxy, figures };
}

export interface ChurnFigures {
  readonly changes: number;
  readonly bytes: number;
  readonly objects: number;
  /** What a watch with the proxy's selectors, but without bookmarks, received at the same time. */
  readonly witnessBytes: number;
  readonly cpuSeconds: number;
}

/** Changes something in the namespaces that are to be out, at a steady rate. */
export async function measureChurn(
  cluster: OptOutCluster,
  relief: ReliefCluster,
  options: {
    readonly proxy: ProxyProcess;
    readonly perSecond: number;
    readonly seconds: number;
    readonly excluded: readonly string[];
  },
): Promise<ChurnFigures> {
  const { proxy, perSecond, seconds, excluded } = options;
  const witness = await Witness.start(cluster, excluded);
  const before = await receivedTotals(cluster);
  const cpuBefore = proxy.usage().cpuSeconds;
  const changes = perSecond * seconds;
  const started = performance.now();
  const running: Promise<unknown>[] = [];
  for (let step = 0; step < changes; step++) {
    const dueMs = step * 1000 / perSecond - (performance.now() - started);
    if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
    running.push(cluster.api.update(relief.change(step)));
  }
  await Promise.all(running);
  const cpuSeconds = proxy.usage().cpuSeconds - cpuBefore;
  const after = await receivedTotals(cluster);
  return {
    changes,
    bytes: after.bytes - before.bytes,
    objects: after.objects - before.objects,
    witnessBytes: await witness.stop(),
    cpuSeconds,
  };
}

export interface SwitchFigures {
  readonly outMs: number;
  readonly inMs: number;
  /** Lists of all namespaces that the apiserver answered meanwhile, and of one. */
  readonly clusterLists: number;
  readonly namespaceLists: number;
  readonly objectsForOptOut: number;
  readonly objectsForOptIn: number;
  readonly load: LoadReport;
}

/** Opts one namespace out and in again while connections to others' addresses go on. */
export async function measureSwitch(
  cluster: OptOutCluster,
  relief: ReliefCluster,
  options: { readonly index: number; readonly others: readonly number[] },
): Promise<SwitchFigures> {
  const { index, others } = options;
  const addresses = others.flatMap((other) => relief.realIPs(other));
  const stops = await Promise.all(addresses.map((address) =>
    cluster.small.agent.startLoad({
      namespace: cluster.small.plane.access.namespace,
      protocol: "TCP",
      address,
      port: 80,
      perSecond: 200 / addresses.length,
      timeoutMs: 2_000,
    })
  ));
  const before = await serverTotals(cluster);
  const start = await receivedTotals(cluster);
  const name = relief.namespace(index);
  await cluster.setLabel(name, "disabled");
  const outMs = await until(relief.realIPs(index), undefined);
  const middle = await receivedTotals(cluster);
  await cluster.setLabel(name, null);
  const inMs = await until(relief.realIPs(index), "a");
  const end = await receivedTotals(cluster);
  const after = await serverTotals(cluster);
  const load = mergeReports(await Promise.all(stops.map((stop) => stop())));
  return {
    outMs,
    inMs,
    clusterLists: after.clusterLists - before.clusterLists,
    namespaceLists: after.namespaceLists - before.namespaceLists,
    objectsForOptOut: middle.objects - start.objects,
    objectsForOptIn: end.objects - middle.objects,
    load,
  };
}

/** A watch of both resources as the proxy has it, without bookmarks: an event is a byte here. */
class Witness {
  readonly #readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  readonly #reading: Promise<unknown>[] = [];
  #bytes = 0;

  static async start(cluster: OptOutCluster, excluded: readonly string[]): Promise<Witness> {
    const witness = new Witness();
    const terms = excluded.map((name) => `metadata.namespace!=${name}`);
    for (const path of ["/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices"]) {
      const { metadata } = await cluster.api.request<{ metadata: { resourceVersion: string } }>(
        "GET",
        `${path}?limit=1`,
      );
      const query = new URLSearchParams({
        watch: "true",
        resourceVersion: metadata.resourceVersion,
        fieldSelector: terms.join(","),
      });
      const body = await cluster.api.stream(`${path}?${query}`);
      const reader = body.getReader();
      witness.#readers.push(reader);
      witness.#reading.push(witness.#read(reader));
    }
    return witness;
  }

  async stop(): Promise<number> {
    await Promise.all(this.#readers.map((reader) => reader.cancel()));
    await Promise.all(this.#reading);
    return this.#bytes;
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.#bytes += value.length;
    }
  }
}

async function serverTotals(cluster: OptOutCluster) {
  const served = await cluster.served();
  const sum = (read: (counts: (typeof served)["services"]) => number) =>
    followed.reduce((total, resource) => total + read(served[resource]), 0);
  return {
    bytes: sum(({ listBytes }) => listBytes),
    objects: sum(({ listObjects }) => listObjects),
    clusterLists: sum(({ clusterLists }) => clusterLists),
    namespaceLists: sum(({ namespaceLists }) => namespaceLists),
  };
}

async function receivedTotals(cluster: OptOutCluster) {
  const received = await cluster.received();
  return {
    bytes: followed.reduce((total, resource) => total + received[resource].bytes, 0),
    objects: followed.reduce((total, resource) => total + received[resource].objects, 0),
  };
}

/** Milliseconds until all the addresses are answered so. */
async function until(addresses: readonly string[], pod: string | undefined): Promise<number> {
  const start = performance.now();
  for (;;) {
    const found = await Promise.all(addresses.map((address) => whoAnswers(address)));
    if (found.every((each) => each === pod)) return performance.now() - start;
    if (performance.now() - start > 30_000) {
      throw new Error(`Cannot see the switch: after 30 s ${addresses} answer ${found}`);
    }
  }
}

function mergeReports(reports: readonly LoadReport[]): LoadReport {
  const merge = (read: (report: LoadReport) => Readonly<Record<string, number>>) => {
    const all: Record<string, number> = {};
    for (const report of reports) {
      for (const [key, count] of Object.entries(read(report))) all[key] = (all[key] ?? 0) + count;
    }
    return all;
  };
  return {
    attempts: reports.reduce((sum, { attempts }) => sum + attempts, 0),
    reached: merge(({ reached }) => reached),
    failed: merge(({ failed }) => failed),
    p50Ms: Math.max(...reports.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...reports.map(({ p99Ms }) => p99Ms)),
    slowestMs: Math.max(...reports.map(({ slowestMs }) => slowestMs)),
  };
}

function nameOf(number: number): string {
  return `service-${String(number).padStart(5, "0")}`;
}

function clusterIPOf(number: number): string {
  const address = number + 256;
  return `172.30.${address >> 8}.${address & 0xff}`;
}

function podIPOf(number: number): string {
  return `10.${128 + (number >> 16)}.${(number >> 8) & 0xff}.${number & 0xff}`;
}
