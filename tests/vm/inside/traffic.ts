/**
 * Clients of a cluster while its proxies come and go: connections that stay, new ones at a steady
 * rate, datagrams from one port. Every kind of frontend, both families.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import type { FlowReport, LoadReport, Outcome } from "../../kernel/rig/agent_protocol.ts";
import type { Cluster } from "../../kernel/rig/cluster.ts";
import { patience } from "../../kernel/rig/patience.ts";
import {
  clusterIP,
  externalIP,
  type Host,
  hostAddresses,
  loadBalancerIP,
} from "../../scenarios/addresses.ts";
import { nodePortOf, type ServiceDescription } from "../../scenarios/description.ts";

const http = { port: 80, protocol: "TCP", targetPort: 8080 } as const;
const admin = { port: 81, protocol: "TCP", targetPort: 8081 } as const;
const dns = { port: 53, protocol: "UDP", targetPort: 8080 } as const;
const endpoints = [{ host: "pod-a" }, { host: "pod-b" }, { host: "remote-pod" }] as const;

/** Two ports of TCP and one of UDP on every kind of address. */
const shop: ServiceDescription = {
  name: "shop",
  number: 50,
  type: "LoadBalancer",
  ports: [http, admin, dns],
  externalIP: true,
  endpoints,
};

/** Each client has its endpoint. None is a client: what a pod of another node sends to itself has no way back. */
const sticky: ServiceDescription = {
  name: "sticky",
  number: 51,
  type: "NodePort",
  ports: [http],
  affinitySeconds: 10_800,
  endpoints: [{ host: "pod-a" }, { host: "pod-b" }],
};

/** Has an address, and nobody behind it. */
const empty: ServiceDescription = {
  name: "empty",
  number: 52,
  type: "ClusterIP",
  ports: [http],
  endpoints: [],
};

/** What the clients talk to. */
export const trafficServices: readonly ServiceDescription[] = [shop, sticky, empty];

const HELD = 100;
const NEW_PER_SECOND = 50;
const DATAGRAM_EVERY_MS = 100;
/**
 * Below those that the kernel chooses from. IPVS knows an answer by endpoint and client alone: where a client
 * uses a port again for another Service with the same endpoint, the older connection gets no answers any more.
 */
const FIRST_LOCAL_PORT = 20_000;
const ANSWER_TIMEOUT_MS = 3000 * patience;

interface Target {
  readonly from: Host;
  readonly address: string;
  readonly port: number;
}

const targets: readonly Target[] = ipFamilies.flatMap((family): Target[] => [
  { from: "client-a", address: clusterIP(shop.number)[family], port: 80 },
  { from: "client-b", address: clusterIP(shop.number)[family], port: 81 },
  { from: "client-a", address: loadBalancerIP(shop.number)[family], port: 80 },
  { from: "client-b", address: externalIP(shop.number)[family], port: 80 },
  { from: "client-b", address: hostAddresses.node[family], port: nodePortOf(shop, http) },
  { from: "pod-a", address: clusterIP(shop.number)[family], port: 80 },
  { from: "node", address: clusterIP(shop.number)[family], port: 81 },
  { from: "client-a", address: clusterIP(sticky.number)[family], port: 80 },
  { from: "client-a", address: hostAddresses.node[family], port: nodePortOf(sticky, http) },
  { from: "remote-pod", address: clusterIP(sticky.number)[family], port: 80 },
]);

/** What became of all of it. */
export interface TrafficReport {
  readonly held: number;
  /** Those that stayed no longer: at which step that was seen, and what was seen. */
  readonly cut: readonly string[];
  readonly new: number;
  /** New connections that failed, by place and reason. */
  readonly failed: Readonly<Record<string, number>>;
  /** First packets that had to be sent again. */
  readonly repeated: number;
  readonly datagrams: number;
  readonly datagramsLost: number;
}

/** What runs while a client does. */
interface Running {
  readonly loads: readonly (() => Promise<LoadReport>)[];
  readonly flows: readonly (() => Promise<FlowReport>)[];
  readonly repeatedBefore: number;
}

/** Clients that run. */
export class Traffic {
  readonly #cluster: Cluster;
  readonly #running: Running;
  readonly #first = new Map<number, string>();
  readonly #cut: string[] = [];
  /** Of the next connection; none is used twice. */
  #localPort = FIRST_LOCAL_PORT;

  private constructor(cluster: Cluster, running: Running) {
    this.#cluster = cluster;
    this.#running = running;
  }

