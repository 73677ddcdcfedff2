/**
 * Who owns a frontend (an address or the node port, with protocol and port) when several service
 * ports ask for it: the Service whose cluster IP it is, then the oldest, then the first by namespace and
 * name. The others get it when the owner lets go. Only contested frontends cost more than one map entry.
 *
 * A cluster IP comes first because the apiserver gives it to one Service alone, while anybody may write
 * any address into `externalIPs`: it would take another tenant's connections.
 */
import { joinHostPort } from "../base/ip.ts";
import type { OwnedFrontends, PortSpec, ServiceSpec } from "../snapshot/build_service_port.ts";
import type { NoticeBook } from "./notice_book.ts";
import { type ServiceRecord, serviceSubject } from "./service_record.ts";

/** Names a Service. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

interface Claimant {
  readonly record: ServiceRecord;
  readonly port: PortSpec;
  readonly byClusterIP: boolean;
}

/** Kept up to date by handing over each Service's record when it changes. */
export class Claims {
  readonly #owners = new Map<string, Claimant>();
  readonly #contested = new Map<string, Claimant[]>();
  readonly #notices: NoticeBook;
  #affected: ServiceName[] = [];

  constructor(notices: NoticeBook) {
    this.#notices = notices;
  }

  /** Gives up what the old record asked for and asks for what the new one does. */
  replace(before: ServiceRecord | undefined, after: ServiceRecord | undefined): void {
    for (const port of before?.ports ?? []) {
      if (before) {
        for (const { name } of frontendsOf(before.spec, port)) this.#release(name, port.key);
      }
    }
    for (const port of after?.ports ?? []) {
      if (after) {
        for (const { name, byClusterIP } of frontendsOf(after.spec, port)) {
          this.#claim(name, { record: after, port, byClusterIP });
        }
      }
    }
  }

  /** Other Services whose ownership may have moved since the last call. */
  takeAffected(): readonly ServiceName[] {
    const affected = this.#affected;
    this.#affected = [];
    return affected;
  }

  /** What the port may program, in the order of the record. */
  ownedBy(spec: ServiceSpec, port: PortSpec): OwnedFrontends {
    const { clusterIP, externalIPs, loadBalancerVIPs } = spec;
    if (this.#contested.size === 0) {
      return { clusterIP, externalIPs, loadBalancerVIPs, nodePort: port.nodePort };
    }
    const owns = (frontend: string) => this.#owners.get(frontend)?.port.key === port.key;
    const ownsAddress = (ip: string) => owns(addressFrontend(ip, port));
    return {
      clusterIP: ownsAddress(clusterIP) ? clusterIP : "",
      externalIPs: kept(externalIPs, ownsAddress),
      loadBalancerVIPs: kept(loadBalancerVIPs, ownsAddress),
      nodePort: port.nodePort !== 0 && owns(nodePortFrontend(port)) ? port.nodePort : 0,
    };
  }

  #claim(frontend: string, claimant: Claimant): void {
    const owner = this.#owners.get(frontend);
    if (owner === undefined) {
      this.#owners.set(frontend, claimant);
      return;
    }
    const claimants = this.#contested.get(frontend) ?? [owner];
    // One port may name an address twice, as an external IP and as a load balancer's, say; the cluster
    // IP is the first of them.
    if (claimants.some(({ port }) => port.key === claimant.port.key)) return;
    claimants.push(claimant);
    claimants.sort(compareClaimants);
    this.#contested.set(frontend, claimants);
    const winner = claimants[0];
    this.#owners.set(frontend, winner);
    if (winner !== owner) this.#affected.push(owner.record.spec);
    this.#say(frontend, winner, winner === claimant ? owner : claimant);
  }

  #release(frontend: string, key: string): void {
    const claimants = this.#contested.get(frontend);
    if (claimants === undefined) {
      if (this.#owners.get(frontend)?.port.key === key) this.#owners.delete(frontend);
      return;
    }
    const index = claimants.findIndex(({ port }) => port.key === key);
    if (index < 0) return;
    claimants.splice(index, 1);
    if (claimants.length === 1) this.#contested.delete(frontend);
    if (index > 0) return;
    this.#owners.set(frontend, claimants[0]);
    this.#affected.push(claimants[0].record.spec);
  }

  #say(frontend: string, winner: Claimant, loser: Claimant): void {
    const { namespace, name } = loser.record.spec;
    const subject = serviceSubject(namespace, name);
    const other = `${winner.record.spec.namespace}/${winner.record.spec.name}`;
    const reason = winner.byClusterIP && !loser.byClusterIP
      ? `it is the cluster IP of the Service ${other}`
      : `the Service ${other} came first`;
    this.#notices.add({
      subject,
      topic: `conflict ${frontend}`,
      message: `${subject}: ${frontend} is not served for it, because ${reason}`,
    });
  }
}

interface Frontend {
  readonly name: string;
  readonly byClusterIP: boolean;
}

function* frontendsOf(spec: ServiceSpec, port: PortSpec): Iterable<Frontend> {
  yield { name: addressFrontend(spec.clusterIP, port), byClusterIP: true };
  const other = (name: string): Frontend => ({ name, byClusterIP: false });
  for (const ip of spec.externalIPs) yield other(addressFrontend(ip, port));
  for (const ip of spec.loadBalancerVIPs) yield other(addressFrontend(ip, port));
  if (port.nodePort !== 0) yield other(nodePortFrontend(port));
}

function addressFrontend(ip: string, port: PortSpec): string {
  return `${joinHostPort(ip, port.port)}/${port.protocol}`;
}

function nodePortFrontend(port: PortSpec): string {
  return `node port ${port.nodePort}/${port.protocol}`;
}

function kept(addresses: readonly string[], owns: (ip: string) => boolean): readonly string[] {
  return addresses.every(owns) ? addresses : addresses.filter(owns);
}

function compareClaimants(a: Claimant, b: Claimant): number {
  return Number(b.byClusterIP) - Number(a.byClusterIP) ||
    a.record.createdMs - b.record.createdMs ||
    compareText(a.record.spec.namespace, b.record.spec.namespace) ||
    compareText(a.record.spec.name, b.record.spec.name) ||
    compareText(a.port.key, b.port.key);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
