/** The Service `web` of a small cluster: one address, one pod at a time, and clients that keep asking. */
import type { LoadReport } from "../../kernel/rig/agent_protocol.ts";
import type { ManifestObject } from "./api.ts";
import { endpointSliceObject, serviceObject } from "./objects.ts";
import { namespaceName, podAddresses, type PodName, type SmallCluster } from "./small_cluster.ts";

export const webAddress = "172.30.0.10";
export const webConnectionsPerSecond = 100;

/** Makes it, with pod "a" behind it. */
export async function createWeb({ api }: SmallCluster): Promise<void> {
  const spec = { clusterIP: webAddress };
  await api.create(serviceObject({ namespace: namespaceName, name: "web", spec }));
  await api.create(webSlice("a"));
}

/** Its slice with this pod alone. */
export function webSlice(pod: PodName): ManifestObject {
  return endpointSliceObject({
    namespace: namespaceName,
    name: "web",
    addresses: [podAddresses[pod].IPv4],
  });
}

/** New connections from now on; what is returned ends them and tells what became of them. */
export function startWebLoad({ agent, plane }: SmallCluster): Promise<() => Promise<LoadReport>> {
  return agent.startLoad({
    namespace: plane.access.namespace,
    protocol: "TCP",
    address: webAddress,
    port: 80,
    perSecond: webConnectionsPerSecond,
    timeoutMs: 3_000,
  });
}
