/**
 * The smallest cluster with real connections: a control plane, one node joined to it, and behind the
 * node one namespace for all pods. Clients connect from the control plane's namespace, which routes
 * the service range over the node; the calling thread is in it.
 */
import { Agent } from "../../kernel/rig/agent_client.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import { deleteRules } from "../../kernel/rig/mode_rules.ts";
import {
  createNamespaces,
  ownedPrefix,
  removeNamespaces,
  removeStale,
} from "../../kernel/rig/namespaces.ts";
import { nftablesMode, type RuleMode } from "../../scenarios/setups.ts";
import { serviceCIDRs } from "../../scenarios/addresses.ts";
import { ApiClient, type ManifestObject } from "./api.ts";
import { ControlPlane } from "./control_plane.ts";
import { joinNode } from "./network.ts";
import { namespaceObject } from "./objects.ts";

/** The node's addresses on the control plane's network. */
export const nodeAddresses = { IPv4: "192.168.0.77", IPv6: "fd00:192:168::4d" } as const;
export const nodeName = "node";
export const namespaceName = "shop";
const NODE_INDEX = 77;

/** Pods that answer with their own name: "a" and "b", each with an address of both families. */
export const podAddresses = {
  a: { IPv4: "10.128.0.2", IPv6: "fd00:10:128::2" },
  b: { IPv4: "10.128.0.3", IPv6: "fd00:10:128::3" },
} as const;
export type PodName = keyof typeof podAddresses;
export const podPort = 8080;

const decoder = new TextDecoder();

/** Removed with all it started when disposed. */
export class SmallCluster implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly api: ApiClient;
  readonly agent: Agent;
  readonly #prefix: string;

  private constructor(parts: { plane: ControlPlane; prefix: string }) {
    this.plane = parts.plane;
    this.#prefix = parts.prefix;
    this.api = new ApiClient(parts.plane.access);
    this.agent = Agent.start();
  }

  /** With the Node, the namespace `shop`, and both pods serving TCP. */
  static async create(): Promise<SmallCluster> {
    await removeStale();
    const cluster = new SmallCluster({ plane: await ControlPlane.start(), prefix: ownedPrefix() });
    try {
      await createNamespaces([cluster.node, cluster.pods]);
      await cluster.#link();
      await cluster.api.create(nodeObject());
      await cluster.api.create(namespaceObject(namespaceName));
      for (const [name, addresses] of Object.entries(podAddresses)) {
        for (const address of Object.values(addresses)) {
          const protocol = "TCP";
          await cluster.agent.serve({
            namespace: cluster.pods,
            name,
            protocol,
            address,
            port: podPort,
          });
        }
      }
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The node's network namespace. */
  get node(): string {
    return `${this.#prefix}node`;
  }

  /** The network namespace of all pods. */
  get pods(): string {
    return `${this.#prefix}pods`;
  }

  /** Runs a program on the node; throws when it fails. */
  onNode(argv: readonly string[], stdin = ""): Promise<string> {
    return runCommand(["ip", "netns", "exec", this.node, ...argv], stdin);
  }

  /** What a proxy of the mode left on the node. */
  async deleteRules(mode: RuleMode = nftablesMode): Promise<void> {
    await deleteRules((argv, stdin) => this.onNode(argv, stdin), mode);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api[Symbol.dispose]();
    await this.agent[Symbol.asyncDispose]();
    await removeNamespaces([this.node, this.pods]);
    await this.plane[Symbol.asyncDispose]();
  }

  async #link(): Promise<void> {
    const { node, pods } = this;
    const controlPlane = this.plane.access.namespace;
    for (const name of ["ipv4/ip_forward", "ipv6/conf/all/forwarding"]) {
      await this.onNode(["sh", "-ec", `echo 1 > /proc/sys/net/${name}`]);
    }
    await joinNode(controlPlane, { node, index: NODE_INDEX });
    const ip = (namespace: string, lines: readonly string[]) =>
      runCommand(["ip", "-n", namespace, "-batch", "-"], lines.join("\n") + "\n");
    await ip(node, [
      `link add pods type veth peer name eth0 netns ${pods}`,
      "link set pods up",
      "address add 10.128.0.1/14 dev pods",
      "address add fd00:10:128::1/48 dev pods nodad",
      // Without a rule a Service's address is refused at once, so that nobody waits for a SYN's retry.
      `route add unreachable ${serviceCIDRs.IPv4}`,
      `route add unreachable ${serviceCIDRs.IPv6}`,
    ]);
    await ip(pods, [
      "link set lo up",
      "link set eth0 up",
      ...Object.values(podAddresses).flatMap(({ IPv4, IPv6 }) => [
        `address add ${IPv4}/14 dev eth0`,
        `address add ${IPv6}/48 dev eth0 nodad`,
      ]),
      "route add default via 10.128.0.1",
      "route add default via fd00:10:128::1",
    ]);
    await ip(controlPlane, [
      `route add ${serviceCIDRs.IPv4} via ${nodeAddresses.IPv4}`,
      `route add ${serviceCIDRs.IPv6} via ${nodeAddresses.IPv6}`,
    ]);
  }
}

/** The Node as it registers itself. */
export function nodeObject(): ManifestObject {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: nodeName, labels: { "topology.kubernetes.io/zone": "zone-a" } },
    spec: { podCIDR: "10.128.0.0/24", podCIDRs: ["10.128.0.0/24", "fd00:10:128::/64"] },
    status: {
      addresses: Object.values(nodeAddresses).map((address) => ({ type: "InternalIP", address })),
    },
  };
}

/** Who answers a new connection, or undefined where nobody does within the time. */
export async function whoAnswers(
  hostname: string,
  { port = 80, timeoutMs = 250 } = {},
): Promise<string | undefined> {
  const expired = new AbortController();
  let connection: Deno.TcpConn | undefined;
  const timer = setTimeout(() => {
    expired.abort();
    close(connection);
  }, timeoutMs);
  try {
    connection = await Deno.connect({ hostname, port, signal: expired.signal });
    const buffer = new Uint8Array(128);
    const length = await connection.read(buffer);
    return length ? decoder.decode(buffer.subarray(0, length)).split(" ")[0] : undefined;
  } catch {
    // Refused, unreachable, or closed because the time was up.
    return undefined;
  } finally {
    clearTimeout(timer);
    close(connection);
  }
}

function close(connection: Deno.TcpConn | undefined): void {
  try {
    connection?.close();
  } catch {
    // Closed already.
  }
}

/** Connects again and again until the pod answers; resolves to the milliseconds it took. */
export async function untilAnsweredBy(
  pod: PodName,
  hostname: string,
  { port = 80, deadlineMs = 30_000, pauseMs = 0 } = {},
): Promise<number> {
  const start = performance.now();
  let last: string | undefined;
  while (performance.now() - start < deadlineMs) {
    last = await whoAnswers(hostname, { port });
    if (last === pod) return performance.now() - start;
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(
    `Cannot reach pod "${pod}" at ${hostname}:${port}: after ${deadlineMs} ms ${
      last ?? "nobody"
    } answers`,
  );
}
