/** Random Services and random changes of them, the same for the same seed. */
import type { Host } from "./addresses.ts";
import type { EndpointDescription, PortDescription, ServiceDescription } from "./description.ts";

/** Draws that a seed repeats: a small generator (mulberry32), good enough for variety. */
export class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ x < 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** 0 ≤ n < count. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  /** Each with the probability, in their order. */
  some<T>(values: readonly T[], probability: number): readonly T[] {
    return values.filter(() => this.chance(probability));
  }
}

const ports: readonly Omit<PortDescription, "targetPort">[] = [
  { port: 80, protocol: "TCP" },
  { port: 80, protocol: "UDP" },
  { port: 80, protocol: "SCTP" },
  { port: 81, protocol: "TCP" },
  { port: 53, protocol: "UDP" },
];

const endpointPlaces: readonly { readonly host: Host; readonly copy?: number }[] = [
  { host: "pod-a" },
  { host: "pod-b" },
  { host: "remote-pod" },
  { host: "pod-a", copy: 1 },
  { host: "pod-a", copy: 2 },
  { host: "remote-pod", copy: 1 },
];

const rangeChoices: readonly (readonly string[])[] = [
  ["192.168.10.0/24", "fd00:192:168:10::/64"],
  ["192.168.1.1/32", "192.168.0.0/16", "fd00:192:168:1::1/128"],
  ["10.128.0.0/14", "10.128.0.0/24", "fd00:10:128::/48"],
  ["0.0.0.0/0", "fd00:192:168:10::/64"],
  ["fd00:192:168:10::/64"],
];

/** A Service with any mix of features. */
export function randomService(draws: Draws, number: number): ServiceDescription {
  const chosen = draws.some(ports, 0.4);
  return {
    name: `service-${number}`,
    number,
    type: draws.pick(["ClusterIP", "NodePort", "LoadBalancer"]),
    ports: (chosen.length === 0 ? ports.slice(0, 1) : chosen)
      .map((port) => ({ ...port, targetPort: draws.pick([8080, 8081]) })),
    endpoints: randomEndpoints(draws),
    externalIP: draws.chance(0.3),
    externalTrafficPolicy: draws.pick(["Cluster", "Local"]),
    internalTrafficPolicy: draws.chance(0.25) ? "Local" : "Cluster",
    ipMode: draws.chance(0.1) ? "Proxy" : "VIP",
    ...(draws.chance(0.3) ? { sourceRanges: draws.pick(rangeChoices) } : {}),
    ...(draws.chance(0.25) ? { affinitySeconds: draws.pick([60, 10_800]) } : {}),
    ...(draws.chance(0.05) ? { headless: true } : {}),
    ...(draws.chance(0.05)
      ? { labels: { "service.kubernetes.io/service-proxy-name": "other" } }
      : {}),
    endpointsPerSlice: draws.pick([1, 2, 100]),
  };
}

/** Sometimes all hinted, sometimes all going, mostly healthy. */
function randomEndpoints(draws: Draws): readonly EndpointDescription[] {
  const chosen = draws.some(endpointPlaces, draws.pick([0, 0.3, 0.6, 1]));
  const hinted = draws.chance(0.3);
  const healthy = draws.pick([0, 0.7, 1, 1]);
  return chosen.map((place) => ({
    ...place,
    ...(draws.chance(healthy) ? {} : {
      ready: false,
      serving: draws.chance(0.6),
      terminating: draws.chance(0.6),
    }),
    ...(hinted && draws.chance(0.9) ? { zoneHints: draws.some(["zone-a", "zone-b"], 0.6) } : {}),
    ...(hinted && draws.chance(0.5) ? { nodeHints: draws.some(["node", "remote-node"], 0.6) } : {}),
  }));
}

/** Another state of the Service: mostly other endpoints, sometimes all new, sometimes gone. */
export function changedService(
  draws: Draws,
  before: ServiceDescription | undefined,
  number: number,
): ServiceDescription | undefined {
  if (before === undefined) return randomService(draws, number);
  const kind = draws.next();
  if (kind < 0.1) return undefined;
  if (kind < 0.3) return randomService(draws, number);
  return { ...before, endpoints: randomEndpoints(draws) };
}
