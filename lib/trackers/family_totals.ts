/** Sums over all service ports of a family, kept up to date with each one that changes. */
import type { ServicePort, ServicePortKey } from "../snapshot/snapshot.ts";

/** A Service whose local endpoints a load balancer asks for. */
export interface HealthCheck {
  readonly namespace: string;
  readonly name: string;
  /** The health check node port. */
  readonly port: number;
  /** Distinct addresses of ready endpoints on this node. */
  readonly localEndpoints: number;
}

/** Numbers about the state last taken. */
export interface FamilyCounts {
  readonly servicePorts: number;
  /** Endpoints of all service ports that can be reached from this node. */
  readonly endpoints: number;
  /** Service ports whose Local policy finds no endpoint here though there are some elsewhere. */
  readonly noLocalInternal: number;
  readonly noLocalExternal: number;
}

/** `changed` is told each service port that came, went or became another. */
export class FamilyTotals {
  readonly #udpPorts = new Map<ServicePortKey, ServicePort>();
  #servicePorts = 0;
  #endpoints = 0;
  #noLocalInternal = 0;
  #noLocalExternal = 0;

  changed(before: ServicePort | undefined, after: ServicePort | undefined): void {
    if (before) {
      this.#add(before, -1);
      if (before.protocol === "UDP") this.#udpPorts.delete(before.key);
    }
    if (after) {
      this.#add(after, 1);
      if (after.protocol === "UDP") this.#udpPorts.set(after.key, after);
    }
  }

  get counts(): FamilyCounts {
    return {
      servicePorts: this.#servicePorts,
      endpoints: this.#endpoints,
      noLocalInternal: this.#noLocalInternal,
      noLocalExternal: this.#noLocalExternal,
    };
  }

  /** The UDP service ports alone, for those who look after flows. */
  get udpPorts(): ReadonlyMap<ServicePortKey, ServicePort> {
    return this.#udpPorts;
  }

  #add(port: ServicePort, sign: 1 | -1): void {
    this.#servicePorts += sign;
    this.#endpoints += sign * port.reachableEndpoints.length;
    if (port.internal === "drop") this.#noLocalInternal += sign;
    if (port.external === "drop") this.#noLocalExternal += sign;
  }
}
