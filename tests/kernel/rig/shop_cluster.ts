/** The cluster of the one large scenario, its servers answering, without any rules yet. */
import type { Host } from "../../scenarios/addresses.ts";
import { boundToNode, shopServices } from "../../scenarios/shop_services.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { Cluster } from "./cluster.ts";
import { bindToNode, startDecoys, startEndpoints } from "./servers.ts";

export async function createShopCluster(): Promise<Cluster> {
  const cluster = await Cluster.create();
  try {
    await startEndpoints(cluster);
    await startDecoys(cluster, { services: shopServices, rows: shopFates });
    await bindToNode(cluster, boundToNode);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

/** Both families; a table that is not there is fine. */
export async function deleteProxyTables(cluster: Cluster, host: Host = "node"): Promise<void> {
  const script = ["ip", "ip6"].flatMap((family) => [
    `add table ${family} kube-proxy`,
    `delete table ${family} kube-proxy`,
  ]);
  await cluster.run(host, ["nft", "-f", "-"], script.join("\n") + "\n");
}
