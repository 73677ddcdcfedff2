/** What doctor says of a new packet from outside, and what a connection meets, on the node of a cluster. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { type PacketFate, walkInput } from "../../../lib/doctor/judging/packet_walk.ts";
import { readLegacyFirewall } from "../../../lib/kernel/firewall/legacy_entries.ts";
import { readNftFirewall } from "../../../lib/kernel/firewall/nft_firewall.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import { ProcLegacyTables } from "../../../lib/kernel/xtables/legacy_tables.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import type { Cluster } from "../rig/cluster.ts";

/** Rules, and the tool that reads them: `nft`, or a backend of iptables for one family. */
export interface Ruleset {
  readonly tool: "nft" | "iptables-nft" | "iptables-legacy";
  readonly text: string;
}

/** Puts these rules in the place of all that are there. */
export async function load(
  cluster: Cluster,
  { text, tool }: Ruleset,
  family: IpFamily,
): Promise<void> {
  const prefix = family === "IPv4" ? "iptables" : "ip6tables";
  const empty = "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n";
  await cluster.run("node", ["nft", "flush", "ruleset"]);
  for (const each of ["iptables", "ip6tables"]) {
    await cluster.run("node", [`${each}-legacy-restore`], empty);
  }
  const argv = tool === "nft"
    ? ["nft", "-f", "-"]
    : [`${prefix}-${tool === "iptables-nft" ? "nft" : "legacy"}-restore`];
  await cluster.run("node", argv, text);
}

/** Of client-a's connection to a port of the node. */
export async function walk(cluster: Cluster, family: IpFamily, port: number): Promise<PacketFate> {
  const question = { wantsRules: () => true };
  const { legacy, transport } = inNetworkNamespace(
    `/run/netns/${cluster.namespace("node")}`,
    () => ({
      legacy: readLegacyFirewall(new ProcLegacyTables(), question),
      transport: new DirectTransport(),
    }),
  );
  try {
    const tables = [...await readNftFirewall(transport, question), ...legacy];
    return walkInput(tables, {
      family,
      source: hostAddresses["client-a"][family],
      destination: hostAddresses.node[family],
      protocol: "tcp",
      destinationPort: port,
      inInterface: "client-a",
    }, { ignores: () => false, ignoresTable: () => false });
  } finally {
    transport.close();
  }
}

/** Who answers. Retransmissions of a SYN come after a second: an answer comes long before, or not at all. */
export async function connect(
  cluster: Cluster,
  family: IpFamily,
  port: number,
): Promise<"accepted" | "stopped"> {
  const outcome = await cluster.agent.probe({
    namespace: cluster.namespace("client-a"),
    protocol: "TCP",
    address: hostAddresses.node[family],
    port,
    timeoutMs: 400,
  });
  return outcome.kind === "reached" ? "accepted" : "stopped";
}
