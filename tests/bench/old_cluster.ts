/** A large cluster that a node served yesterday: nobody has its pods' addresses by now. */

/** How large it was. */
export interface OldCluster {
  readonly services: number;
  readonly endpoints: number;
}

/** All of it as one manifest; cluster IPs from the beginning of the range that the tests use too. */
export function oldCluster({ endpoints, services }: OldCluster): string {
  const items = Array.from({ length: services }, (_, number) => {
    const name = `bench-${number}`;
    const clusterIP = `172.30.${number >> 8}.${number & 255}`;
    const ports = [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }];
    return [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "bench" },
        spec: { clusterIP, clusterIPs: [clusterIP], ipFamilies: ["IPv4"], ports },
      },
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name, namespace: "bench", labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints: Array.from({ length: endpoints }, (_, index) => {
          const at = number * endpoints + index;
          return { addresses: [`10.${129 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`] };
        }),
      },
    ];
  });
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: items.flat() });
}
