/** Facts of a node and its cluster in few words. */
import { internalDefaults, type ProxyConfiguration } from "../../../../lib/config/internal.ts";
import type { Fact } from "../../../../lib/doctor/fact.ts";
import type { Workload } from "../../../../lib/doctor/facts/cluster_values.ts";
import type { FactValues } from "../../../../lib/doctor/facts/fact_values.ts";
import type {
  FirewallChain,
  FirewallExpression,
  FirewallHook,
  FirewallRule,
  FirewallTable,
} from "../../../../lib/kernel/firewall/firewall.ts";
import type { Service, ServicePort } from "../../../../lib/kube/objects.ts";
import type { RoutingRule } from "../../../../lib/kernel/links/links.ts";
import { known } from "../facts_in_memory.ts";

/** It is not there. */
export const absent = { kind: "absent", because: "it is not there" } as const;

/** A kernel. */
export function kernel(release: string): Fact<FactValues["kernel"]> {
  const [major, minor] = release.split(".").map(Number);
  return known({ release, major, minor });
}

/** Modules by what is known of them. */
export function modules(
  lists: Partial<Record<"loaded" | "builtIn" | "available", readonly string[]>>,
): Fact<FactValues["modules"]> {
  const set = (names: readonly string[] | undefined) => names && new Set(names);
  return known({
    release: "6.1.0",
    loaded: set(lists.loaded) ?? new Set(),
    builtIn: set(lists.builtIn),
    available: set(lists.available),
    options: undefined,
  });
}

/** Settings by their path. */
export function settings(
  values: Readonly<Record<string, string>>,
): Fact<FactValues["settings"]> {
  return known(new Map(Object.entries(values)));
}

/** What files set: the value, and the file. */
export function settingFiles(
  values: Readonly<Record<string, string>> = {},
): Fact<FactValues["settingFiles"]> {
  return known(
    new Map(
      Object.entries(values).map(([name, value]) =>
        [name, { value, file: "/etc/sysctl.d/9.conf" }] as const
      ),
    ),
  );
}

/** Interfaces by their addresses: `{ eth0: ["192.168.1.1/24"] }`. */
export function network(
  links: Readonly<Record<string, readonly string[]>> = { eth0: ["192.168.1.1/24"] },
  routes: FactValues["network"]["routes"] = [],
  routingRules: FactValues["network"]["routingRules"] = [],
): Fact<FactValues["network"]> {
  const names = Object.keys(links);
  return known({
    links: names.map((name, at) => ({ index: at + 1, name, kind: "", up: true })),
    addresses: Object.entries(links).flatMap(([linkName, addresses], at) =>
      addresses.map((address) => {
        const [ip, length] = address.split("/");
        const family = ip.includes(":") ? "IPv6" as const : "IPv4" as const;
        const scope = linkName === "lo" ? "host" as const : "global" as const;
        const prefixLength = Number(length ?? 32);
        return { family, ip, prefixLength, scope, linkIndex: at + 1, linkName };
      })
    ),
    routes,
    routingRules,
  });
}

/** A line of `ip rule`, for all packets unless something is said. */
export function routingRule(priority: number, rest: Partial<RoutingRule> = {}): RoutingRule {
  return {
    family: "IPv4",
    priority,
    from: undefined,
    to: undefined,
    inInterface: "",
    outInterface: "",
    table: 254,
    ...rest,
  };
}

/** A Service. */
export function service(rest: Partial<Service> & { readonly nodePort?: number } = {}): Service {
  const { nodePort = 0, ...fields } = rest;
  const port: ServicePort = { name: "http", protocol: "TCP", port: 80, nodePort };
  return {
    namespace: "shop",
    name: "web",
    resourceVersion: "1",
    createdMs: 0,
    type: "ClusterIP",
    clusterIP: "172.30.0.10",
    clusterIPs: ["172.30.0.10"],
    ipFamilies: ["IPv4"],
    externalIPs: [],
    ports: [port],
    affinitySeconds: 0,
    externalTrafficPolicy: "Cluster",
    internalTrafficPolicy: "Cluster",
    loadBalancerSourceRanges: [],
    ingress: [],
    healthCheckNodePort: 0,
    otherProxy: false,
    ...fields,
  };
}

