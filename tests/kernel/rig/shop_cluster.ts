/** The cluster of the one large scenario, its servers answering, without any rules yet. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { Host } from "../../scenarios/addresses.ts";
import { nftablesMode, type RuleMode } from "../../scenarios/setups.ts";
import { boundToNode, shopServices } from "../../scenarios/shop_services.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { Cluster } from "./cluster.ts";
import { deleteRules, listRules, restoreRules } from "./mode_rules.ts";
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

/**
 * What a proxy of the mode left on a host, of both families; nothing is fine. The kernel forgets which
 * flows went where as well: a client's port comes again, and a datagram from it would go the old way.
 */
export async function deleteProxyTables(
  cluster: Cluster,
  { mode = nftablesMode, host = "node" }: { readonly mode?: RuleMode; readonly host?: Host } = {},
): Promise<void> {
  await deleteRules((argv, stdin) => cluster.run(host, argv, stdin), mode);
  await cluster.run(host, ["conntrack", "-F"]);
}

/** A family's rules as the mode's own tool prints them. */
export function listProxyRules(
  cluster: Cluster,
  { mode, family, host = "node" }: {
    readonly mode: RuleMode;
    readonly family: IpFamily;
    readonly host?: Host;
  },
): Promise<string> {
  return listRules((argv, stdin) => cluster.run(host, argv, stdin), mode, family);
}

/** Loads lines of `listProxyRules` in the place of whatever the tables of iptables held. */
export async function restoreProxyRules(
  cluster: Cluster,
  { mode, family, rules }: {
    readonly mode: RuleMode;
    readonly family: IpFamily;
    readonly rules: readonly string[];
  },
): Promise<void> {
  await restoreRules((argv, stdin) => cluster.run("node", argv, stdin), { mode, family, rules });
}
