import assert from "node:assert/strict";
import { nftText } from "../../../../lib/kernel/nftables/text.ts";
import { tableOf } from "../../../../lib/writers/nftables/mod.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const web = (pods: readonly number[], affinitySeconds: number) =>
  servicePort({
    name: "web",
    clusterIP: addresses.IPv4.clusterIP(1),
    affinitySeconds,
    clusterEndpoints: endpoints("IPv4", ...pods.map((pod) => [9, pod] as const)),
  });

/** The operations since a mark, as text, without the names that hashes make long. */
function textSince(harness: Harness, mark: number): readonly string[] {
  return harness.batchesSince(mark).map((batch) =>
    nftText(tableOf("IPv4"), batch)
      .replaceAll(/[A-Z2-7]{8}-ns\/web\/tcp\/p80(__10\.128\.9\.)?/g, "")
      .replaceAll(" ip kube-proxy", "")
  );
}

Deno.test("sync() of another affinity time rewrites rules and touches no set: clients stay", async () => {
  const harness = new Harness();
  await harness.put(web([1], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1], 90));
  assert.deepEqual(textSince(harness, mark), [
    "flush chain endpoint-1/8080\n" +
    "add rule endpoint-1/8080 update @affinity-1/8080 { ip saddr timeout 90s }\n" +
    "add rule endpoint-1/8080 meta l4proto tcp dnat to 10.128.9.1:8080\n",
  ]);
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
});

Deno.test("sync() of a new endpoint makes its chain before anything leads there", async () => {
  const harness = new Harness();
  await harness.put(web([1], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1, 2], 60));
  const [prepare, main, ...more] = textSince(harness, mark);
  assert.match(prepare, /^add set affinity-2\/8080 .*\nadd chain endpoint-2\/8080\n/);
  assert.doesNotMatch(prepare, /service-/);
  assert.match(main, /^flush chain service-\n/);
  assert.match(main, /numgen random mod 2/);
  assert.deepEqual(more, []);
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
});

Deno.test("sync() of an endpoint that left empties its chain, and a later batch deletes it", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1], 60));
  await harness.drifted();
  const [main, tidy] = textSince(harness, mark);
  assert.match(main, /^flush chain service-\n[^]*flush chain endpoint-2\/8080\n$/);
  assert.equal(
    tidy,
    "flush chain endpoint-2/8080\ndelete set affinity-2/8080\ndelete chain endpoint-2/8080\n",
  );
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
});

Deno.test("sync() takes an endpoint back that left a moment ago, with its clients", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  await harness.put(web([1], 60));
  const mark = harness.nftables.commits.length;
  await harness.put(web([1, 2], 60));
  assert.ok(textSince(harness, mark).every((text) => !/delete|add set/.test(text)));
  await harness.drifted();
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
});

Deno.test("sync() goes from affinity to lists and back", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  for (const seconds of [0, 60, 0]) {
    const report = await harness.put(web([1, 2], seconds));
    assert.equal(report.full, false);
    await harness.drifted();
    assert.equal(harness.nftables.dump(), await harness.cleanStart());
  }
});

Deno.test("sync() of a new process adopts chains and sets of affinity", async () => {
  const harness = new Harness();
  await harness.put(web([1, 2], 60));
  harness.restart();
  assert.equal((await harness.all()).written, 0);
});
