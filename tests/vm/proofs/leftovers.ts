/**
 * ipvs mode's leftovers beside other modes: which packets still meet them before the cleanup, and that
 * a cleanup under the traffic of others harms none of it.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { ourProgram, type ProxyProgram } from "../../controlplane/rig/proxy_process.ts";
import type { Cluster } from "../../kernel/rig/cluster.ts";
import { runFates } from "../../kernel/rig/fates.ts";
import { ourProgramArgv } from "../../kernel/rig/our_program.ts";
import { ApiserverProgrammer } from "../../kernel/rig/programmers/apiserver.ts";
import { createShopCluster } from "../../kernel/rig/shop_cluster.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import type { ServiceDescription } from "../../scenarios/description.ts";
import { clusterManifests, type Manifest } from "../../scenarios/manifests.ts";
import {
  iptablesModes,
  ipvsModes,
  nftablesMode,
  type Setup,
  setupsOf,
} from "../../scenarios/setups.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { GuestPlane } from "../inside/guest_plane.ts";
import { ProofNode, upstreams } from "../inside/proof.ts";
import { summaryOf, Traffic } from "../inside/traffic.ts";
import { tellOutside } from "../outside.ts";

const [ipvs] = ipvsModes;
const [iptables] = iptablesModes;
/** So many packets may meet what ipvs mode left, until it is cleaned up. */
const MOST_DIFFERENT = 5;

for (const program of [upstreams(), ourProgram()]) {
  Deno.test(`what ${program.name} left of ipvs mode changes few fates of nftables mode, and none after a cleanup`, async () => {
    await using cluster = await createShopCluster();
    await using programmer = await ApiserverProgrammer.create(program, await GuestPlane.open());
    await leaveBehind(cluster, programmer);
    const [setup] = setupsOf(nftablesMode);
    const manifests = clusterManifests(shopServices);
    await using proxy = await programmer.start(cluster, {
      manifests,
      setup,
      program: ourProgram(),
    });

    const before = await wrongFates(cluster, setup);
    tellOutside("measured", { title: `fates that differ beside ipvs of ${program.name}`, before });
    assert.ok(before.length <= MOST_DIFFERENT, before.join("\n"));
    assert.match(proxy.process.log(), /ipvs mode/);

    await cluster.run("node", [...ourProgramArgv(), "cleanup", "--mode=ipvs"]);
    assert.deepEqual(await wrongFates(cluster, setup), []);
  });
}

/** A proxy that served the same Services when they had other endpoints, all of them gone now. */
async function leaveBehind(cluster: Cluster, programmer: ApiserverProgrammer): Promise<void> {
  const old = shopServices.map((service): ServiceDescription => ({
    ...service,
    endpoints: service.endpoints.map((endpoint, i) => ({ ...endpoint, copy: i + 1 })),
  }));
  const [setup] = setupsOf(ipvs);
  const manifests: readonly Manifest[] = clusterManifests(old);
  await (await programmer.start(cluster, { manifests, setup }))[Symbol.asyncDispose]();
}

async function wrongFates(cluster: Cluster, setup: Setup): Promise<readonly string[]> {
  const results = await Promise.all(
    ipFamilies.map((family) =>
      runFates(cluster, { services: shopServices, rows: shopFates, setup, family })
    ),
  );
  return results.flat().filter(({ right }) => !right)
    .map(({ name, expected, seen }) => `${name}: expected ${expected}, saw ${seen.join("; ")}`);
}

/** What is cleaned up while what serves. */
const pairs: readonly { readonly old: ProxyProgram; readonly isIpvsOld: boolean }[] = [
  { old: ourProgram(), isIpvsOld: true },
  { old: ourProgram(), isIpvsOld: false },
];

for (const { old, isIpvsOld } of pairs) {
  const [from, to] = isIpvsOld ? [ipvs, iptables] : [iptables, ipvs];
  Deno.test(`${from.kind} mode is cleaned up under ${to.kind} mode's traffic, and another's virtual server answers`, async () => {
    await using node = await ProofNode.create();
    await addForeignServer(node.cluster);
    await (await node.start(old, from))[Symbol.asyncDispose]();
    await using _new = await node.start(ourProgram(), to);
    const traffic = await Traffic.start(node.cluster);
    await node.cluster.run("node", [...ourProgramArgv(), "cleanup", `--mode=${from.kind}`]);
    await traffic.look("cleanup has ended");
    const report = await traffic.stop();
    tellOutside("measured", {
      title: `${from.kind} cleaned up under ${to.kind}`,
      ...summaryOf(report),
    });
    assert.deepEqual([report.cut, report.failed], [[], {}]);
    assert.equal(await askForeignServer(node.cluster), "reached");
  });
}

const foreign = { address: "192.168.1.200", port: 8088 } as const;

/** As keepalived makes them: an address of its own on a link of its own. */
async function addForeignServer(cluster: Cluster): Promise<void> {
  const service = `${foreign.address}:${foreign.port}`;
  const endpoint = `${hostAddresses["pod-b"].IPv4}:8080`;
  await cluster.run("node", ["ip", "link", "add", "vip0", "type", "dummy"]);
  await cluster.run("node", ["ip", "address", "add", `${foreign.address}/32`, "dev", "vip0"]);
  await cluster.run("node", ["ipvsadm", "-A", "-t", service, "-s", "rr"]);
  await cluster.run("node", ["ipvsadm", "-a", "-t", service, "-r", endpoint, "-m"]);
  assert.equal(await askForeignServer(cluster), "reached");
}

async function askForeignServer(cluster: Cluster): Promise<string> {
  const { kind } = await cluster.agent.probe({
    namespace: cluster.namespace("client-a"),
    protocol: "TCP",
    timeoutMs: 15_000,
    ...foreign,
  });
  return kind;
}
