/** What planted_faults_test.ts asks of nftables mode, for the rules that iptables mode's Services share. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { iptablesModes, nameOfMode, type Setup, setupsOf } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { describeWrong, runFates } from "./rig/fates.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster, listProxyRules, restoreProxyRules } from "./rig/shop_cluster.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const families = isFull ? ipFamilies : ipFamilies.slice(0, 1);
const modes = isFull ? iptablesModes : iptablesModes.slice(0, 1);

/** Rules that no packet of a quiet cluster misses; recorded_rules_test.ts compares them with upstream's. */
const unseen: readonly { readonly rule: RegExp; readonly why: string }[] = [
  { rule: /-A KUBE-POSTROUTING .*--set-xmark/, why: "nobody reads the mark behind it" },
  { rule: /-A INPUT .*"kubernetes health check/, why: "nothing here drops what nobody accepts" },
  { rule: /-A (INPUT|OUTPUT) -j KUBE-FIREWALL$/, why: "no stranger claims to be 127.0.0.1" },
  { rule: /-A KUBE-FIREWALL /, why: "no stranger claims to be 127.0.0.1" },
  { rule: /-A KUBE-FORWARD .*INVALID/, why: "no packet is out of its window" },
  { rule: /-A FORWARD .*-j KUBE-FORWARD$/, why: "below: beside a firewall" },
  { rule: /-A KUBE-FORWARD /, why: "below: beside a firewall" },
];

/** A rule of no single Service: in no chain of one, and none is named. */
function isShared(line: string): boolean {
  return line.startsWith("-A ") && !line.includes("shop/") &&
    !/^-A KUBE-(SVC|SVL|EXT|FW|SEP)-/.test(line);
}

for (const mode of modes) {
  Deno.test(`each rule that Services share is missed by some packet, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    const [, , , setup] = setupsOf(mode);
    {
      await using _proxy = await new InProcessProgrammer().start(cluster, {
        manifests: clusterManifests(shopServices),
        setup,
      });
    }
    for (const family of families) await tryFaults(test, cluster, { setup, family });
  });
}

async function tryFaults(
  test: Deno.TestContext,
  cluster: Cluster,
  place: { readonly setup: Setup; readonly family: IpFamily },
): Promise<void> {
  const { family, setup: { mode } } = place;
  const lines = (await listProxyRules(cluster, { mode, family })).trimEnd().split("\n");
  const without = (index: number, added: readonly string[] = []) => {
    const rules = lines.toSpliced(index, index < 0 ? 0 : 1);
    const [filter] = added.length > 0 ? [rules.indexOf("COMMIT", rules.indexOf("*filter"))] : [0];
    return restoreProxyRules(cluster, {
      mode,
      family,
      rules: rules.toSpliced(filter, 0, ...added),
    });
  };
  const options = { services: shopServices, rows: shopFates, ...place, answerTimeoutMs: 1000 };
  for (const [index, line] of lines.entries()) {
    if (!isShared(line) || unseen.some(({ rule }) => rule.test(line))) continue;
    await test.step(`${family} without ${line}`, async () => {
      await without(index);
      assert.notEqual(describeWrong(await runFates(cluster, options)), "");
    });
  }
  // What leaves for other hosts is accepted for being marked, or for answering what was.
  const firewall = ["-A FORWARD -j DROP"];
  const rows = shopFates.filter(({ from, to, protocol, expect }) =>
    from === "client-a" && to.kind === "load-balancer-ip" && expect.kind === "external" &&
    protocol === "TCP"
  );
  assert.ok(rows.length > 0);
  for (const [index, line] of lines.entries()) {
    const isMeant = line.includes("-j KUBE-FORWARD") || /-A KUBE-FORWARD .*forwarding/.test(line);
    if (!isMeant) continue;
    await test.step(`${family} beside a firewall, without ${line}`, async () => {
      await without(-1, firewall);
      assert.equal(describeWrong(await runFates(cluster, { ...options, rows })), "");
      await without(index, firewall);
      assert.notEqual(describeWrong(await runFates(cluster, { ...options, rows })), "");
    });
  }
  await without(-1);
  // The rules were put back.
  assert.equal(describeWrong(await runFates(cluster, options)), "");
}
