/**
 * A cluster on one machine: a node that routes, two clients, two local pods, a remote node with a
 * pod, and what lies beyond the default route, each a network namespace, joined by veth pairs. The
 * root namespace gets no link, no route and no rule.
 *
 * ```
 *  client-a ──┐                       ┌── pod-a
 *  client-b ──┤        node           ├── pod-b
 *    beyond ──┘  (rules live here)    └── remote-node ── remote-pod
 * ```
 */
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import {
  crowdAddresses,
  type Host,
  hostAddresses,
  linkGateways,
} from "../../scenarios/addresses.ts";
import { Agent } from "./agent_client.ts";
import { type CommandResult, runCommand, tryCommand } from "./command.ts";
import { createNamespaces, ownedPrefix, removeNamespaces, removeStale } from "./namespaces.ts";

/** Removed with everything in it when disposed, when a signal ends the process, or by the next run. */
export class Cluster implements AsyncDisposable {
  readonly agent: Agent;
  readonly #prefix: string;
  readonly #unlisten: () => void;

  private constructor(options: { prefix: string; agent: Agent; unlisten: () => void }) {
    this.#prefix = options.prefix;
    this.agent = options.agent;
    this.#unlisten = options.unlisten;
  }

  static async create(): Promise<Cluster> {
    await removeStale();
    const prefix = ownedPrefix();
    const names = hosts.map((host) => prefix + host);
    const unlisten = onSignal(() => removeNamespaces(names));
    try {
      await createNamespaces(names);
      for (const host of hosts) await setSysctls(prefix + host);
      for (const host of hosts) await addLinks(prefix, host);
      return new Cluster({ prefix, unlisten, agent: Agent.start() });
    } catch (error) {
      unlisten();
      await removeNamespaces(names);
      throw error;
    }
  }

  /** The name of the host's network namespace. */
  namespace(host: Host): string {
    return this.#prefix + host;
  }

  /** The command line that runs a program inside the host's namespace. */
  inside(host: Host, argv: readonly string[]): string[] {
    return ["ip", "netns", "exec", this.namespace(host), ...argv];
  }

  /** Runs a program inside the host's namespace; throws when it fails. */
  run(host: Host, argv: readonly string[], stdin: string = ""): Promise<string> {
    return runCommand(this.inside(host, argv), stdin);
  }

  /** The same, whatever the exit code. */
  tryRun(host: Host, argv: readonly string[], stdin: string = ""): Promise<CommandResult> {
    return tryCommand(this.inside(host, argv), stdin);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
    await removeNamespaces(hosts.map((host) => this.namespace(host)));
    this.#unlisten();
  }
}

const hosts: readonly Host[] = [
  "node",
  "client-a",
  "client-b",
  "pod-a",
  "pod-b",
  "remote-node",
  "remote-pod",
  "beyond",
];

/** Rejects must not be limited to a few a second, and nobody waits for duplicate address detection. */
const sysctls: readonly string[] = [
  "ipv4/ip_forward=1",
  "ipv4/conf/all/rp_filter=0",
  "ipv4/conf/default/rp_filter=0",
  "ipv4/icmp_ratelimit=0",
  "ipv4/icmp_ratemask=0",
  "ipv4/icmp_msgs_per_sec=1000000",
  "ipv4/icmp_msgs_burst=1000000",
  "ipv6/icmp/ratelimit=0",
  "ipv6/conf/all/forwarding=1",
  "ipv6/conf/default/forwarding=1",
  "ipv6/conf/all/accept_dad=0",
  "ipv6/conf/default/accept_dad=0",
];

/** Before any link is there: most settings hold for links that are made later. */
async function setSysctls(namespace: string): Promise<void> {
  const script = sysctls.map((line) => {
    const [name, value] = line.split("=");
    // The two global ICMP limits became settings of a namespace in Linux 6.11 only.
    const path = `/proc/sys/net/${name}`;
    return `[ ! -w ${path} ] || echo ${value} > ${path}`;
  });
  await runCommand(["ip", "netns", "exec", namespace, "sh", "-ec", script.join("\n")]);
}

