import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterIP, hostAddresses, loadBalancerIP } from "../scenarios/addresses.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { type Setup, setups, setupsOf } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { describeWrong, runFates } from "./rig/fates.ts";
import { ourProgramArgv } from "./rig/our_program.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { ManifestFolder, ProgramProcess } from "./rig/programmers/program.ts";
import { underLoad } from "./rig/under_load.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

/** The ruleset is looked at every five seconds, and then written once. */
const GONE_DEADLINE_MS = 10_000;

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

Deno.test("iptables mode's old rules in iptables' nft backend change no fate, and go unnoticed by none", async (test) => {
  await using cluster = await createShopCluster();
  await using folder = await ManifestFolder.create(clusterManifests(shopServices));
  const [setup] = setups;
  for (const family of ipFamilies) await leaveIptablesRules(cluster, family);
  await using proxy = await ProgramProcess.start(cluster, { folder, setup });
  for (const family of ipFamilies) {
    await test.step(`${family}: all fates`, async () => {
      const options = { services: shopServices, rows: shopFates, setup, family };
      assert.equal(describeWrong(await runFates(cluster, options)), "");
    });
  }
  await test.step("the program says what it found and what removes it", () => {
    assert.match(proxy.log(), /iptables mode \(nft, IPv4\): chain ip nat KUBE-SERVICES/);
    assert.match(proxy.log(), /To remove them: kube-proxy cleanup --mode iptables/);
  });
  await test.step("when they are gone, so are the rules that were only for them", async () => {
    const isNeeded = async () =>
      (await cluster.run("node", ["nft", "list", "ruleset"])).includes("goto keep-destination");
    assert.ok(await isNeeded());
    await underLoad(cluster, { address: clusterIP(10), perSecond: 200 }, async () => {
      const argv = [...ourProgramArgv(), "cleanup", "--mode=iptables"];
      assert.match(await cluster.run("node", argv), /iptables mode: removed \d+ things\n$/);
    });
    const deadline = performance.now() + GONE_DEADLINE_MS;
    while (await isNeeded()) {
      assert.ok(performance.now() < deadline, `they are still there:\n${proxy.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.match(proxy.log(), /The rules that another proxy mode left are gone/);
  });
});

Deno.test("nftables mode's old table, which is asked first, changes no fate of iptables mode", async (test) => {
  await using cluster = await createShopCluster();
  await using folder = await ManifestFolder.create(clusterManifests(shopServices));
  const [setup] = setupsOf({ kind: "iptables", backend: "nft" });
  for (const family of ipFamilies) {
    await leaveBehind(cluster, family, { table: "kube-proxy", priority: -101 });
  }
  await using proxy = await ProgramProcess.start(cluster, { folder, setup });
  const isAsleep = async () =>
    (await cluster.run("node", ["nft", "list", "ruleset"])).match(/flags dormant/g)?.length === 2;
  const deadline = performance.now() + GONE_DEADLINE_MS;
  while (!await isAsleep()) {
    assert.ok(performance.now() < deadline, `the tables are awake:\n${proxy.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const family of ipFamilies) {
    const options = { services: shopServices, rows: shopFates, setup, family };
    await test.step(`${family}: all fates`, async () => {
      assert.equal(describeWrong(await runFates(cluster, options)), "");
    });
    await test.step(`${family}: awake it would make some wrong`, async () => {
      const ip = family === "IPv4" ? "ip" : "ip6";
      await cluster.run("node", ["nft", "add", "table", ip, "kube-proxy", "{", "}"]);
      const results = await runFates(cluster, { ...options, answerTimeoutMs: 1000 });
      assert.notEqual(describeWrong(results), "");
    });
  }
  assert.match(proxy.log(), /To remove them: kube-proxy cleanup --mode nftables/);
});

/** The same by iptables itself, at its priority and under the names of iptables mode. */
async function leaveIptablesRules(cluster: Cluster, family: IpFamily): Promise<void> {
  const program = family === "IPv4" ? "iptables-nft" : "ip6tables-nft";
  const address = hostAddresses["pod-b"][family];
  const to = family === "IPv4" ? `${address}:8080` : `[${address}]:8080`;
  const rules = stale.flatMap(({ number, port }) =>
    [clusterIP(number)[family], loadBalancerIP(number)[family]].map((from) =>
      `-A KUBE-SERVICES -d ${from} -p tcp -m tcp --dport ${port} -j DNAT --to-destination ${to}`
    )
  );
  const lines = [
    "*nat",
    ":KUBE-SERVICES - [0:0]",
    ...["PREROUTING", "OUTPUT"].map((chain) =>
      `-A ${chain} -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`
    ),
    ...rules,
    "COMMIT",
    "",
  ];
  await cluster.run("node", [`${program}-restore`, "--noflush"], lines.join("\n"));
}

/** What a proxy of another mode does, in few rules: at priority dstnat, after ours, where nothing else is said. */
async function leaveBehind(
  cluster: Cluster,
  family: IpFamily,
  { priority, table } = { priority: -100, table: "leftovers" },
): Promise<void> {
  const ip = family === "IPv4" ? "ip" : "ip6";
  const address = hostAddresses["pod-b"][family];
  const to = family === "IPv4" ? `${address}:8080` : `[${address}]:8080`;
  const rules = stale.flatMap(({ number, port }) =>
    [clusterIP(number)[family], loadBalancerIP(number)[family]].map((from) =>
      `${ip} daddr ${from} tcp dport ${port} dnat to ${to}`
    )
  ).join("\n");
  const chain = (hook: string) =>
    `chain ${hook} {\ntype nat hook ${hook} priority ${priority}; policy accept;\njump stale\n}`;
  const chains = [`chain stale {\n${rules}\n}`, chain("prerouting"), chain("output")];
  const script = `table ${ip} ${table} {\n${chains.join("\n")}\n}\n`;
  await cluster.run("node", ["nft", "-f", "-"], script);
}
