/** A proxy that may not see Namespaces serves all of them and says so once; granted later, it follows the label. */
import assert from "node:assert/strict";
import { namespaceObject } from "./rig/objects.ts";
import { OptOutCluster, optOutLabel, reachableService } from "./rig/opt_out_cluster.ts";
import { whoAnswers } from "./rig/small_cluster.ts";

const REFUSAL = "The apiserver does not serve this resource";

Deno.test({ name: "run without the right to see Namespaces", sanitizeOps: false }, async (test) => {
  await using cluster = await OptOutCluster.create({ rights: false });
  const { api } = cluster;
  await api.create(namespaceObject("mesh", { [optOutLabel]: "disabled" }));
  const service = reachableService("mesh", "shop", { number: 1 });
  for (const object of service.objects) await api.create(object);
  const [address] = service.clusterIPs;

  await test.step("everything is served, and that opt-out is off is said once", async () => {
    await using proxy = await cluster.startProxy();
    assert.equal(await whoAnswers(address), "a");
    const later = reachableService("mesh", "later", { number: 2 });
    for (const object of later.objects) await api.create(object);
    await until(async () => await whoAnswers(later.clusterIPs[0]) === "a");
    assert.equal(proxy.count(REFUSAL), 1, proxy.log());
    assert.equal(proxy.count("namespaces"), 1, proxy.log());
  });

  await test.step("the role of deploy/rbac.yaml is all that was missing", async () => {
    await cluster.grantRights();
    await using proxy = await cluster.startProxy();
    assert.equal(await whoAnswers(address), undefined);
    assert.equal(proxy.count(REFUSAL), 0, proxy.log());
  });

  await test.step("--namespace-opt-out=false serves everything and watches no Namespaces", async () => {
    await using _proxy = await cluster.startProxy(["--namespace-opt-out=false"]);
    assert.equal(await whoAnswers(address), "a");
    assert.doesNotMatch(await cluster.proxyPage(), /resource="namespaces"/);
    assert.doesNotMatch(await cluster.proxyPage(), /^kubeproxy_optout/m);
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!await condition()) {
    assert.ok(Date.now() < deadline, "not in 10 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
