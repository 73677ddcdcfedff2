/** What doctor says of a packet filter, against what a connection meets there: never the opposite. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import { Draws } from "../../scenarios/random_services.ts";
import { Cluster } from "../rig/cluster.ts";
import { connect, load, walk } from "./input_walk.ts";
import { ports, randomRuleset } from "./random_rulesets.ts";

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
