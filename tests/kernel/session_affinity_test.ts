import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import {
  clusterIP,
  crowdAddresses,
  hostAddresses,
  loadBalancerIP,
} from "../scenarios/addresses.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { allModes, nameOfMode, type RuleMode, setupsOf } from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

for (const mode of allModes) {
  Deno.test(`session affinity, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    await using proxy = await new InProcessProgrammer().start(cluster, {
      manifests: clusterManifests(shopServices),
      setup: setupsOf(mode)[0],
    });
    for (const family of ipFamilies) {
      const sticky = clusterIP(19)[family];
      const short = clusterIP(21)[family];

      await test.step(`${family}: clients are spread, and each stays where it was`, async () => {
        const first = await askCrowd(cluster, family, sticky);
        assert.ok(new Set(first).size > 1, `all ${first.length} clients met ${first[0]}`);
        assert.deepEqual(await askCrowd(cluster, family, sticky), first);
      });

      await test.step(`${family}: a client stays on every frontend of the port`, async () => {
        const byClusterIP = await ask(cluster, family, { address: sticky, port: 80 });
        const byLoadBalancer = await ask(cluster, family, {
          address: loadBalancerIP(19)[family],
          port: 80,
        });
        const node = hostAddresses.node[family];
        const byNodePort = await ask(cluster, family, { address: node, port: 30019 });
        assert.deepEqual([byLoadBalancer, byNodePort], [byClusterIP, byClusterIP]);
      });

      await test.step(`${family}: it is forgotten when the client was away for its time`, async () => {
        const before = await askCrowd(cluster, family, short);
        // Both endpoints are as likely: that nobody moves happens once in 2^24 times.
        await untilForgotten(cluster, { mode, family });
        assert.notDeepEqual(await askCrowd(cluster, family, short), before);
      });

      await test.step(`${family}: it survives a change of another endpoint`, async () => {
        const before = await askCrowd(cluster, family, sticky);
        const service = shopServices.find(({ name }) => name === "sticky");
        assert.ok(service);
        const endpoints = service.endpoints.filter(({ host }) => host !== "remote-pod");
        await proxy.apply(clusterManifests([{ ...service, endpoints }]));
        const after = await askCrowd(cluster, family, sticky);
        const moved = before.filter((endpoint, i) =>
          endpoint !== "remote-pod:8080" && endpoint !== after[i]
        );
        assert.deepEqual(moved, []);
        assert.ok(!after.includes("remote-pod:8080"), "the endpoint that went is not used");
        await proxy.apply(clusterManifests([service]));
      });
    }
  });
}

/** Which endpoint each of many clients meets. */
function askCrowd(cluster: Cluster, family: IpFamily, address: string): Promise<string[]> {
  return Promise.all(
    crowdAddresses[family].map((source) => ask(cluster, family, { address, port: 80, source })),
  );
}

async function ask(
  cluster: Cluster,
  family: IpFamily,
  to: { readonly address: string; readonly port: number; readonly source?: string },
): Promise<string> {
  const outcome = await cluster.agent.probe({
    namespace: cluster.namespace("client-b"),
    protocol: "TCP",
    timeoutMs: 3000,
    ...to,
  });
  assert.equal(outcome.kind, "reached", `${family} ${to.source} -> ${to.address}:${to.port}`);
  return outcome.kind === "reached" ? outcome.endpoint : "";
}

/** The Service "sticky-short" forgets who was away for two seconds. */
async function untilForgotten(
  cluster: Cluster,
  { mode, family }: { readonly mode: RuleMode; readonly family: IpFamily },
): Promise<void> {
  if (mode.kind === "iptables") {
    // Who is remembered shows only when somebody asks, and who asks is remembered anew.
    return await new Promise((resolve) => setTimeout(resolve, 2_200));
  }
  const deadline = Date.now() + 10_000;
  for (;;) {
    const table = family === "IPv4" ? "ip" : "ip6";
    const pins = await cluster.run("node", ["nft", "list", "sets", table]);
    if (!pins.includes("timeout 2s expires")) return;
    assert.ok(Date.now() < deadline, "the affinity did not expire");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