  /** Resolves when all connections that stay are open. */
  static async start(
    cluster: Cluster,
    { newPerSecond = NEW_PER_SECOND }: { readonly newPerSecond?: number } = {},
  ): Promise<Traffic> {
    const repeatedBefore = await repeatedSyns(cluster);
    const loads = await Promise.all(
      targets.map(({ from, address, port }) =>
        cluster.agent.startLoad({
          namespace: cluster.namespace(from),
          protocol: "TCP",
          address,
          port,
          perSecond: newPerSecond / targets.length,
          timeoutMs: ANSWER_TIMEOUT_MS,
        })
      ),
    );
    const flows = await Promise.all(ipFamilies.map((family) =>
      cluster.agent.startFlow({
        namespace: cluster.namespace("client-a"),
        address: clusterIP(shop.number)[family],
        port: dns.port,
        everyMs: DATAGRAM_EVERY_MS,
      }, { graceMs: 300 * patience })
    ));
    const traffic = new Traffic(cluster, { loads, flows, repeatedBefore });
    await traffic.connect();
    return traffic;
  }

  /** Opens the connections that stay; or one more for each of the targets, which nobody counts. */
  async connect({ more = false }: { readonly more?: boolean } = {}): Promise<void> {
    const [from, until] = more ? [HELD, HELD + targets.length] : [0, HELD];
    for (let connection = from; connection < until; connection++) {
      const outcome = await this.#speak(connection);
      assert.equal(outcome.kind, "reached", `${nameOf(connection)}: ${JSON.stringify(outcome)}`);
      this.#first.set(connection, JSON.stringify(outcome));
    }
  }

  /** Says something over each of them: who is silent, gone or somebody else was cut before this step. */
  async look(step: string): Promise<void> {
    await Promise.all([...this.#first].map(async ([connection, first]) => {
      const outcome = JSON.stringify(await this.#speak(connection));
      if (outcome === first) return;
      this.#first.delete(connection);
      this.#cut.push(`${step}: ${nameOf(connection)}: ${outcome}`);
    }));
  }

  /** What was cut by now: at which step that was seen, and what was seen. */
  get cut(): readonly string[] {
    return this.#cut;
  }

  /** The clients end the connections that stay. */
  async disconnect(): Promise<void> {
    await this.#cluster.agent.release([...this.#first.keys()]);
    this.#first.clear();
  }

  /** Ends the clients. */
  async stop(): Promise<TrafficReport> {
    const { loads, flows, repeatedBefore } = this.#running;
    const loadReports = await Promise.all(loads.map((stop) => stop()));
    const flowReports = await Promise.all(flows.map((stop) => stop()));
    const failed = loadReports.flatMap((report, i) =>
      Object.entries(report.failed).map(([reason, count]) => [`${nameOf(i)}: ${reason}`, count])
    );
    return {
      held: HELD,
      cut: this.#cut,
      new: sum(loadReports.map(({ attempts }) => attempts)),
      failed: Object.fromEntries(failed),
      repeated: await repeatedSyns(this.#cluster) - repeatedBefore,
      datagrams: sum(flowReports.map(({ sent }) => sent)),
      datagramsLost: sum(flowReports.map(({ sent, answered }) => sent - answered)),
    };
  }

  #speak(connection: number): Promise<Outcome> {
    const { from, address, port } = targets[connection % targets.length];
    return this.#cluster.agent.hold({
      connection,
      namespace: this.#cluster.namespace(from),
      address,
      port,
      localPort: this.#localPort++,
      timeoutMs: ANSWER_TIMEOUT_MS,
    });
  }
}

/** The report in few words, for a run's output. */
export function summaryOf(report: TrafficReport): Readonly<Record<string, number>> {
  return {
    held: report.held,
    cut: report.cut.length,
    new: report.new,
    failed: sum(Object.values(report.failed)),
    repeated: report.repeated,
    datagrams: report.datagrams,
    datagramsLost: report.datagramsLost,
  };
}

function nameOf(connection: number): string {
  const { from, address, port } = targets[connection % targets.length];
  return `${from} -> ${address} port ${port}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** How often a TCP client had to say again that it wants to connect. */
async function repeatedSyns(cluster: Cluster): Promise<number> {
  const clients = new Set(targets.map(({ from }) => from));
  const counts = await Promise.all([...clients].map(async (host) => {
    const [names, values] = (await cluster.run(host, ["cat", "/proc/net/netstat"]))
      .split("\n").filter((line) => line.startsWith("TcpExt:")).map((line) => line.split(" "));
    return Number(values[names.indexOf("TCPSynRetrans")]);
  }));
  return sum(counts);
}
