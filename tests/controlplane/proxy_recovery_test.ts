/**
 * What upstream's proxy loses and this one must not: a first sync that failed, the ending of UDP flows
 * when the sync that should have caused it failed, a slice that moves to another Service, and a service
 * range that comes late.
 */
import assert from "node:assert/strict";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { ourProgram, ProxyProcess } from "./rig/proxy_process.ts";
import { Quiet } from "./rig/quiet.ts";
import {
  namespaceName,
  nodeName,
  podAddresses,
  podPort,
  SmallCluster,
  untilAnsweredBy,
  whoAnswers,
} from "./rig/small_cluster.ts";
import type { ManifestObject } from "./rig/api.ts";
import { endpointSliceObject, serviceObject } from "./rig/objects.ts";
import { rules, TableOwner, until } from "./rig/table_owner.ts";

const web = "172.30.0.10";
const other = "172.30.0.11";
const dns = "172.30.0.12";
const DEADLINE_MS = 15_000;

Deno.test("what upstream loses in a failed sync or a moved object is not lost", async (test) => {
  await using cluster = await SmallCluster.create();
  const { api } = cluster;
  await createServices(cluster);
  // Failed syncs are tried again after the sync period, which nobody wants to wait for here.
  await using files = await ProxyFiles.create(cluster.plane.access, {
    clusterCIDR: "10.128.0.0/14",
    syncPeriod: "1s",
  });
  const start = () =>
    new ProxyProcess({
      program: ourProgram(),
      namespace: cluster.node,
      args: files.args(nodeName),
    });

  const toWatch = { plane: cluster.plane, without: ["namespaces"] };

  await test.step("a first sync that fails is tried again without any change", async () => {
    await using owner = await TableOwner.take(cluster);
    await using process = start();
    await process.said("Sync failed");
    assert.equal(await whoAnswers(web), undefined);
    await owner.release();
    await process.inSync(DEADLINE_MS);
    assert.equal(await whoAnswers(web), "a");
    const quiet = await Quiet.since(process, { ...toWatch, says: [/"Sync failed"/] });
    await quiet.check();
  });

  const before = (await cluster.plane.asked()).length;
  await using process = start();
  await process.inSync();
  const quiet = await Quiet.since(process, { ...toWatch, before });

  await test.step("a slice that moves to another Service leaves the one and joins the other", async () => {
    await api.update(slice("web", { service: "other" }));
    await untilAnsweredBy("a", other, { deadlineMs: DEADLINE_MS });
    assert.equal(await whoAnswers(web), undefined);
    await api.update(slice("web"));
    await untilAnsweredBy("a", web, { deadlineMs: DEADLINE_MS });
    assert.equal(await whoAnswers(other), undefined);
    await quiet.check();
  });

  await test.step("a service range that comes late is in force within a second", async () => {
    const range = "10.250.0.0/24";
    const object = {
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name: "late" },
      spec: { cidrs: [range] },
    };
    await api.create(object);
    await until(
      "the range among the rules",
      1_000,
      async () => (await rules(cluster)).includes(range),
    );
    await api.delete(object);
    await quiet.check();
  });

  await test.step("flows to an endpoint that went in a failed sync are ended all the same", async () => {
    await speakUdp(cluster);
    assert.notEqual(await flowsTo(cluster, podAddresses.a.IPv4), "");
    const owner = await TableOwner.take(cluster);
    await api.update(udpSlice("b"));
    await process.said("Sync failed", DEADLINE_MS);
    await owner[Symbol.asyncDispose]();
    await until(
      "the end of the flow",
      DEADLINE_MS,
      async () => (await flowsTo(cluster, podAddresses.a.IPv4)) === "",
    );
    await quiet.check({ says: [/"Sync failed"/] });
  });
});

async function createServices({ agent, api, pods }: SmallCluster): Promise<void> {
  const service = (name: string, clusterIP: string, spec = {}) =>
    serviceObject({ namespace: namespaceName, name, spec: { clusterIP, ...spec } });
  await api.create(service("web", web));
  await api.create(service("other", other));
  await api.create(service("dns", dns, {
    ports: [{ name: "dns", port: 53, protocol: "UDP", targetPort: podPort }],
  }));
  await api.create(slice("web"));
  await api.create(udpSlice("a"));
  for (const [name, { IPv4: address }] of Object.entries(podAddresses)) {
    await agent.serve({ namespace: pods, name, protocol: "UDP", address, port: podPort });
  }
}

function slice(name: string, { service = name } = {}): ManifestObject {
  const addresses = [podAddresses.a.IPv4];
  return endpointSliceObject({ namespace: namespaceName, name, service, addresses });
}

function udpSlice(pod: keyof typeof podAddresses): ManifestObject {
  const addresses = [podAddresses[pod].IPv4];
  return {
    ...endpointSliceObject({ namespace: namespaceName, name: "dns", addresses }),
    ports: [{ name: "dns", port: podPort, protocol: "UDP" }],
  };
}

async function speakUdp({ agent, plane }: SmallCluster): Promise<void> {
  const { namespace } = plane.access;
  const probe = { namespace, protocol: "UDP", address: dns, port: 53, timeoutMs: 1_000 } as const;
  await until(
    "an answer by UDP",
    DEADLINE_MS,
    async () => (await agent.probe(probe)).kind === "reached",
  );
}

/** Connections of the Service that a pod answers. */
async function flowsTo(cluster: SmallCluster, pod: string): Promise<string> {
  const flows = await cluster.onNode([
    "conntrack",
    "-L",
    "-p",
    "udp",
    "--orig-dst",
    dns,
    "--reply-src",
    pod,
  ]);
  return flows.trim();
}
