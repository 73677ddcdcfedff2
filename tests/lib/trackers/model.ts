/**
 * The semantics of a proxy once more, written for the tests alone: it keeps the objects, and computes
 * everything from nothing each time it is asked, with strings, sets and filters. It shares no code
 * with what it judges; only the types are the same.
 */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { EndpointSlice, Service, SliceEndpoint } from "../../../lib/kube/objects.ts";
import type { Endpoint, ServicePort } from "../../../lib/snapshot/snapshot.ts";

export interface ModelNode {
  readonly name: string;
  readonly zone: string;
  /** Prefix of the node's address that source ranges are compared by, in the spelling of `addresses`. */
  readonly ip: string;
}

/** What the generator can say: how each spelling is spelled right, and which range holds what. */
export interface Vocabulary {
  readonly canonical: ReadonlyMap<string, string>;
  readonly ranges: ReadonlyMap<
    string,
    { readonly text: string; readonly holds: readonly string[] }
  >;
}

export interface World {
  readonly services: ReadonlyMap<string, Service>;
  readonly slices: ReadonlyMap<string, EndpointSlice>;
}

export interface ModelAnswer {
  readonly ports: ReadonlyMap<string, ServicePort>;
  /** `namespace/name port localEndpoints`. */
  readonly healthChecks: readonly string[];
}

interface Wish {
  readonly service: Service;
  readonly index: number;
  readonly key: string;
  readonly clusterIP: string;
  readonly externalIPs: readonly string[];
  readonly vips: readonly string[];
}

/** Computes the whole state of a family. */
export function computeModel(
  world: World,
  { family, node, words }: {
    readonly family: IpFamily;
    readonly node: ModelNode;
    readonly words: Vocabulary;
  },
): ModelAnswer {
  const wishes = wishesOf(world, family, words);
  const owners = ownersOf(wishes);
  const ports = new Map<string, ServicePort>();
  const healthChecks: string[] = [];
  for (const wish of wishes) {
    ports.set(wish.key, decide(wish, { world, family, node, words, owners }));
  }
  for (const service of new Set(wishes.map((wish) => wish.service))) {
    if (service.type !== "LoadBalancer" || service.externalTrafficPolicy !== "Local") continue;
    if (service.healthCheckNodePort === 0) continue;
    const ips = new Set<string>();
    for (const name of ["http", "dns", ""]) {
      for (const protocol of ["TCP", "UDP"]) {
        for (
          const [identity, found] of endpointsOf(world, { service, name, protocol, family, words })
        ) {
          if (found.state.ready && found.state.nodeName === node.name && identity) {
            ips.add(found.ip);
          }
        }
      }
    }
    healthChecks.push(
      `${service.namespace}/${service.name} ${service.healthCheckNodePort} ${ips.size}`,
    );
  }
  return { ports, healthChecks: healthChecks.sort() };
}

