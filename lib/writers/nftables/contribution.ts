/**
 * What one service port puts into the table: its elements and, with session affinity, its chains.
 * Pure, and the only place where a service port's fate becomes elements. No two service ports have an
 * element in common but in the shared sets.
 */
import type { NftElement, NftRule, NftVerdict } from "../../kernel/nftables/operations.ts";
import type { Endpoint, FamilySettings, ServicePort } from "../../snapshot/snapshot.ts";
import { listOf } from "../../base/list_of.ts";
import {
  affinityChainName,
  type ChainName,
  type EndpointMap,
  endpointNames,
  type PickChain,
  pickChain,
  servicePortComment,
} from "./names.ts";
import { affinityRules, endpointRules } from "./rules/affinity.ts";
import { firewallChains } from "./rules/firewall.ts";
import { gotoChain } from "./rules/statements.ts";
import { allowSets, type SetName } from "./sets.ts";
import { affinitySetName, shardName, shardOf } from "./shards.ts";
import { allowElements, hasSourceRanges } from "./source_ranges.ts";

/** A part of the table that comes and goes as a whole. */
export interface Contribution {
  /** All but those of the lists. */
  readonly elements: ReadonlyMap<SetName, readonly NftElement[]>;
  readonly lists: readonly EndpointList[];
  /** The shared chains that its elements lead to, by name. */
  readonly picks: ReadonlyMap<string, PickChain>;
  /** Chains that only this one has, with their rules. */
  readonly chains: ReadonlyMap<string, readonly NftRule[]>;
  /** Sets that are there while somebody needs them, by name. */
  readonly sets: ReadonlySet<string>;
  /** Endpoints with session affinity, by number: the sets that remember their clients. */
  readonly clients: ReadonlyMap<number, string>;
}

/**
 * The endpoints of one frontend: an element for each, which has its place as the last part of its
 * key. Elements are made only of those that are written or compared: a cluster may have millions.
 */
export interface EndpointList {
  readonly set: SetName;
  /** The frontend. */
  readonly key: NftElement["key"];
  readonly endpoints: readonly Endpoint[];
}

/** Nothing at all. */
export const emptyContribution: Contribution = {
  elements: new Map(),
  lists: [],
  picks: new Map(),
  chains: new Map(),
  sets: new Set(),
  clients: new Map(),
};

/** What the settings of the family put into the table. */
export function contributionOfSettings(settings: FamilySettings): Contribution {
  const { nodePortAddresses } = settings;
  if (nodePortAddresses.kind === "all") return emptyContribution;
  const addresses = nodePortAddresses.addresses.map((address): NftElement => ({ key: [address] }));
  return { ...emptyContribution, elements: new Map([["nodeport-ips", addresses]]) };
}

/** What the service port puts into the table; beside leftovers of another mode a little more. */
export function contributionOf(servicePort: ServicePort, leftovers: boolean): Contribution {
  return new Contributor(servicePort, leftovers).contribute();
}

/** Where a frontend is looked up: an address of the Service, or its node port on any address. */
interface Frontend {
  readonly key: readonly (string | number)[];
  readonly dispatch: SetName;
  readonly noEndpoints: SetName;
  readonly clusterEndpoints: EndpointMap;
  readonly localEndpoints: EndpointMap;
  readonly clusterPicks: SetName;
  readonly localPicks: SetName;
  readonly clusterPolicy: ChainName;
  readonly localPolicy: ChainName;
}

const addressFrontend = {
  dispatch: "service-ips",
  noEndpoints: "no-endpoint-services",
  clusterEndpoints: "endpoints",
  localEndpoints: "local-endpoints",
  clusterPicks: "cluster-picks",
  localPicks: "local-picks",
  clusterPolicy: "external-cluster",
  localPolicy: "external-local",
} as const satisfies Omit<Frontend, "key">;

