/** What doctor says of a packet filter, against what a connection meets there: never the opposite. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import { type PacketFate, walkInput } from "../../../lib/doctor/judging/packet_walk.ts";
import { readLegacyFirewall } from "../../../lib/kernel/firewall/legacy_entries.ts";
import { readNftFirewall } from "../../../lib/kernel/firewall/nft_firewall.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import { ProcLegacyTables } from "../../../lib/kernel/xtables/legacy_tables.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import { Draws } from "../../scenarios/random_services.ts";
import { Cluster } from "../rig/cluster.ts";
import { ports, type RandomRuleset, randomRuleset } from "./random_rulesets.ts";

const rulesets = Deno.env.get("KUBE_PROXY_TEST_FULL") === undefined ? 24 : 200;
const seed = Number(Deno.env.get("KUBE_PROXY_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
/** Of all answers, so many may be that it cannot be told. */
const MOST_UNTOLD = 0.05;

Deno.test(`walkInput() says what a connection meets in ${rulesets} random rulesets (seed ${seed})`, async () => {
  await using cluster = await Cluster.create();
  for (const family of ipFamilies) {
    for (const port of ports) {
      await cluster.agent.serve({
        namespace: cluster.namespace("node"),
        name: "door",
        protocol: "TCP",
        address: hostAddresses.node[family],
        port,
      });
    }
  }
  const draws = new Draws(seed);
  const tally = { accepted: 0, stopped: 0, untold: 0 };
  for (let at = 0; at < rulesets; at++) {
    const family = ipFamilies[at % 2];
    const ruleset = randomRuleset(draws, family);
    await load(cluster, ruleset, family);
    await Promise.all(ports.map(async (port) => {
      const [fate, met] = await Promise.all([
        walk(cluster, family, port),
        connect(cluster, family, port),
      ]);
      tally[fate.kind]++;
      if (fate.kind === "untold") return;
      const said = `${JSON.stringify(fate)} for port ${port}, ${family}, ruleset ${at}`;
      assert.equal(fate.kind, met, `${said}:\n${ruleset.tool}\n${ruleset.text}`);
    }));
  }
  const all = rulesets * ports.length;
  assert.ok(tally.untold <= all * MOST_UNTOLD, `${tally.untold} of ${all} could not be told`);
  assert.ok(tally.accepted > 0 && tally.stopped > 0, JSON.stringify(tally));
});

async function load(
  cluster: Cluster,
  { text, tool }: RandomRuleset,
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

async function walk(cluster: Cluster, family: IpFamily, port: number): Promise<PacketFate> {
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

/** Retransmissions of a SYN come after a second: an answer comes long before, or not at all. */
async function connect(
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
