/**
 * Which UDP flows are stale. A flow keeps the endpoint that its first packet was given for as long as
 * packets come, so one whose endpoint no longer serves has to be ended by hand. Pure.
 *
 * Frontends are kept by address so that the judgement of a flow costs two lookups, and are updated by
 * the service ports that changed. Only changed service ports are judged: the frontends and serving
 * endpoints of any other are those of its last reconciliation, and rules that did not change since
 * cannot have led a flow elsewhere. (Upstream judges all UDP Services each time. The one thing this
 * leaves alone: flows to endpoints that are published without being ready, which upstream ends again
 * and again whenever any UDP Service changes.)
 */
import { joinHostPort } from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import { protocolNumbers } from "../base/protocol.ts";
import type { Flow, FlowFilter } from "../kernel/conntrack/conntrack.ts";
import type { ServicePort, ServicePortKey } from "../snapshot/snapshot.ts";

/** Reading the whole table once is cheaper than reading it filtered more often than this. */
const MOST_FILTERS = 8;

/** What has to be looked at, and how to tell a stale flow. */
export interface FlowReview {
  /** Together they select every flow that can be stale; a flow may be selected twice. */
  readonly filters: readonly FlowFilter[];
  readonly isStale: (flow: Flow) => boolean;
}

/** The UDP frontends of one family. */
export class UdpFrontends {
  readonly #family: IpFamily;
  readonly #ports = new Map<ServicePortKey, ServicePort>();
  readonly #byAddress = new Map<string, ServicePortKey>();
  readonly #byNodePort = new Map<number, ServicePortKey>();

  constructor(family: IpFamily) {
    this.#family = family;
  }

  /** Takes the service ports of these keys as they are now; a key that is not in the map is gone. */
  update(
    keys: Iterable<ServicePortKey>,
    udpPorts: ReadonlyMap<ServicePortKey, ServicePort>,
  ): void {
    const added = this.#removeChanged(keys, udpPorts);
    // After all removals: a frontend may have gone from one service port to another.
    if (added.length > 0) this.#addAll(added);
  }

  /** How to find the stale flows of these service ports. */
  review(keys: Iterable<ServicePortKey>): FlowReview {
    const serving = new Map<ServicePortKey, ReadonlySet<string>>();
    const filters: FlowFilter[] = [];
    for (const key of keys) {
      const port = this.#ports.get(key);
      if (!port) continue;
      const endpoints = new Set(
        port.servingEndpoints.map(({ ip, port }) => joinHostPort(ip, port)),
      );
      serving.set(key, endpoints);
      filters.push(...this.#filters(port));
    }
    const udp = { family: this.#family, protocol: protocolNumbers.UDP };
    return {
      filters: filters.length > MOST_FILTERS ? [udp] : filters,
      isStale: (flow) => this.#isStale(flow, serving),
    };
  }

  #isStale(flow: Flow, serving: ReadonlyMap<ServicePortKey, ReadonlySet<string>>): boolean {
    if (flow.protocol !== protocolNumbers.UDP) return false;
    const { destination, destinationPort } = flow.original;
    const endpoint = joinHostPort(flow.reply.source, flow.reply.sourcePort);
    // An address that belongs to a Service decides alone, even if its port is also a node port.
    const owner = this.#byAddress.get(joinHostPort(destination, destinationPort));
    if (owner !== undefined) return serving.get(owner)?.has(endpoint) === false;
    const nodePortOwner = this.#byNodePort.get(destinationPort);
    if (nodePortOwner === undefined) return false;
    const endpoints = serving.get(nodePortOwner);
    return endpoints !== undefined && endpoints.size > 0 && !endpoints.has(endpoint);
  }

  #filters(port: ServicePort): FlowFilter[] {
    const udp = { family: this.#family, protocol: protocolNumbers.UDP };
    const filters: FlowFilter[] = addressesOf(port).map((destination) => ({
      ...udp,
      destination,
      destinationPort: port.port,
    }));
    // A node port is known by its number alone. With no endpoint at all, every flow to that number
    // would be ended, also those that pass through the node to somebody else's server.
    if (port.nodePort !== 0 && port.servingEndpoints.length > 0) {
      filters.push({ ...udp, destinationPort: port.nodePort });
    }
    return filters;
  }

  /**
   * Takes those that changed away as they were, and returns them as they are. Nothing follows the loop: see
   * what keeps a change cheap (lib/README.md).
   */
  #removeChanged(
    keys: Iterable<ServicePortKey>,
    udpPorts: ReadonlyMap<ServicePortKey, ServicePort>,
  ): readonly ServicePort[] {
    const added: ServicePort[] = [];
    for (const key of keys) {
      const before = this.#ports.get(key);
      const after = udpPorts.get(key);
      if (before === after) continue;
      if (before) this.#remove(before);
      if (after) added.push(after);
    }
    return added;
  }

  #addAll(ports: readonly ServicePort[]): void {
    for (const port of ports) this.#add(port);
  }

  #add(port: ServicePort): void {
    this.#ports.set(port.key, port);
    for (const ip of addressesOf(port)) this.#byAddress.set(joinHostPort(ip, port.port), port.key);
    if (port.nodePort !== 0) this.#byNodePort.set(port.nodePort, port.key);
  }

  #remove(port: ServicePort): void {
    this.#ports.delete(port.key);
    for (const ip of addressesOf(port)) {
      const address = joinHostPort(ip, port.port);
      if (this.#byAddress.get(address) === port.key) this.#byAddress.delete(address);
    }
    if (this.#byNodePort.get(port.nodePort) === port.key) this.#byNodePort.delete(port.nodePort);
  }
}

function addressesOf(port: ServicePort): readonly string[] {
  const clusterIPs = port.clusterIP === "" ? [] : [port.clusterIP];
  return [...clusterIPs, ...port.externalIPs, ...port.loadBalancerVIPs];
}
