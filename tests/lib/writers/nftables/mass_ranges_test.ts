import assert from "node:assert/strict";
import { Harness } from "./harness.ts";
import { addresses, servicePort } from "./samples.ts";

const guarded = (number: number, ranges: number) =>
  servicePort({
    name: `web${number}`,
    clusterIP: addresses.IPv4.clusterIP(number),
    loadBalancerVIPs: [addresses.IPv4.loadBalancer(number)],
    sourceRanges: Array.from({ length: ranges }, (_, index) => `10.${index}.0.0/16`),
  });

interface Case {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly isRebuilt: boolean;
}

const cases: readonly Case[] = [
  { name: "a few ranges go one by one", from: 60, to: 10, isRebuilt: false },
  { name: "many ranges go with their set", from: 61, to: 10, isRebuilt: true },
  { name: "all ranges of many go with their set", from: 100, to: 0, isRebuilt: true },
];

for (const { from, isRebuilt, name, to } of cases) {
  Deno.test(`sync() of source ranges: ${name}`, async () => {
    const harness = new Harness();
    await harness.put(guarded(1, from), guarded(2, 3));
    const mark = harness.nftables.commits.length;
    const report = await harness.put(guarded(1, to));
    assert.equal(report.full, false);
    const batches = harness.batchesSince(mark);
    assert.equal(batches.length, 1);
    assert.equal(batches[0].some(({ kind }) => kind === "delete-set"), isRebuilt);
    assert.equal(harness.table(), await harness.cleanStart());
  });

  Deno.test(`sync() of a new process, source ranges: ${name}`, async () => {
    const harness = new Harness();
    await harness.put(guarded(1, from), guarded(2, 3));
    harness.arrange([guarded(1, to)]);
    const mark = harness.nftables.commits.length;
    harness.restart();
    await harness.all();
    const isSetDeleted = harness.batchesSince(mark).flat().some(({ kind }) =>
      kind === "delete-set"
    );
    assert.equal(isSetDeleted, isRebuilt);
    assert.equal(harness.table(), await harness.cleanStart());
  });
}

Deno.test("sync() of a new process removes many ranges of a Service that is gone", async () => {
  const harness = new Harness();
  await harness.put(guarded(1, 80), guarded(2, 3));
  harness.arrange([], ["ns/web1:p80/TCP"]);
  harness.restart();
  await harness.all();
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});
