/** What doctor says of the rules that firewalld, ufw and Docker wrote, against what a connection meets there. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import { Cluster } from "../rig/cluster.ts";
import { connect, load, type Ruleset, walk } from "./input_walk.ts";

const folder = new URL("rulesets/", import.meta.url);
const read = (name: string) => Deno.readTextFileSync(new URL(name, folder));
/** On both sides of every edge in the rules, and far from any. */
const ports: readonly number[] = [
  ...[22, 23, 80, 443, 2222, 6443, 8080, 10_250, 10_256, 29_999, 30_000, 30_001, 30_050, 30_099],
  ...[30_100, 30_101, 30_199, 30_200, 30_201, 31_000, 32_000, 32_767, 40_000, 50_000, 60_000],
];

interface Row {
  readonly name: string;
  readonly ruleset: Ruleset;
  readonly families: readonly IpFamily[];
  /** Ports of which nobody can tell: how often somebody came before decides there. */
  readonly untold: readonly number[];
  /** Some that show that the rules are in force. */
  readonly accepted: readonly number[];
  readonly stopped: readonly number[];
}

const iptables = (name: string): Ruleset => ({ tool: "iptables-nft", text: read(name) });

const rows: readonly Row[] = [
  ...ipFamilies.map((family): Row => ({
    name: `ufw in ${family}`,
    ruleset: iptables(`ufw_${family}.rules`),
    families: [family],
    untold: [2222],
    accepted: [22, 30_000, 30_100],
    stopped: [23, 29_999, 30_101],
  })),
  {
    name: "firewalld",
    ruleset: { tool: "nft", text: read("firewalld.nft") },
    families: ["IPv4", "IPv6"],
    untold: [],
    accepted: [22, 30_000, 30_100],
    stopped: [23, 29_999, 30_101],
  },
  {
    name: "Docker",
    ruleset: iptables("docker_IPv4.rules"),
    families: ["IPv4"],
    untold: [],
    accepted: [22, 30_000, 60_000],
    stopped: [],
  },
];

Deno.test("walkInput() says what a connection meets in rules of firewalld, ufw and Docker", async (test) => {
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
  for (const { accepted, families, name, ruleset, stopped, untold } of rows) {
    for (const family of families) {
      await test.step(`${name}, a packet of ${family}`, async () => {
        await load(cluster, ruleset, family);
        const found = await Promise.all(ports.map(async (port) => ({
          port,
          fate: await walk(cluster, family, port),
          met: await connect(cluster, family, port),
        })));
        const of = (kind: string) =>
          found.filter(({ fate }) => fate.kind === kind).map(({ port }) => port);
        assert.deepEqual(of("untold"), untold, JSON.stringify(found));
        for (const { fate, met, port } of found) {
          if (fate.kind !== "untold") {
            assert.equal(fate.kind, met, `${port}: ${JSON.stringify(fate)}`);
          }
        }
        for (const port of accepted) assert.ok(of("accepted").includes(port), `${port} is let in`);
        for (const port of stopped) assert.ok(of("stopped").includes(port), `${port} is stopped`);
      });
    }
  }
});