const nodePortFrontend = {
  dispatch: "service-nodeports",
  noEndpoints: "no-endpoint-nodeports",
  clusterEndpoints: "nodeport-endpoints",
  localEndpoints: "nodeport-local-endpoints",
  clusterPicks: "nodeport-cluster-picks",
  localPicks: "nodeport-local-picks",
  clusterPolicy: "nodeport-cluster",
  localPolicy: "nodeport-local",
} as const satisfies Omit<Frontend, "key">;

class Contributor {
  readonly #servicePort: ServicePort;
  readonly #leftovers: boolean;
  readonly #protocol: string;
  readonly #elements = new Map<SetName, NftElement[]>();
  readonly #lists: EndpointList[] = [];
  readonly #picks = new Map<string, PickChain>();
  readonly #chains = new Map<string, readonly NftRule[]>();
  readonly #sets = new Set<string>();
  readonly #clients = new Map<number, string>();

  constructor(servicePort: ServicePort, leftovers: boolean) {
    this.#servicePort = servicePort;
    this.#leftovers = leftovers;
    this.#protocol = servicePort.protocol.toLowerCase();
  }

  contribute(): Contribution {
    const { clusterIP, externalIPs, loadBalancerVIPs, nodePort } = this.#servicePort;
    if (clusterIP !== "") this.#clusterIP(clusterIP);
    const addresses = new Set([...externalIPs, ...loadBalancerVIPs]);
    addresses.delete(clusterIP);
    for (const address of addresses) this.#external(this.#atAddress(address));
    if (nodePort !== 0) {
      this.#external({ key: [this.#protocol, nodePort], ...nodePortFrontend });
    }
    this.#firewall();
    this.#hairpin();
    return {
      elements: this.#elements,
      lists: this.#lists,
      picks: unlessEmpty(this.#picks, emptyContribution.picks),
      chains: unlessEmpty(this.#chains, emptyContribution.chains),
      sets: unlessEmpty(this.#sets, emptyContribution.sets),
      clients: unlessEmpty(this.#clients, emptyContribution.clients),
    };
  }

  #clusterIP(clusterIP: string): void {
    const frontend = this.#atAddress(clusterIP);
    this.#add("cluster-ips", [clusterIP]);
    if (this.#servicePort.internal !== "forward") {
      return this.#unserved(frontend, this.#servicePort.internal);
    }
    // A cluster IP has one list of endpoints. It is in the map `endpoints`, also where a Local policy
    // makes it the list of this node's endpoints.
    const verdict = this.#servicePort.internalPolicyLocal
      ? this.#choice(frontend.key, "local", "endpoints")
      : this.#choice(frontend.key, "cluster", "endpoints");
    if (verdict) this.#add("service-ips", frontend.key, verdict);
  }

  #external(frontend: Frontend): void {
    const { external, externalPolicyLocal, hasEndpoints } = this.#servicePort;
    if (!hasEndpoints) return this.#unserved(frontend, external);
    const { key } = frontend;
    const cluster = this.#choice(key, "cluster", frontend.clusterEndpoints);
    if (cluster) this.#add(frontend.clusterPicks, key, cluster);
    if (externalPolicyLocal && external === "forward") {
      const local = this.#choice(key, "local", frontend.localEndpoints);
      if (local) this.#add(frontend.localPicks, key, local);
    }
    const policy = externalPolicyLocal ? frontend.localPolicy : frontend.clusterPolicy;
    this.#add(frontend.dispatch, key, gotoChain(policy));
    if (external !== "forward") this.#refuse(frontend, external);
  }

  /** Nobody is reachable. The cluster IP needs no element beside leftovers: a rule covers them all. */
  #unserved(frontend: Frontend, fate: "forward" | "reject" | "drop"): void {
    if (fate === "forward") return;
    this.#refuse(frontend, fate);
    const isClusterIP = frontend.key[0] === this.#servicePort.clusterIP;
    if (this.#leftovers && !isClusterIP) {
      this.#add(frontend.dispatch, frontend.key, gotoChain("keep-destination"));
    }
  }

  #refuse(frontend: Frontend, fate: "reject" | "drop"): void {
    const verdict: NftVerdict = fate === "reject" ? gotoChain("reject-chain") : { kind: "drop" };
    listOf(this.#elements, frontend.noEndpoints).push({
      key: frontend.key,
      value: verdict,
      comment: servicePortComment(this.#servicePort),
    });
  }

