/**
 * What one service port asks of the kernel: virtual servers with their destinations, addresses on the
 * link, members of sets, and rules for this machine itself. Every fate becomes objects here. Pure.
 */
import { type Cidr, cidrContains, joinHostPort, parseCidr, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import {
  type IpvsDestination,
  type IpvsEndpoint,
  IpvsFlag,
  type IpvsServer,
} from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { XtRule } from "../../kernel/xtables/rules.ts";
import type { Endpoint, FamilySettings, ServicePort } from "../../snapshot/snapshot.ts";
import { xtProtocolOf } from "../kube_chains/rules.ts";
import type { SetRole } from "./names.ts";
import { fromVirtualServer } from "./rules/matches.ts";

/** What objects depend on besides the service port they are for. */
export interface IpvsContext {
  readonly family: IpFamily;
  readonly settings: FamilySettings;
  /** The bit of the packet mark that asks for masquerading. */
  readonly mark: number;
  /** How connections are spread, as the kernel calls it. */
  readonly scheduler: string;
  /** Addresses of this machine at which node ports answer, sorted. */
  readonly nodePortAddresses: readonly string[];
  /** Addresses that other links have: external addresses among them answer there already. */
  readonly otherLinksHave: ReadonlySet<string>;
}

/** A virtual server with its destinations, by their address and port. */
export interface WantedServer {
  readonly server: IpvsServer;
  readonly destinations: ReadonlyMap<string, IpvsDestination>;
}

/** One member of one set. */
export interface SetMember {
  readonly role: SetRole;
  readonly member: string;
}

/** All that a service port asks for. */
export interface Contribution {
  /** By their text, see `frontendText`. */
  readonly servers: ReadonlyMap<string, WantedServer>;
  readonly addresses: readonly string[];
  readonly members: readonly SetMember[];
  readonly outRules: readonly XtRule[];
}

/** How a destination is named within its server. */
export function endpointKey({ address, port }: IpvsEndpoint): string {
  return joinHostPort(address, port);
}

const fe80 = parseCidr("fe80::/10");

/** The addresses at which node ports answer: never loopback, and of IPv6 no link's own where all answer. */
export function nodePortAddressesOf({ nodePortAddresses }: FamilySettings): readonly string[] {
  if (nodePortAddresses.kind === "listed") return nodePortAddresses.addresses;
  return (nodePortAddresses.addresses ?? [])
    .filter(({ ip, isLoopback }) => !isLoopback && !contains(fe80, ip))
    .map(({ ip }) => ip);
}

/** The objects of a service port. */
export function contributionOf(servicePort: ServicePort, context: IpvsContext): Contribution {
  const draft = new ContributionDraft(servicePort, context);
  draft.addClusterIP();
  draft.addExternalIPs();
  draft.addLoadBalancerVIPs();
  draft.addNodePort();
  draft.addRest();
  return draft;
}

class ContributionDraft implements Contribution {
  readonly servers = new Map<string, WantedServer>();
  readonly addresses: string[] = [];
  readonly members: SetMember[] = [];
  readonly outRules: XtRule[] = [];
  readonly #servicePort: ServicePort;
  readonly #context: IpvsContext;
  readonly #internal: ReadonlyMap<string, IpvsDestination>;
  readonly #external: ReadonlyMap<string, IpvsDestination>;

  constructor(servicePort: ServicePort, context: IpvsContext) {
    const { clusterEndpoints, externalPolicyLocal, internalPolicyLocal, localEndpoints } =
      servicePort;
    this.#servicePort = servicePort;
    this.#context = context;
    const cluster = destinationsOf(clusterEndpoints);
    // Where nobody serves here, others do: this mode has no way to drop.
    const local = localEndpoints.length > 0 ? destinationsOf(localEndpoints) : cluster;
    this.#internal = internalPolicyLocal ? local : cluster;
    this.#external = externalPolicyLocal ? local : cluster;
  }

  addClusterIP(): void {
    const { clusterIP, port } = this.#servicePort;
    if (clusterIP === "") return;
    this.#serve(clusterIP, port, this.#internal);
    this.#bind(clusterIP);
    this.#put("clusterIP", this.#at(clusterIP));
  }

  addExternalIPs(): void {
    const { externalIPs, externalPolicyLocal, port } = this.#servicePort;
    for (const ip of externalIPs) {
      this.#serve(ip, port, this.#external);
      this.#bindUnlessElsewhere(ip);
      this.#put(externalPolicyLocal ? "externalIPLocal" : "externalIP", this.#at(ip));
    }
  }

  addLoadBalancerVIPs(): void {
    const { externalPolicyLocal, loadBalancerVIPs, port, sourceRanges } = this.#servicePort;
    for (const ip of loadBalancerVIPs) {
      this.#serve(ip, port, this.#external);
      this.#bindUnlessElsewhere(ip);
      this.#put("loadBalancer", this.#at(ip));
      if (externalPolicyLocal) this.#put("loadBalancerLocal", this.#at(ip));
      if (sourceRanges.length > 0) this.#guard(ip);
    }
  }

  addNodePort(): void {
    const { externalPolicyLocal, nodePort, protocol } = this.#servicePort;
    const { nodePortAddresses } = this.#context;
    if (nodePort === 0 || nodePortAddresses.length === 0) return;
    for (const ip of nodePortAddresses) this.#serve(ip, nodePort, this.#external);
    const members = protocol === "SCTP"
      ? nodePortAddresses.map((ip) => this.#at(ip, nodePort))
      : [String(nodePort)];
    for (const member of members) {
      this.#put(`nodePort${protocol}`, member);
      if (externalPolicyLocal) this.#put(`nodePortLocal${protocol}`, member);
    }
  }

  addRest(): void {
    const { healthCheckNodePort, nodeEndpoints } = this.#servicePort;
    if (healthCheckNodePort !== 0) this.#put("healthCheckNodePort", String(healthCheckNodePort));
    for (const { ip, port } of nodeEndpoints) {
      this.#put("loopBack", `${this.#at(ip, port)},${ip}`);
    }
  }

  #guard(ip: string): void {
    const { port, protocol, sourceRanges, sourceRangesHoldNode } = this.#servicePort;
    const at = this.#at(ip);
    this.#put("loadBalancerGuarded", at);
    for (const range of sourceRanges) {
      this.#put("loadBalancerSourceCIDR", `${at},${rangeText(range)}`);
    }
    // A node that may come also comes with the load balancer's address as its source.
    if (sourceRangesHoldNode) this.#put("loadBalancerSourceIP", `${at},${ip}`);
    else {
      const { family } = this.#context;
      this.outRules.push(fromVirtualServer({ family, ip, port, protocol: xtProtocolOf(protocol) }));
    }
  }

  #serve(
    address: string,
    port: number,
    destinations: ReadonlyMap<string, IpvsDestination>,
  ): void {
    const { family, scheduler } = this.#context;
    const { affinitySeconds, protocol } = this.#servicePort;
    const server: IpvsServer = {
      family,
      protocol: xtProtocolOf(protocol),
      address,
      port,
      scheduler,
      // Otherwise all clients behind one address meet the same endpoint.
      flags: scheduler === "mh" ? IpvsFlag.scheduler2 : 0,
      ...(affinitySeconds > 0 && { persistenceSeconds: affinitySeconds }),
    };
    this.servers.set(frontendText(server), { server, destinations });
  }

  #bind(ip: string): void {
    this.addresses.push(ip);
    this.#put("boundAddress", ip);
  }

  #bindUnlessElsewhere(ip: string): void {
    if (!this.#context.otherLinksHave.has(ip)) this.#bind(ip);
  }

  #put(role: SetRole, member: string): void {
    this.members.push({ role, member });
  }

  /** How sets name a port of an address. */
  #at(ip: string, port = this.#servicePort.port): string {
    return `${ip},${xtProtocolOf(this.#servicePort.protocol)}:${port}`;
  }
}

function destinationsOf(endpoints: readonly Endpoint[]): ReadonlyMap<string, IpvsDestination> {
  return new Map(endpoints.map(({ ip, port }) => [
    joinHostPort(ip, port),
    { address: ip, port, forwarding: "masquerade", weight: 1 },
  ]));
}

/** Sets name a range of one address without its length. */
function rangeText(range: string): string {
  return range.replace(range.includes(":") ? /\/128$/ : /\/32$/, "");
}

function contains(cidr: Cidr | undefined, ip: string): boolean {
  const bytes = parseIp(ip);
  return cidr !== undefined && bytes !== undefined && cidrContains(cidr, bytes);
}
