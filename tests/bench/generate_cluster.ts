/** Writes the files of a large cluster, as `kubectl get services,endpointslices -o …` prints them. */

/** How the files are spelled. */
export type ManifestFormat = "json" | "json-indented" | "yaml" | "yaml-documents";

export interface GeneratedCluster {
  readonly services: number;
  readonly endpoints: number;
  readonly format: ManifestFormat;
  /** A directory that exists. */
  readonly folder: string;
}

/** Endpoints are 10.130.0.0/15, so that one host can be all of them. */
export const endpointRange = "10.130.0.0/15";
/** The port that each endpoint has. */
export const endpointPort = 8080;

const firstService = address(172, 30, 1, 0);
const firstEndpoint = address(10, 130, 1, 0);
const endpointCount = 130_000;

/** The cluster IP of a numbered Service; its port is 80. */
export function serviceAddress(number: number): string {
  return textOf(firstService + number);
}

/** Two files: all Services, all EndpointSlices. Resolves to their size in bytes. */
export async function generateCluster(cluster: GeneratedCluster): Promise<number> {
  const { services, endpoints, format, folder } = cluster;
  const numbers = Array.from({ length: services }, (_, number) => number);
  const files = {
    services: numbers.map(serviceObject),
    slices: numbers.map((number) => sliceObject(number, endpoints)),
  };
  let bytes = 0;
  for (const [name, objects] of Object.entries(files)) {
    const path = `${folder}/${name}.${format.startsWith("json") ? "json" : "yaml"}`;
    await Deno.writeTextFile(path, spell(objects, format));
    bytes += (await Deno.stat(path)).size;
  }
  return bytes;
}

function serviceObject(number: number) {
  const clusterIP = serviceAddress(number);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `svc-${number}`, namespace: `ns-${number % 100}` },
    spec: {
      clusterIP,
      clusterIPs: [clusterIP],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: endpointPort }],
      selector: { app: `svc-${number}` },
      sessionAffinity: "None",
      type: "ClusterIP",
    },
  };
}

function sliceObject(number: number, endpoints: number) {
  return {
    addressType: "IPv4",
    apiVersion: "discovery.k8s.io/v1",
    endpoints: Array.from({ length: endpoints }, (_, i) => ({
      addresses: [textOf(firstEndpoint + (number * endpoints + i) % endpointCount)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${i}`,
    })),
    kind: "EndpointSlice",
    metadata: {
      labels: { "kubernetes.io/service-name": `svc-${number}` },
      name: `svc-${number}-abcde`,
      namespace: `ns-${number % 100}`,
    },
    ports: [{ name: "http", port: endpointPort, protocol: "TCP" }],
  };
}

function spell(objects: readonly unknown[], format: ManifestFormat): string {
  switch (format) {
    case "json":
      return JSON.stringify({ apiVersion: "v1", items: objects, kind: "List" });
    case "json-indented":
      return `${JSON.stringify({ apiVersion: "v1", items: objects, kind: "List" }, null, 4)}\n`;
    case "yaml":
      return `${yamlOf({ apiVersion: "v1", items: objects, kind: "List" }, "").trimStart()}\n`;
    case "yaml-documents":
      return objects.map((object) => `---${yamlOf(object, "")}\n`).join("");
  }
}

/** Block style without quotes, lists as deep as their key: kubectl's way, for the values above. */
function yamlOf(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    const items = value.map((item) => {
      const text = yamlOf(item, `${indent}  `);
      return `\n${indent}- ${text.trimStart()}`;
    });
    return items.join("");
  }
  if (typeof value !== "object" || value === null) return ` ${value}`;
  return Object.entries(value)
    .map(([key, item]) => `\n${indent}${key}:${yamlOf(item, indentOf(item, indent))}`)
    .join("");
}

function indentOf(value: unknown, indent: string): string {
  return Array.isArray(value) ? indent : `${indent}  `;
}

function address(a: number, b: number, c: number, d: number): number {
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

function textOf(number: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join(".");
}
