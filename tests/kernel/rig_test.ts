import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { clusterIP, hostAddresses } from "../scenarios/addresses.ts";
import { expectedFate } from "../scenarios/expected.ts";
import { nameOfRow } from "../scenarios/fate.ts";
import { clusterManifests, serviceManifests } from "../scenarios/manifests.ts";
import { setups } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { Cluster } from "./rig/cluster.ts";
import { runCommand, tryCommand } from "./rig/command.ts";
import { runFates } from "./rig/fates.ts";
import { parseNftRuleset } from "./rig/nft_ruleset.ts";
import { traceNft } from "./rig/nft_trace.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { crc32c } from "./rig/sctp.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

const [setup] = setups;

Deno.test("without any rules every fate is wrong, but those that no rule decides", async () => {
  await using cluster = await createShopCluster();
  for (const family of ipFamilies) {
    const results = await runFates(cluster, {
      services: shopServices,
      rows: shopFates,
      setup,
      family,
      answerTimeoutMs: 1000,
    });
    const right = results.filter((result) => result.right).map(({ name }) => name);
    const undecided = shopFates.filter((row) =>
      expectedFate(row, { setup, family }).kind === "untouched"
    );
    assert.deepEqual(right, undecided.map((row) => `${family} ${nameOfRow(row)}`));
  }
});

Deno.test("a load counts connections that fail, by reason", async () => {
  await using cluster = await createShopCluster();
  const load = (address: string, port: number) =>
    cluster.agent.startLoad({
      namespace: cluster.namespace("client-a"),
      protocol: "TCP",
      address,
      port,
      perSecond: 100,
      timeoutMs: 300,
    });
  await cluster.run("pod-b", ["nft", "-f", "-"], silentPort);
  const stops = [
    await load(hostAddresses["pod-a"].IPv4, 8080),
    await load(hostAddresses["pod-a"].IPv4, 1),
    await load(hostAddresses["pod-b"].IPv4, 8080),
  ];
  await new Promise((resolve) => setTimeout(resolve, 500));
  const [good, refused, silent] = await Promise.all(stops.map((stop) => stop()));
  assert.deepEqual([good.failed, good.reached], [{}, { "pod-a:8080": good.attempts }]);
  assert.deepEqual([refused.failed, refused.reached], [{ ECONNREFUSED: refused.attempts }, {}]);
  assert.deepEqual([silent.failed, silent.reached], [{ "no answer": silent.attempts }, {}]);
});

const silentPort =
  "table inet silent {\nchain input {\ntype filter hook input priority 0;\ntcp dport 8080 drop\n}\n}\n";

Deno.test("a connection that is established outlives its endpoint and its Service", async () => {
  await using cluster = await createShopCluster();
  await using proxy = await new InProcessProgrammer().start(cluster, {
    manifests: clusterManifests(shopServices),
    setup,
  });
  const held = ipFamilies.map((family, connection) => () =>
    cluster.agent.hold({
      connection,
      namespace: cluster.namespace("client-a"),
      address: clusterIP(10)[family],
      port: 80,
      timeoutMs: 3000,
    })
  );
  const before = await Promise.all(held.map((speak) => speak()));
  assert.ok(before.every(({ kind }) => kind === "reached"), JSON.stringify(before));
  const [web] = shopServices;
  const slices = serviceManifests(web).filter(({ kind }) => kind === "EndpointSlice");
  await proxy.remove(slices);
  assert.deepEqual(await Promise.all(held.map((speak) => speak())), before);
  await proxy.remove(serviceManifests(web).filter(({ kind }) => kind === "Service"));
  assert.deepEqual(await Promise.all(held.map((speak) => speak())), before);
});

Deno.test("namespaces of a run that was killed are removed by the next one", async () => {
  // No process has this number: it is above the kernel's limit.
  const abandoned = "kpt-4194305-beef-node";
  await runCommand(["ip", "netns", "add", abandoned]);
  try {
    await using cluster = await Cluster.create();
    const names = await runCommand(["ip", "netns", "list"]);
    assert.ok(!names.includes(abandoned));
    assert.ok(names.includes(cluster.namespace("node")));
  } finally {
    await tryCommand(["ip", "netns", "delete", abandoned]);
  }
});

Deno.test("crc32c() gives the check value of its standard", () => {
  assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
});

Deno.test("the tracer refuses a statement that it does not know", () => {
  const chain = { chain: { name: "c", hook: "prerouting", prio: 0 } };
  const rule = { rule: { chain: "c", handle: 1, expr: [{ "flow": { "op": "add" } }] } };
  const ruleset = parseNftRuleset(JSON.stringify({ nftables: [chain, rule] }));
  const packet = {
    fromNode: false,
    source: "192.168.10.2",
    destination: "172.30.0.10",
    protocol: "TCP",
    port: 80,
    nodeAddresses: new Set<string>(),
  } as const;
  assert.throws(() => traceNft(ruleset, packet), /wanted a known statement/);
});
