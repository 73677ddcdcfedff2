/** Virtual servers of IPVS, beside what the cluster knows. */
import type { IpvsState, VirtualServer } from "../../kernel/inspection/ipvs_text.ts";
import type { ClusterObjects } from "../cluster_objects.ts";
import type { NodeNetwork } from "../facts/node_values.ts";
import { nodePortsOf, serviceAddresses } from "./frontends.ts";

/** Those that are neither an address of a Service nor a node port of one, as people read them; sorted. */
export function foreignServers(
  { servers }: IpvsState,
  { network, objects }: { readonly objects: ClusterObjects; readonly network: NodeNetwork },
): readonly string[] {
  const ours = serviceAddresses(objects);
  const own = new Set(network.addresses.map(({ ip }) => ip));
  const ports = new Set(nodePortsOf(objects).map(({ port, protocol }) => `${protocol} ${port}`));
  return servers.filter(({ address, port, protocol }) =>
    !ours.has(address) && !(own.has(address) && ports.has(`${protocol} ${port}`))
  ).map(describeServer).sort();
}

/** `TCP 10.0.0.1:80`. */
export function describeServer(
  { address, port, protocol }: Pick<VirtualServer, "address" | "port" | "protocol">,
): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return `${protocol.toUpperCase()} ${host}:${port}`;
}