/** A cluster with these Services, seen from the node 192.168.1.1. */
export function objects(
  services: readonly Service[],
  rest: Partial<FactValues["objects"]> = {},
): Fact<FactValues["objects"]> {
  return known({
    services,
    endpointSlices: [],
    node: {
      namespace: "",
      name: "node-a",
      resourceVersion: "1",
      addresses: [{ type: "InternalIP", address: "192.168.1.1" }],
      podCIDRs: [],
      zone: "",
      taintKeys: [],
      deleting: false,
    },
    serviceCIDRs: [],
    ...rest,
  });
}

/** A configuration with these values. */
export function configuration(
  rest: Partial<ProxyConfiguration> = {},
  problems: readonly string[] = [],
): Fact<FactValues["configuration"]> {
  return known({
    where: "/etc/proxy.yaml",
    problems,
    configuration: { ...internalDefaults(), ...rest },
  });
}

/** A workload of the cluster. */
export function workload(
  name: string,
  rest: Partial<Workload> = {},
): Workload {
  return {
    kind: "DaemonSet",
    namespace: "kube-system",
    name,
    images: [],
    words: [],
    env: new Map(),
    ...rest,
  };
}

/** Software of the cluster. */
export function software(
  workloads: readonly Workload[],
  values: Partial<Record<string, string>> = {},
): Fact<FactValues["software"]> {
  const known = new Map(Object.entries(values));
  return {
    kind: "value",
    value: { workloads, settings: known as unknown as FactValues["software"]["settings"] },
  };
}

/** Processes by their command lines, of which the first are proxies. */
export function processes(
  proxies: readonly string[],
  others: readonly string[] = [],
  pageHolders: FactValues["processes"]["pageHolders"] = [],
): Fact<FactValues["processes"]> {
  const toProcess = (line: string, at: number) => ({ pid: at + 1, argv: line.split(" ") });
  const all = [...proxies, ...others].map(toProcess);
  return known({ here: all, proxies: all.slice(0, proxies.length), pageHolders });
}

/** Sockets: `tcp 10.0.0.1:80`, with whom they talk to behind an arrow. */
export function sockets(...lines: readonly string[]): Fact<FactValues["sockets"]> {
  return known(lines.map((line) => {
    const [, protocol, here, there] = /^(\w+) (\S+)(?: > (\S+))?$/.exec(line) ?? [];
    const place = (text: string) => {
      const at = text.lastIndexOf(":");
      return { address: text.slice(0, at), port: Number(text.slice(at + 1)) };
    };
    const peer = place(there ?? "0.0.0.0:0");
    return {
      protocol: protocol === "udp" ? "udp" as const : "tcp" as const,
      ...place(here),
      peer: peer.address,
      peerPort: peer.port,
      isListening: there === undefined,
      inode: "1",
    };
  }));
}

/** A rule. */
export function rule(...expressions: readonly FirewallExpression[]): FirewallRule {
  return { place: "handle 4", comment: undefined, expressions };
}

/** The verdict of a name, or a jump to a chain of that name. */
export function verdict(name: string): FirewallExpression {
  switch (name) {
    case "accept":
    case "drop":
    case "return":
    case "continue":
      return { kind: "verdict", verdict: { kind: name } };
    default:
      return { kind: "verdict", verdict: { kind: "jump", chain: name } };
  }
}

/** Steps that ask for a destination port. */
export function toPort(port: number): readonly FirewallExpression[] {
  return [
    { kind: "payload", base: "transport", offset: 2, length: 2, into: 1 },
    { kind: "cmp", from: 1, op: 0, value: Uint8Array.of(port >> 8, port & 0xff) },
  ];
}

/** A chain that the kernel calls, or one that it does not. */
export function chain(
  name: string,
  rules?: readonly FirewallRule[],
  base?: Partial<FirewallHook>,
): FirewallChain {
  return {
    name,
    rules: rules ?? [],
    base: base && { type: "filter", hook: "input", priority: 0, policy: "accept", ...base },
  };
}

/** A table of nf_tables. */
export function nftTable(
  place: string,
  chains: readonly FirewallChain[],
  rest: Partial<FirewallTable> = {},
): FirewallTable {
  const [family, name] = place.split(" ");
  if (family !== "ip" && family !== "ip6" && family !== "inet") throw new TypeError(place);
  return { engine: "nft", family, name, isDormant: false, isOwned: false, chains, ...rest };
}

/** The rules of everybody. */
export function firewall(...tables: readonly FirewallTable[]): Fact<FactValues["firewall"]> {
  return known(tables);
}
