/** Namespace opt-out at the source, with the rights that deploy/rbac.yaml gives. */
import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { systemClock as clock } from "../../lib/base/clock.ts";
import { createApiserverSource } from "../../lib/watchers/apiserver_source.ts";
import { CollectingLog, createTestClient, Follower } from "../fakes/kube_client.ts";
import { ApiClient, type ManifestObject } from "./rig/api.ts";
import { ControlPlane } from "./rig/control_plane.ts";
import { away, complaints } from "./rig/follow.ts";
import { endpointSliceObject, namespaceObject, serviceObject } from "./rig/objects.ts";

const label = "networking.k8s.io/kube-proxy";
const names = Array.from({ length: 10 }, (_, i) => `ns-${i}`);

/** LISTs of a resource over all namespaces, as the apiserver counts them. */
async function clusterLists(api: ApiClient): Promise<number> {
  const page = await api.requestText("GET", "/metrics");
  return page.split("\n")
    .filter((line) => line.startsWith("apiserver_request_total{") && line.includes('verb="LIST"'))
    .filter((line) => line.includes('scope="cluster"'))
    .filter((line) => /resource="(services|endpointslices)"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

Deno.test("opted-out namespaces are left out by a real apiserver", async (test) => {
  await using plane = await ControlPlane.start();
  const { access } = plane;
  using api = new ApiClient(access);
  const rbac = parseAllDocuments(await Deno.readTextFile("deploy/rbac.yaml"));
  await api.create(namespaceObject("kube-system")).catch(() => {});
  const objects: ManifestObject[] = rbac.map((document) => document.toJS());
  for (const object of objects) await api.create(object);
  for (const namespace of names) {
    await api.create(
      namespaceObject(namespace, namespace === "ns-9" ? { [label]: "disabled" } : {}),
    );
    await api.create(serviceObject({ namespace, name: "web" }));
    await api.create(endpointSliceObject({ namespace, name: "web", addresses: ["10.128.0.1"] }));
  }

  const { client, transport, received } = createTestClient({
    url: access.url,
    caCertificate: access.caCertificate,
    access: { token: { kind: "inline", text: access.proxyToken } },
  });
  const log = new CollectingLog();
  const stop = new AbortController();
  const source = createApiserverSource({
    client,
    nodeName: "node-1",
    optOut: { delayMs: 100 },
    clock,
    log,
    signal: stop.signal,
  });
  const services = new Follower(source.services.watch(stop.signal));
  const slices = new Follower(source.endpointSlices.watch(stop.signal));
  const setLabel = (namespace: string, value: string | null) =>
    api.patch(namespaceObject(namespace), { metadata: { labels: { [label]: value } } });
  const both = (name: string, there: boolean) => () =>
    services.objects.has(name) === there && slices.objects.has(name) === there;

  const quiet = (says: readonly RegExp[] = []) => {
    assert.deepEqual(complaints(log, says), []);
    log.lines.length = 0;
  };

  try {
    await test.step("what is out at the start never arrives", async () => {
      await services.until("services", () => services.objects.has("ns-0/web"));
      await slices.until("slices", () => slices.objects.has("ns-0/web"));
      assert.ok(both("ns-9/web", false)());
      quiet();
    });

    await test.step("a label takes a namespace out within 3 s, and brings it back, without a full list", async () => {
      // Proves that the watches are open.
      await api.create(serviceObject({ namespace: "ns-0", name: "first" }));
      await services.until("the watch", () => services.objects.has("ns-0/first"));
      const listsBefore = await clusterLists(api);
      await setLabel("ns-1", "disabled");
      await services.until("ns-1 gone", both("ns-1/web", false), 3_000);
      await api.create(serviceObject({ namespace: "ns-1", name: "meanwhile" }));
      await setLabel("ns-1", null);
      await setLabel("ns-9", null);
      await services.until(
        "both back",
        () =>
          both("ns-1/web", true)() && both("ns-9/web", true)() &&
          services.objects.has("ns-1/meanwhile"),
        3_000,
      );
      assert.equal(await clusterLists(api), listsBefore);
      assert.equal(services.batches.filter((b) => b.kind === "replace" && !b.namespace).length, 1);
      quiet();
    });

    await test.step("any other value leaves a namespace in", async () => {
      await setLabel("ns-2", "enabled");
      await api.create(serviceObject({ namespace: "ns-2", name: "served" }));
      await services.until("the Service", () => services.objects.has("ns-2/served"));
    });

    await test.step("changes in an opted-out namespace cost no byte", async () => {
      await setLabel("ns-3", "disabled");
      await services.until("ns-3 gone", both("ns-3/web", false), 3_000);
      await api.create(serviceObject({ namespace: "ns-4", name: "new-watch" }));
      await services.until("the new watch", () => services.objects.has("ns-4/new-watch"));
      received.length = 0;
      for (let i = 0; i < 100; i++) {
        await api.create(serviceObject({ namespace: "ns-3", name: `noise-${i}` }));
      }
      await api.create(serviceObject({ namespace: "ns-4", name: "end" }));
      await services.until("the last change", () => services.objects.has("ns-4/end"));
      const arrived = received.filter(({ resource }) => resource === "services");
      assert.equal(arrived.reduce((sum, { objects }) => sum + objects, 0), 1);
      quiet();
    });

    await test.step("a killed apiserver between label and watch changes nothing in the end", async () => {
      await setLabel("ns-5", "disabled");
      await setLabel("ns-3", null);
      await plane.stopApiserver();
      await plane.startApiserver();
      await services.until(
        "the end state",
        () =>
          both("ns-5/web", false)() && both("ns-3/web", true)() &&
          services.objects.has("ns-3/noise-99"),
        15_000,
      );
      quiet(away);
    });

    await test.step("a deleted namespace that comes back without the label is served", async () => {
      await api.delete(serviceObject({ namespace: "ns-5", name: "web" }));
      await api.delete(endpointSliceObject({ namespace: "ns-5", name: "web", addresses: [] }));
      await api.delete(namespaceObject("ns-5"));
      const again = async () => {
        const path = "/api/v1/namespaces/ns-5";
        return await api.request("GET", path).then(() => false, () => true);
      };
      for (let i = 0; i < 100 && !await again(); i++) await clock.sleep(50);
      await api.create(namespaceObject("ns-5"));
      await api.create(serviceObject({ namespace: "ns-5", name: "reborn" }));
      await services.until("the Service", () => services.objects.has("ns-5/reborn"));
      quiet();
    });

    await test.step("of 2,000 names out, each is left out, whoever filters it", async () => {
      const many = Array.from({ length: 2_000 }, (_, i) => `many-${String(i).padStart(4, "0")}`);
      const [first, last] = [many[0], many[many.length - 1]];
      await api.createAll(many.map((name) => namespaceObject(name, { [label]: "disabled" })));
      await api.create(serviceObject({ namespace: "ns-0", name: "after-2000" }));
      await services.until("the watch", () => services.objects.has("ns-0/after-2000"));
      // Time for a set that still grows, and for the watches that leave it out.
      await clock.sleep(1_000);
      for (const namespace of [first, last]) {
        await api.create(serviceObject({ namespace, name: "web" }));
        await api.create(
          endpointSliceObject({ namespace, name: "web", addresses: ["10.128.0.1"] }),
        );
      }
      await api.create(serviceObject({ namespace: "ns-0", name: "fence" }));
      await services.until("the fence", () => services.objects.has("ns-0/fence"), 3_000);
      for (const namespace of [first, last]) {
        assert.ok(both(`${namespace}/web`, false)(), namespace);
      }
      for (const namespace of [first, last]) {
        await setLabel(namespace, null);
        await services.until(`${namespace} in`, both(`${namespace}/web`, true), 3_000);
      }
      for (const namespace of [first, last]) {
        await setLabel(namespace, "disabled");
        await services.until(`${namespace} out`, both(`${namespace}/web`, false), 3_000);
      }
      quiet();
    });
  } finally {
    stop.abort();
    await Promise.all([services.done, slices.done]);
    transport[Symbol.dispose]();
  }
});
