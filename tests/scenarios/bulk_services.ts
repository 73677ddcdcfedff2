/** Many Services that nobody talks to, and one that changes all the time: for proofs under load. */
import type { EndpointDescription, PortDescription, ServiceDescription } from "./description.ts";

const http: PortDescription = { port: 80, protocol: "TCP", targetPort: 8080 };

/** Numbered from 1000; endpoints are addresses that nobody has. */
export function bulkServices(
  count: number,
  options: { readonly endpoints: number },
): readonly ServiceDescription[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `bulk-${i}`,
    number: 1000 + i,
    type: "ClusterIP",
    ports: [http],
    endpoints: Array.from({ length: options.endpoints }, (_, copy) => ({
      host: copy % 2 === 0 ? "pod-a" : "remote-pod",
      copy: (i + copy) % 100,
    })),
  }));
}

/** With every kind of frontend. */
export const changingService: ServiceDescription = {
  name: "changing",
  number: 60,
  type: "LoadBalancer",
  ports: [http],
  externalIP: true,
  endpoints: [],
};

const places: readonly EndpointDescription[] = [
  { host: "pod-a" },
  { host: "pod-b" },
  { host: "remote-pod" },
];

/**
 * The endpoints of the changing Service at a step: all are alive all the time, no two steps in a row
 * have any in common, and their number goes 3, 2, 1, 3, …
 */
export function changingServiceAt(step: number): ServiceDescription {
  const count = [3, 2, 1][step % 3];
  const targetPort = 8080 + step % 2;
  const endpoints = Array.from(
    { length: count },
    (_, i) => places[(step + i) % places.length],
  );
  return { ...changingService, ports: [{ ...http, targetPort }], endpoints };
}
