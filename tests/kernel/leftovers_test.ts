import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterIP, hostAddresses, loadBalancerIP } from "../scenarios/addresses.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { type Setup, setups } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { describeWrong, runFates } from "./rig/fates.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

/** Services that another mode once sent to pod-b, and that now go elsewhere or nowhere. */
const stale: readonly { readonly number: number; readonly port: number; readonly what: string }[] =
  [
    { number: 10, port: 80, what: "endpoints changed" },
    { number: 10, port: 9999, what: "the port is gone" },
    { number: 16, port: 80, what: "no endpoints any more" },
    { number: 15, port: 80, what: "local only, and none here" },
    { number: 11, port: 80, what: "a load balancer's" },
    { number: 250, port: 80, what: "the Service is gone" },
  ];

Deno.test("rules that another mode left behind at the usual priority change no fate", async (test) => {
  await using cluster = await createShopCluster();
  const setup: Setup = { ...setups[0], leftovers: true };
  for (const family of ipFamilies) await leaveBehind(cluster, family);
  await using _proxy = await new InProcessProgrammer().start(cluster, {
    manifests: clusterManifests(shopServices),
    setup,
  });
  for (const family of ipFamilies) {
    const options = { services: shopServices, rows: shopFates, setup, family };
    await test.step(`${family}: all fates`, async () => {
      assert.equal(describeWrong(await runFates(cluster, options)), "");
    });
    await test.step(`${family}: without keep-destination some are wrong`, async () => {
      const table = family === "IPv4" ? "ip" : "ip6";
      await cluster.run("node", ["nft", "flush", "chain", table, "kube-proxy", "keep-destination"]);
      const results = await runFates(cluster, { ...options, answerTimeoutMs: 1000 });
      assert.notEqual(describeWrong(results), "");
    });
  }
});

/** What a proxy of another mode does, in few rules: at priority dstnat, after ours. */
async function leaveBehind(cluster: Cluster, family: IpFamily): Promise<void> {
  const ip = family === "IPv4" ? "ip" : "ip6";
  const address = hostAddresses["pod-b"][family];
  const to = family === "IPv4" ? `${address}:8080` : `[${address}]:8080`;
  const rules = stale.flatMap(({ number, port }) =>
    [clusterIP(number)[family], loadBalancerIP(number)[family]].map((from) =>
      `${ip} daddr ${from} tcp dport ${port} dnat to ${to}`
    )
  ).join("\n");
  const chain = (hook: string) =>
    `chain ${hook} {\ntype nat hook ${hook} priority -100; policy accept;\njump stale\n}`;
  const chains = [`chain stale {\n${rules}\n}`, chain("prerouting"), chain("output")];
  const script = `table ${ip} leftovers {\n${chains.join("\n")}\n}\n`;
  await cluster.run("node", ["nft", "-f", "-"], script);
}