  /** Lists the endpoints for the frontend and says where one of them is chosen. */
  #choice(
    key: readonly (string | number)[],
    kind: "cluster" | "local",
    map: EndpointMap,
  ): NftVerdict | undefined {
    const { affinitySeconds, clusterEndpoints, localEndpoints } = this.#servicePort;
    const endpoints = kind === "cluster" ? clusterEndpoints : localEndpoints;
    if (endpoints.length === 0) return undefined;
    if (affinitySeconds > 0) return gotoChain(this.#affinityChain(kind, endpoints));
    const shard = shardOf(this.#servicePort.key, endpoints.length);
    const set = shardName(map, shard);
    this.#lists.push({ set, key, endpoints });
    if (shard > 0) this.#sets.add(set);
    const pick = pickChain(map, { count: endpoints.length, shard });
    this.#picks.set(pick.name, pick);
    return gotoChain(pick.name);
  }

  #affinityChain(kind: "cluster" | "local", endpoints: readonly Endpoint[]): string {
    const chain = affinityChainName(this.#servicePort, kind);
    if (this.#chains.has(chain)) return chain;
    for (const endpoint of endpoints) {
      const names = endpointNames(this.#servicePort, endpoint);
      if (this.#chains.has(names.chain)) continue;
      this.#chains.set(names.chain, endpointRules(this.#servicePort, endpoint));
      const set = affinitySetName(names.number);
      this.#sets.add(set);
      this.#clients.set(names.number, set);
    }
    this.#chains.set(chain, affinityRules(chain, this.#servicePort, endpoints));
    return chain;
  }

  #firewall(): void {
    const { loadBalancerVIPs, port, protocol } = this.#servicePort;
    if (!hasSourceRanges(this.#servicePort)) return;
    this.#elements.set(allowSets[protocol], [...allowElements(this.#servicePort)]);
    for (const vip of new Set(loadBalancerVIPs)) {
      const key = [vip, this.#protocol, port];
      this.#add("firewall-ips", key, gotoChain(firewallChains[protocol]));
    }
  }

  #hairpin(): void {
    for (const { ip, isLocal, port } of this.#servicePort.reachableEndpoints) {
      if (isLocal) this.#add("hairpin-connections", [ip, ip, this.#protocol, port]);
    }
  }

  #atAddress(address: string): Frontend {
    return { key: [address, this.#protocol, this.#servicePort.port], ...addressFrontend };
  }

  #add(set: SetName, key: readonly (string | number)[], value?: NftVerdict): void {
    listOf(this.#elements, set).push(value ? { key, value } : { key });
  }
}

/** Most have nothing in most of these. */
function unlessEmpty<T extends { readonly size: number }>(collection: T, empty: T): T {
  return collection.size === 0 ? empty : collection;
}

/** The element of the endpoint in that place. */
export function elementAt({ endpoints, key }: EndpointList, place: number): NftElement {
  const { ip, port } = endpoints[place];
  return { key: withIndex(key, place), value: [ip, port] };
}

/** The elements of the list. */
export function* elementsOfList(list: EndpointList): Generator<NftElement> {
  for (let place = 0; place < list.endpoints.length; place++) yield elementAt(list, place);
}

/** Written out, not spread: this runs for every endpoint of the cluster at start. */
function withIndex(key: NftElement["key"], index: number): NftElement["key"] {
  return key.length === 2 ? [key[0], key[1], index] : [key[0], key[1], key[2], index];
}