/** The other end of a pair is made by the host that comes first in `hosts`. */
async function addLinks(prefix: string, host: Host): Promise<void> {
  const lines = linkCommands(prefix, host).join("\n");
  await runCommand(["ip", "-n", prefix + host, "-batch", "-"], `${lines}\n`);
}

function linkCommands(prefix: string, host: Host): string[] {
  if (host === "node") return nodeLinks(prefix);
  if (host === "remote-node") return [...leafLinks(host), ...remoteNodeLinks(prefix)];
  if (host === "client-b") return [...leafLinks(host), ...crowd()];
  return leafLinks(host);
}

function nodeLinks(prefix: string): string[] {
  const lines = ["link set lo up"];
  for (const [peer, addresses] of Object.entries(linkGateways)) {
    if (peer === "remote-pod") continue;
    lines.push(`link add ${peer} type veth peer name eth0 netns ${prefix}${peer}`);
    lines.push(`link set ${peer} up`);
    for (const family of ipFamilies) {
      lines.push(`addr add ${addresses[family]}/${full(family)} dev ${peer} ${nodad(family)}`);
      const to = hostAddresses[asHost(peer)][family];
      lines.push(`route add ${to}/${full(family)} dev ${peer} src ${addresses[family]}`);
    }
  }
  for (const family of ipFamilies) {
    const [own, remote] = [hostAddresses.node[family], hostAddresses["remote-node"][family]];
    const pod = hostAddresses["remote-pod"][family];
    lines.push(`route add ${pod}/${full(family)} via ${remote} dev remote-node src ${own}`);
    lines.push(`route add default via ${hostAddresses.beyond[family]} dev beyond src ${own}`);
    lines.push(...crowdAddresses[family].map((to) => `route add ${to} dev client-b`));
  }
  return lines;
}

/** A host with one link, its default route through the other end. */
function leafLinks(host: Host): string[] {
  const lines = ["link set lo up", "link set eth0 up"];
  for (const family of ipFamilies) {
    const own = hostAddresses[host][family];
    const gateway = linkGateways[host][family];
    lines.push(`addr add ${own}/${full(family)} dev eth0 ${nodad(family)}`);
    lines.push(`route add ${gateway}/${full(family)} dev eth0 src ${own}`);
    lines.push(`route add default via ${gateway} dev eth0 src ${own}`);
  }
  return lines;
}

function remoteNodeLinks(prefix: string): string[] {
  const lines = [`link add pod type veth peer name eth0 netns ${prefix}remote-pod`];
  lines.push("link set pod up");
  for (const family of ipFamilies) {
    const gateway = linkGateways["remote-pod"][family];
    const pod = hostAddresses["remote-pod"][family];
    lines.push(`addr add ${gateway}/${full(family)} dev pod ${nodad(family)}`);
    lines.push(`route add ${pod}/${full(family)} dev pod src ${gateway}`);
  }
  return lines;
}

function crowd(): string[] {
  return ipFamilies.flatMap((family) =>
    crowdAddresses[family].map((own) => `addr add ${own}/${full(family)} dev eth0 ${nodad(family)}`)
  );
}

function asHost(name: string): Host {
  const host = hosts.find((each) => each === name);
  if (host === undefined) throw new RangeError(`Cannot link "${name}": no such host`);
  return host;
}

function full(family: IpFamily): number {
  return family === "IPv4" ? 32 : 128;
}

function nodad(family: IpFamily): string {
  return family === "IPv4" ? "" : "nodad";
}

function onSignal(cleanUp: () => Promise<void>): () => void {
  const signals: readonly Deno.Signal[] = ["SIGINT", "SIGTERM"];
  const listener = () => void cleanUp().finally(() => Deno.exit(130));
  for (const signal of signals) Deno.addSignalListener(signal, listener);
  return () => signals.forEach((signal) => Deno.removeSignalListener(signal, listener));
}
