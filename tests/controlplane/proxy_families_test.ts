/** A change that concerns one address family is no work for the other. */
import assert from "node:assert/strict";
import { endpointSliceObject, serviceObject } from "./rig/objects.ts";
import { sumSeries } from "./rig/prometheus.ts";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { ourProgram, ProxyProcess } from "./rig/proxy_process.ts";
import { Quiet } from "./rig/quiet.ts";
import {
  namespaceName,
  nodeAddresses,
  nodeName,
  podAddresses,
  type PodName,
  SmallCluster,
  untilAnsweredBy,
} from "./rig/small_cluster.ts";
import { until } from "./rig/table_owner.ts";

const clusterIPs = { IPv4: "172.30.0.10", IPv6: "fd00:172:30::10" } as const;
type Family = keyof typeof clusterIPs;
const families: readonly Family[] = ["IPv4", "IPv6"];
const metricsPort = 10249;
const DEADLINE_MS = 5_000;

function slice(family: Family, pod: PodName) {
  return endpointSliceObject({
    namespace: namespaceName,
    name: `web-${family.toLowerCase()}`,
    service: "web",
    addresses: [podAddresses[pod][family]],
    addressType: family,
  });
}

async function syncCounts(): Promise<Record<Family, number>> {
  const answer = await fetch(`http://${nodeAddresses.IPv4}:${metricsPort}/metrics`);
  const page = await answer.text();
  const count = (ip_family: Family) =>
    sumSeries(page, "kubeproxy_sync_proxy_rules_duration_seconds_count", { ip_family });
  return { IPv4: count("IPv4"), IPv6: count("IPv6") };
}

Deno.test("a change of one family's slice is a sync of that family alone", async () => {
  await using cluster = await SmallCluster.create();
  const { api } = cluster;
  await api.create(serviceObject({
    namespace: namespaceName,
    name: "web",
    spec: {
      clusterIP: clusterIPs.IPv4,
      clusterIPs: Object.values(clusterIPs),
      ipFamilyPolicy: "RequireDualStack",
    },
  }));
  for (const family of families) await api.create(slice(family, "a"));
  await using files = await ProxyFiles.create(cluster.plane.access, {
    clusterCIDR: "10.128.0.0/14,fd00:10:128::/48",
    metricsBindAddress: `0.0.0.0:${metricsPort}`,
  });
  await using process = new ProxyProcess({
    program: ourProgram(),
    namespace: cluster.node,
    args: files.args(nodeName),
  });
  await process.inSync();
  const quiet = await Quiet.since(process, { plane: cluster.plane, without: ["namespaces"] });
  for (const family of families) await untilAnsweredBy("a", clusterIPs[family]);
  for (const family of families) {
    const before = await syncCounts();
    for (const pod of ["b", "a", "b"] as const) {
      await api.update(slice(family, pod));
      await untilAnsweredBy(pod, clusterIPs[family]);
    }
    // Rules are in force a moment before that is counted.
    await until(`three syncs of ${family}`, DEADLINE_MS, async () => {
      return (await syncCounts())[family] === before[family] + 3;
    });
    const other = family === "IPv4" ? "IPv6" : "IPv4";
    assert.equal((await syncCounts())[other], before[other]);
    await quiet.check();
  }
});
