/**
 * How much one family's table may hold. The kernel takes some 120 bytes for each element that no
 * limit of anybody counts; a node that runs out of memory ends programs at random.
 */
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";

/** Elements of all service ports together: 600 MB of the kernel's memory. */
export const mostElements = 5_000_000;

/** About how many elements the service port has in the table. */
export function elementsIn(servicePort: ServicePort | undefined): number {
  if (!servicePort) return 0;
  const { externalIPs, loadBalancerVIPs, nodePort, reachableEndpoints } = servicePort;
  const frontends = 1 + externalIPs.length + loadBalancerVIPs.length + (nodePort === 0 ? 0 : 1);
  return frontends * (2 + reachableEndpoints.length);
}

/** What the table holds, and whether there is room for more. */
export class Capacity {
  readonly #most: number;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The service port goes from one to the other; says why it cannot, and then it is gone. */
  change(before: ServicePort | undefined, after: ServicePort | undefined): string | undefined {
    this.#used -= elementsIn(before);
    const needed = elementsIn(after);
    if (needed > 0 && this.#used + needed > this.#most) {
      return `it needs ${needed} elements, and of the ${this.#most} that a node can hold ` +
        `${
          Math.max(0, this.#most - this.#used)
        } are left; give it fewer ports, addresses or endpoints`;
    }
    this.#used += needed;
    return undefined;
  }

  /** Makes room for the small ones first; gives those that do not fit, and why. */
  fill(services: ReadonlyMap<ServicePortKey, ServicePort>): ReadonlyMap<ServicePortKey, string> {
    this.#used = 0;
    const beyond = new Map<ServicePortKey, string>();
    const all = [...services].map(([key, each]) => ({ key, each, size: elementsIn(each) }));
    const fits = all.reduce((sum, { size }) => sum + size, 0) <= this.#most;
    const sorted = fits ? all : all.sort((a, b) => a.size - b.size || (a.key < b.key ? -1 : 1));
    for (const { each, key } of sorted) {
      const fault = this.change(undefined, each);
      if (fault !== undefined) beyond.set(key, fault);
    }
    return beyond;
  }
}
