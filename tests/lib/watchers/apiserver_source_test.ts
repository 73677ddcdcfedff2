/** What the watches of all resources ask an apiserver for. */
import assert from "node:assert/strict";
import { systemClock as clock } from "../../../lib/base/clock.ts";
import { createApiserverSource } from "../../../lib/watchers/apiserver_source.ts";
import { FakeApiserver } from "../../fakes/apiserver.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";
import { createTestClient } from "../../fakes/kube_client.ts";

const label = "networking.k8s.io/kube-proxy";
const service = (namespace: string, name: string) => ({
  metadata: { namespace, name },
  spec: { clusterIP: "172.30.0.10", clusterIPs: ["172.30.0.10"], ports: [{ port: 80 }] },
});

/** The Services of the first batch, and the field selectors of all questions by the resource's path. */
async function firstServices(optOut: { readonly delayMs: number } | undefined) {
  await using server = await FakeApiserver.start();
  server.put("namespaces", { metadata: { name: "mesh", labels: { [label]: "disabled" } } });
  server.put("namespaces", { metadata: { name: "shop" } });
  server.put("services", service("mesh", "hidden"));
  server.put("services", service("shop", "web"));
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
  });
  const stop = new AbortController();
  const source = createApiserverSource({
    client,
    nodeName: "node-a",
    ...(optOut && { optOut }),
    clock,
    log: new FakeLogger(),
    signal: stop.signal,
  });
  try {
    for await (const batch of source.services.watch(stop.signal)) {
      assert.ok(batch.kind === "replace");
      const names = batch.objects.map(({ name }) => name);
      const asked = server.requests.map(({ path, query }) =>
        `${path.split("/").at(-1)}: ${query.get("fieldSelector") ?? query.get("labelSelector")}`
      );
      return { names, asked };
    }
    return assert.fail("the watch ended");
  } finally {
    stop.abort();
    transport[Symbol.dispose]();
  }
}

Deno.test("createApiserverSource() does not ask for Services of namespaces that are opted out", async () => {
  const { asked, names } = await firstServices({ delayMs: 10 });
  assert.deepEqual(names, ["web"]);
  assert.ok(asked.some((each) => each.startsWith(`namespaces: ${label}=disabled`)), asked.join());
  assert.ok(
    asked.some((each) => /^services: .*metadata\.namespace!=mesh/.test(each)),
    asked.join(),
  );
});

Deno.test("createApiserverSource() serves every namespace where none may opt out", async () => {
  const { asked, names } = await firstServices(undefined);
  assert.deepEqual(names.toSorted(), ["hidden", "web"]);
  assert.ok(asked.every((each) => each.startsWith("services: spec.clusterIP!=None")), asked.join());
});