function familyOf(address: string): IpFamily {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function wishesOf(world: World, family: IpFamily, words: Vocabulary): Wish[] {
  const wishes: Wish[] = [];
  for (const service of world.services.values()) {
    if (service.otherProxy || service.type === "ExternalName") continue;
    if (["", "None"].includes(service.clusterIP)) continue;
    const address = service.clusterIPs[service.ipFamilies.indexOf(family)];
    if (address === undefined) continue;
    const ofFamily = (texts: readonly string[]) =>
      texts.map((text) => words.canonical.get(text) ?? "").filter((ip) =>
        ip !== "" && familyOf(ip) === family
      );
    service.ports.forEach((port, index) => {
      const label = port.name ? `:${port.name}` : "";
      wishes.push({
        service,
        index,
        key: `${service.namespace}/${service.name}${label}/${port.protocol}`,
        clusterIP: words.canonical.get(address) ?? "",
        externalIPs: ofFamily(service.externalIPs),
        vips: ofFamily(service.ingress.filter((i) => i.ipMode === "VIP").map((i) => i.ip)),
      });
    });
  }
  return wishes;
}

function ownersOf(wishes: readonly Wish[]): ReadonlyMap<string, string> {
  const age = ({ service }: Wish) => String(service.createdMs).padStart(20, "0");
  const rank = (wish: Wish) =>
    [age(wish), wish.service.namespace, wish.service.name, wish.key].join("\0");
  const owners = new Map<string, string>();
  for (const wish of [...wishes].sort((a, b) => rank(a) < rank(b) ? -1 : 1)) {
    const { port, protocol, nodePort } = wish.service.ports[wish.index];
    const frontends = [wish.clusterIP, ...wish.externalIPs, ...wish.vips].map((ip) =>
      `${ip} ${port} ${protocol}`
    );
    if (nodePort) frontends.push(`node ${nodePort} ${protocol}`);
    for (const frontend of frontends) {
      if (!owners.has(frontend)) owners.set(frontend, wish.key);
    }
  }
  return owners;
}

interface Found {
  readonly ip: string;
  readonly port: number;
  readonly state: SliceEndpoint;
}

/** By identity. Slices in the order of their names; who does not terminate replaces. */
function endpointsOf(
  world: World,
  query: {
    readonly service: Service;
    readonly name: string;
    readonly protocol: string;
    readonly family: IpFamily;
    readonly words: Vocabulary;
  },
): Map<string, Found> {
  const found = new Map<string, Found>();
  const slices = [...world.slices.values()].filter((slice) =>
    slice.namespace === query.service.namespace && slice.serviceName === query.service.name &&
    slice.addressType === query.family && !slice.otherProxy
  ).sort((a, b) => a.name < b.name ? -1 : 1);
  for (const slice of slices) {
    for (const port of slice.ports) {
      if (port.name !== query.name || port.protocol !== query.protocol) continue;
      if (port.port < 1 || port.port > 65535) continue;
      for (const state of slice.endpoints) {
        const ip = query.words.canonical.get(state.address);
        if (ip === undefined || familyOf(ip) !== query.family) continue;
        const identity = ip.includes(":") ? `[${ip}]:${port.port}` : `${ip}:${port.port}`;
        if (!found.has(identity) || !state.terminating) {
          found.set(identity, { ip, port: port.port, state });
        }
      }
    }
  }
  return found;
}

function decide(
  wish: Wish,
  { world, family, node, words, owners }: {
    readonly world: World;
    readonly family: IpFamily;
    readonly node: ModelNode;
    readonly words: Vocabulary;
    readonly owners: ReadonlyMap<string, string>;
  },
): ServicePort {
  const { service, key } = wish;
  const { name, protocol, port, nodePort } = service.ports[wish.index];
  const all = endpointsOf(world, { service, name, protocol, family, words });
  const entries = [...all.entries()].sort(([a], [b]) => a < b ? -1 : 1).map(([id, found]) => ({
    id,
    found,
    local: found.state.nodeName === node.name,
    ready: found.state.ready,
    fading: found.state.serving && found.state.terminating,
  }));
  const ready = entries.filter((entry) => entry.ready);
  const fading = entries.filter((entry) => entry.fading);
  const hinted = (hints: (state: SliceEndpoint) => readonly string[], here: string) => {
    const everyone = ready.every(({ found }) => hints(found.state).length > 0);
    const near = ready.filter(({ found }) => hints(found.state).includes(here));
    return everyone && near.length > 0 ? near : undefined;
  };
  const near = hinted((state) => state.nodeHints, node.name) ??
    hinted((state) => state.zoneHints, node.zone) ?? ready;
  const accessible = nodePort !== 0 || wish.vips.length > 0 || wish.externalIPs.length > 0;
  const internalLocal = service.internalTrafficPolicy === "Local";
  const externalLocal = service.externalTrafficPolicy === "Local" &&
    (service.type !== "ClusterIP" || service.externalIPs.length > 0);
  const cluster = internalLocal && !accessible ? [] : ready.length > 0 ? near : fading;
  const usesLocal = internalLocal || (externalLocal && accessible);
  const readyHere = ready.filter((entry) => entry.local);
  const localChoice = readyHere.length > 0 ? readyHere : fading.filter((entry) => entry.local);
  const local = usesLocal ? localChoice : [];
  const someone = ready.length + fading.length > 0;
  const fate = (policyLocal: boolean) =>
    !someone ? "reject" : policyLocal && local.length === 0 ? "drop" : "forward";
  const plain = (list: typeof entries): Endpoint[] =>
    list.map(({ found, local: isLocal }) => ({ ip: found.ip, port: found.port, isLocal }));
  const mine = (ip: string) => owners.get(`${ip} ${port} ${protocol}`) === key;
  const ranges = service.loadBalancerSourceRanges.flatMap((text) => {
    const range = words.ranges.get(text);
    return range && familyOf(range.text) === family ? [range] : [];
  });
  const open = ranges.some((range) => range.text.endsWith("/0"));
  return {
    key,
    namespace: service.namespace,
    name: service.name,
    portName: name,
    protocol,
    clusterIP: mine(wish.clusterIP) ? wish.clusterIP : "",
    port,
    externalIPs: wish.externalIPs.filter(mine),
    loadBalancerVIPs: wish.vips.filter(mine),
    nodePort: owners.get(`node ${nodePort} ${protocol}`) === key ? nodePort : 0,
    sourceRanges: open ? [] : ranges.map((range) => range.text),
    sourceRangesHoldNode: !open && ranges.some((range) => range.holds.includes(node.ip)),
    affinitySeconds: service.affinitySeconds,
    internalPolicyLocal: internalLocal,
    externalPolicyLocal: externalLocal,
    externallyAccessible: accessible,
    internal: fate(internalLocal),
    external: fate(externalLocal),
    hasEndpoints: someone,
    clusterEndpoints: plain(cluster),
    localEndpoints: plain(local),
    reachableEndpoints: plain(entries.filter((e) => cluster.includes(e) || local.includes(e))),
    nodeEndpoints: plain(entries.filter((e) => e.local)),
    endpointCount: entries.length,
    servingEndpoints: protocol === "UDP" ? plain(entries.filter((e) => e.found.state.serving)) : [],
    healthCheckNodePort: service.type === "LoadBalancer" && externalLocal
      ? service.healthCheckNodePort
      : 0,
  };
}
