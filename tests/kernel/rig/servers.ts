/** Puts echo servers behind a scenario: its endpoints, and whoever else must not be reached by accident. */
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import {
  type DualStack,
  externalIP,
  type Host,
  hostAddresses,
  loadBalancerIP,
  serviceCIDRs,
} from "../../scenarios/addresses.ts";
import type { ServiceDescription } from "../../scenarios/description.ts";
import { boundToNode } from "../../scenarios/shop_services.ts";
import { type FateRow, nameOfRow } from "../../scenarios/fate.ts";
import type { Cluster } from "./cluster.ts";
import { destinationOf } from "./destinations.ts";

/** Pods answer on these ports by every protocol. */
const podPorts: readonly number[] = [8080, 8081];

/** Endpoints of all pods, and of the pod in the node's own network. */
export async function startEndpoints(cluster: Cluster): Promise<void> {
  const pods: readonly Host[] = ["pod-a", "pod-b", "remote-pod"];
  const jobs = ipFamilies.flatMap((family) => [
    ...pods.flatMap((host) =>
      podPorts.flatMap((port) =>
        (["TCP", "UDP", "SCTP"] as const).map((protocol) =>
          cluster.agent.serve({
            namespace: cluster.namespace(host),
            name: `${host}:${port}`,
            protocol,
            address: hostAddresses[host][family],
            port,
          })
        )
      )
    ),
    cluster.agent.serve({
      namespace: cluster.namespace("node"),
      name: "node:8080",
      protocol: "TCP",
      address: hostAddresses.node[family],
      port: 8080,
    }),
  ]);
  await Promise.all(jobs);
}

/**
 * Somebody answers at every destination of the table as `beyond:PORT` or `node:PORT`, so that a
 * packet that the rules let through unchanged cannot be taken for a dropped or rejected one.
 */
export async function startDecoys(
  cluster: Cluster,
  options: { readonly services: readonly ServiceDescription[]; readonly rows: readonly FateRow[] },
): Promise<void> {
  await ownEverythingBeyond(cluster);
  const decoys = new Map<string, Promise<void>>();
  for (const row of options.rows) {
    for (const family of ipFamilies) {
      const to = destinationOf(row, { services: options.services, family });
      const host = ownerOf(row, to.address);
      const key = `${row.protocol} ${to.address} ${to.port}`;
      if (decoys.has(key)) continue;
      decoys.set(
        key,
        cluster.agent.serve({
          namespace: cluster.namespace(host),
          name: `${host}:${to.port}`,
          protocol: row.protocol,
          ...to,
        }).catch((cause) => {
          throw new Error(`Cannot start the decoy of "${nameOfRow(row)}"`, { cause });
        }),
      );
    }
  }
  await Promise.all(decoys.values());
}

/** Who has the address when no rule takes it. */
export function ownerOf(row: FateRow, address: string): Host {
  const isBound = boundToNode.some((each) => Object.values(each).includes(address));
  return row.to.kind === "node-port" || isBound ? "node" : "beyond";
}

/** The host behind the default route takes all service addresses for its own. */
async function ownEverythingBeyond(cluster: Cluster): Promise<void> {
  const ranges: Record<IpFamily, readonly string[]> = {
    IPv4: [serviceCIDRs.IPv4, `${externalIP(0).IPv4}/24`, `${loadBalancerIP(0).IPv4}/24`],
    IPv6: [serviceCIDRs.IPv6, `${externalIP(0).IPv6}/64`, `${loadBalancerIP(0).IPv6}/64`],
  };
  for (const family of ipFamilies) {
    const flag = family === "IPv4" ? "-4" : "-6";
    for (const range of ranges[family]) {
      await cluster.run("beyond", ["ip", flag, "route", "replace", "local", range, "dev", "lo"]);
    }
  }
}

/** Gives the node further addresses; its listeners on them are decoys of their own. */
export async function bindToNode(
  cluster: Cluster,
  addresses: readonly DualStack[],
): Promise<void> {
  for (const address of addresses.flatMap((each) => Object.values(each))) {
    await cluster.run("node", ["ip", "addr", "add", address, "dev", "lo"]);
  }
}
