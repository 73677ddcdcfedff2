import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterIP } from "../scenarios/addresses.ts";
import type { ServiceDescription } from "../scenarios/description.ts";
import { type Manifest, serviceManifests } from "../scenarios/manifests.ts";
import { setups } from "../scenarios/setups.ts";
import type { Cluster } from "./rig/cluster.ts";
import { InProcessProgrammer } from "./rig/programmers/in_process.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

const CONNECTIONS = 26;
const ports = [{ port: 80, protocol: "TCP", targetPort: 8080 }] as const;
const victim: ServiceDescription = {
  name: "victim",
  number: 90,
  type: "ClusterIP",
  ports,
  endpoints: [{ host: "pod-b" }],
};
const thief: ServiceDescription = {
  name: "thief",
  number: 91,
  type: "LoadBalancer",
  ports,
  endpoints: [{ host: "pod-a" }],
};

Deno.test("a cluster IP is answered by its own Service, however old another is that names it", async () => {
  await using cluster = await createShopCluster();
  const wanted = ipFamilies.map((family) => clusterIP(victim.number)[family]);
  const young = serviceManifests(victim).map((manifest) => created(manifest, "2026-02-02"));
  const old = serviceManifests(thief).map((manifest) => created(manifest, "2026-01-01"));
  const ways: readonly [string, readonly Manifest[]][] = [
    ["external IPs", old.map((manifest) => withExternalIPs(manifest, wanted))],
    ["load balancer addresses", old.map((manifest) => withIngress(manifest, wanted))],
  ];
  for (const [way, claiming] of ways) {
    await using proxy = await new InProcessProgrammer().start(cluster, {
      manifests: claiming,
      setup: setups[0],
    });
    for (const family of ipFamilies) {
      assert.deepEqual(await whoAnswers(cluster, family), ["pod-a:8080"], `${way}: nobody has it`);
    }
    await proxy.apply(young);
    for (const family of ipFamilies) {
      assert.deepEqual(await whoAnswers(cluster, family), ["pod-b:8080"], `${way}: it has come`);
    }
    await proxy.apply(claiming);
    for (const family of ipFamilies) {
      assert.deepEqual(await whoAnswers(cluster, family), ["pod-b:8080"], `${way}: named again`);
    }
  }
});

function created(manifest: Manifest, day: string): Manifest {
  const metadata = { ...manifest.metadata, creationTimestamp: `${day}T00:00:00Z` };
  return { ...manifest, metadata };
}

function withExternalIPs(manifest: Manifest, externalIPs: readonly string[]): Manifest {
  if (manifest.kind !== "Service") return manifest;
  return { ...manifest, spec: { ...Object(manifest.spec), externalIPs } };
}

function withIngress(manifest: Manifest, addresses: readonly string[]): Manifest {
  if (manifest.kind !== "Service") return manifest;
  const ingress = addresses.map((ip) => ({ ip, ipMode: "VIP" }));
  return { ...manifest, status: { loadBalancer: { ingress } } };
}

/** The endpoints that many connections meet. */
async function whoAnswers(cluster: Cluster, family: IpFamily): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const outcome = await cluster.agent.probe({
        namespace: cluster.namespace("client-b"),
        protocol: "TCP",
        address: clusterIP(victim.number)[family],
        port: 80,
        timeoutMs: 3000,
      });
      return outcome.kind === "reached" ? outcome.endpoint : outcome.kind;
    }),
  );
  return [...new Set(answers)].sort();
}
