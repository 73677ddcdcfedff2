/** What the mode tells the rest of the program: its pace, what it owns, beside whom it serves. */
import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../../lib/base/metrics.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { Leftover } from "../../../../lib/writers/leftovers.ts";
import { createRuntime } from "../../../../lib/writers/nftables/mod.ts";
import { FakeLogger } from "../../../fakes/fake_logger.ts";
import { everyShape, snapshotOf } from "./samples.ts";

const signal = new AbortController().signal;
const runtime = createRuntime({ masqueradeBit: 14 });

Deno.test("everything is compared once an hour, and others' edits are looked for every two seconds", async () => {
  assert.deepEqual(await runtime.pace({ kernel: new FakeKernel(), syncPeriodMs: 30_000 }), {
    minSyncPeriodMs: 0,
    gathering: { quietMs: 1, mostMs: 10 },
    fullSyncMs: 3_600_000,
    partialSyncs: true,
    driftCheckMs: 2_000,
    maintainMs: 2_000,
  });
});

Deno.test("its writer follows changes by the system's clock, and counts failures", async () => {
  const kernel = new FakeKernel();
  const own = createRuntime({ masqueradeBit: 14 });
  const registry = new MetricsRegistry();
  own.registerMetrics(registry);
  await using writer = await own.createWriter({
    family: "IPv4",
    kernel,
    logger: new FakeLogger(),
  });
  const shapes = everyShape("IPv4");
  assert.ok((await writer.sync(snapshotOf("IPv4", shapes), { kind: "all" }, signal)).full);
  const [gone, ...rest] = shapes;
  const services = new Set([gone.key]);
  const some = { kind: "some", services, settings: false } as const;
  const { full, written } = await writer.sync(snapshotOf("IPv4", rest), some, signal);
  assert.ok(!full && written > 0, `full ${full}, ${written} written`);
  await writer.maintain(signal);
  assert.equal(await writer.drifted(signal), false);
  await assert.rejects(
    writer.sync(
      { ...snapshotOf("IPv4", rest), services: undefined as never },
      { kind: "all" },
      signal,
    ),
  );
  assert.match(await registry.expose(), /nftables_sync_failures_total\{ip_family="IPv4"\} 1/);
});

Deno.test("its own table is no leftover, and of others ipvs mode alone decides before it", () => {
  const found = (mode: string): Leftover => ({ mode, backend: mode, family: "IPv4", objects: [] });
  assert.deepEqual([runtime.owns(found("nftables")), runtime.owns(found("iptables"))], [
    true,
    false,
  ]);
  const beside = ["iptables", "ipvs"].map((mode) => runtime.servesBeside?.(found(mode)));
  assert.deepEqual(beside, [true, false]);
  assert.equal(runtime.outranks?.(found("iptables")), true);
  assert.deepEqual(runtime.differsBeside?.(found("iptables")), []);
  assert.equal(runtime.differsBeside?.(found("ipvs")).length, 2);
});
