import assert from "node:assert/strict";
import type { EndpointSlice, Service } from "../../../lib/kube/objects.ts";
import { service, slice, type SyncRig, syncRig, withSync } from "./rig.ts";

const udp = { ports: [{ name: "", protocol: "UDP", port: 53, nodePort: 0 }] } as const;
const udpSlice = { ports: [{ name: "", protocol: "UDP", port: 53 }] } as const;

/** The first complete state is there. */
function begin(
  rig: SyncRig,
  services: readonly Service[] = [],
  slices: readonly EndpointSlice[] = [],
) {
  rig.state.applyServices({ kind: "replace", objects: services });
  rig.state.applyEndpointSlices({ kind: "replace", objects: slices });
  rig.complete = true;
  rig.sync.request();
}

function change(rig: SyncRig, slices: readonly EndpointSlice[]) {
  rig.state.applyEndpointSlices({
    kind: "changes",
    changes: slices.map((object) => ({ kind: "upsert", object })),
  });
  rig.sync.request();
}

function staleDnsFlow(rig: SyncRig): void {
  rig.conntrack.add({
    family: "IPv4",
    protocol: 17,
    original: {
      source: "10.128.7.7",
      destination: "172.30.0.10",
      sourcePort: 4000,
      destinationPort: 53,
    },
    reply: {
      source: "10.128.0.99",
      destination: "10.128.7.7",
      sourcePort: 53,
      destinationPort: 4000,
    },
  });
}

/** What the writer would have in the kernel: `key: endpoints`. */
function rules(rig: SyncRig): readonly string[] {
  return [...rig.writer.rules.values()].map(({ key, clusterEndpoints }) =>
    `${key}: ${clusterEndpoints.map(({ ip }) => ip).join(" ")}`
  );
}

Deno.test("FamilySync programs nothing before the first complete state", async () => {
  const rig = syncRig();
  const stop = new AbortController();
  const loop = rig.sync.run(stop.signal);
  rig.state.applyServices({ kind: "replace", objects: [service("web")] });
  rig.sync.request();
  await rig.clock.advance(60_000);
  assert.deepEqual(rig.writer.calls, []);
  assert.ok(!rig.journal.entries.includes("health queued"));
  begin(rig, [service("web")]);
  await rig.clock.advance(1000);
  assert.deepEqual(rules(rig), ["test/web/TCP: "]);
  stop.abort();
  await rig.clock.advance(0);
  await loop;
});

Deno.test("FamilySync compares all at first, then writes what changed", () =>
  withSync({}, async (rig) => {
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await rig.clock.advance(1000);
    change(rig, [slice("web", ["10.128.0.2"])]);
    await rig.clock.advance(1000);
    assert.deepEqual(rules(rig), ["test/web/TCP: 10.128.0.2"]);
    assert.deepEqual(rig.writer.calls.map(({ kind }) => kind), ["all", "some"]);
  }));

Deno.test("FamilySync does what follows a success in upstream's order", () =>
  withSync({}, async (rig) => {
    begin(rig);
    await rig.clock.advance(1000);
    const dns = service("dns", {
      ...udp,
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 31_000,
    });
    rig.state.applyServices({ kind: "replace", objects: [dns] });
    staleDnsFlow(rig);
    rig.writer.notices = [{ kind: "repaired", message: "a chain was put back" }];
    rig.journal.take();
    change(rig, [
      slice("dns", ["10.128.0.1"], { ...udpSlice, triggerTimeMs: rig.clock.now() - 250 }),
    ]);
    await rig.clock.advance(0);
    assert.deepEqual(rig.journal.take(), [
      "health queued",
      "queued timestamp",
      "programmed 0.25",
      "counts",
      "health updated",
      "sync timestamp",
      "notice a chain was put back",
      "health checks test/dns=1",
      "reconciled 1",
      "ended partial",
    ]);
    assert.equal(rig.conntrack.flows.length, 0);
  }));

Deno.test("FamilySync repeats a failed first sync after the retry interval", () =>
  withSync({}, async (rig) => {
    rig.writer.failure = new Error("no buffer space");
    begin(rig, [service("web")]);
    await rig.clock.advance(0);
    const tried = rig.writer.calls.length;
    rig.writer.failure = undefined;
    await rig.clock.advance(29_999);
    assert.equal(rig.writer.calls.length, tried);
    await rig.clock.advance(1001);
    assert.deepEqual(rules(rig), ["test/web/TCP: "]);
  }));

Deno.test("FamilySync loses nothing with a failed sync: changes, flows and trigger times come again", () =>
  withSync({}, async (rig) => {
    begin(rig, [service("dns", udp)]);
    await rig.clock.advance(1000);
    staleDnsFlow(rig);
    rig.writer.failure = new Error("no buffer space");
    change(rig, [slice("dns", ["10.128.0.1"], { ...udpSlice, triggerTimeMs: rig.clock.now() })]);
    await rig.clock.advance(0);
    assert.equal(rig.conntrack.flows.length, 1);
    rig.writer.failure = undefined;
    rig.journal.take();
    await rig.clock.advance(30_000);
    assert.deepEqual(rules(rig), ["test/dns/UDP: 10.128.0.1"]);
    assert.equal(rig.writer.calls.at(-1)?.kind, "all");
    assert.equal(rig.conntrack.flows.length, 0);
    assert.ok(rig.journal.entries.includes("programmed 30"), rig.journal.entries.join(", "));
  }));

Deno.test("FamilySync says a failure once a minute, with the time of the next try", () =>
  withSync({ intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } }, async (rig) => {
    rig.writer.failure = new Error("no buffer space");
    begin(rig);
    await rig.clock.advance(59_000);
    assert.deepEqual(rig.logger.lines, ["error Sync failed ipFamily=IPv4 retryingTime=1s"]);
  }));

Deno.test("FamilySync counts a failure that nobody asked for as a change that waits", () =>
  withSync({ intervals: { minMs: 0, retryMs: 1000, maxMs: 5000 } }, async (rig) => {
    begin(rig);
    await rig.clock.advance(4999);
    rig.writer.failure = new Error("no buffer space");
    rig.journal.take();
    await rig.clock.advance(1);
    assert.deepEqual(rig.journal.take(), ["failed", "ended partial", "health queued"]);
  }));

Deno.test("FamilySync repairs foreign changes within seconds, whatever the minimum interval", () =>
  withSync({ intervals: { minMs: 60_000, retryMs: 60_000, maxMs: 3_600_000 } }, async (rig) => {
    begin(rig, [service("web")]);
    await rig.clock.advance(60_000);
    rig.writer.tamper("test/web/TCP");
    await rig.clock.advance(2000);
    assert.deepEqual(rules(rig), ["test/web/TCP: "]);
    assert.equal(rig.writer.calls.at(-1)?.kind, "all");
    const calls = rig.writer.calls.length;
    await rig.clock.advance(10_000);
    assert.equal(rig.writer.calls.length, calls);
  }));

Deno.test("FamilySync retries a failed repair", () =>
  withSync({ intervals: { minMs: 0, retryMs: 2000, maxMs: 3_600_000 } }, async (rig) => {
    begin(rig, [service("web")]);
    await rig.clock.advance(0);
    rig.writer.tamper("test/web/TCP");
    rig.writer.failure = new Error("no buffer space");
    await rig.clock.advance(2000);
    assert.deepEqual(rules(rig), []);
    rig.writer.failure = undefined;
    await rig.clock.advance(2000);
    assert.deepEqual(rules(rig), ["test/web/TCP: "]);
  }));

Deno.test("FamilySync never asks its writer for two things at once", () =>
  withSync({ intervals: { minMs: 0, retryMs: 2000, maxMs: 3_600_000 } }, async (rig) => {
    rig.writer.during = () => rig.clock.sleep(5000);
    begin(rig, [service("web")]);
    await rig.clock.advance(5000);
    rig.sync.request();
    await rig.clock.advance(20_000);
    assert.deepEqual(rig.logger.lines.filter((line) => line.startsWith("error")), []);
  }));

Deno.test("FamilySync keeps a change that came during a sync waiting in the eyes of health", () =>
  withSync({}, async (rig) => {
    begin(rig);
    await rig.clock.advance(1000);
    rig.writer.during = () => {
      rig.writer.during = () => {};
      rig.sync.request();
    };
    rig.journal.take();
    rig.sync.request();
    await rig.clock.advance(0);
    const health = rig.journal.take().filter((entry) => entry.startsWith("health"));
    assert.deepEqual(health, [
      "health queued",
      "health queued",
      "health updated",
      "health queued",
      "health checks",
    ]);
  }));

Deno.test("FamilySync compares all again after the full-sync time", () =>
  withSync(
    { fullSyncMs: 10_000, intervals: { minMs: 0, retryMs: 1000, maxMs: 4000 } },
    async (rig) => {
      begin(rig);
      await rig.clock.advance(12_000);
      assert.deepEqual(rig.writer.calls.map(({ kind }) => kind), ["all", "some", "some", "all"]);
    },
  ));

Deno.test("FamilySync stays well when flows cannot be reconciled, and tries again", () =>
  withSync({}, async (rig) => {
    begin(rig, [service("dns", udp)], [slice("dns", ["10.128.0.1"], udpSlice)]);
    staleDnsFlow(rig);
    rig.conntrack.failWith(new Error("invalid argument"));
    await rig.clock.advance(1000);
    assert.ok(rig.logger.lines.some((line) => line.includes("reconcile conntrack")));
    assert.ok(!rig.journal.entries.includes("failed"));
    rig.conntrack.failWith(undefined);
    await rig.clock.advance(30_000);
    assert.equal(rig.conntrack.flows.length, 0);
    assert.deepEqual(
      rig.writer.calls.map(({ kind }) => kind),
      ["all", "some"],
    );
  }));

Deno.test("FamilySync stays well when a health check port cannot be opened", () =>
  withSync({ failingHealthChecks: true }, async (rig) => {
    begin(rig, [service("dns", udp)], [slice("dns", ["10.128.0.1"], udpSlice)]);
    staleDnsFlow(rig);
    await rig.clock.advance(1000);
    assert.equal(rig.conntrack.flows.length, 0);
    assert.ok(!rig.journal.entries.includes("failed"));
  }));

Deno.test("an error in one family's sync never stops the other", () =>
  withSync(
    { family: "IPv6" },
    (six) =>
      withSync({ family: "IPv4", clock: six.clock }, async (four) => {
        six.writer.failure = new Error("IPv6 is broken");
        begin(six);
        begin(four, [service("web")], [slice("web", ["10.128.0.1"])]);
        four.sync.request();
        await six.clock.advance(1000);
        change(four, [slice("web", ["10.128.0.2"])]);
        await six.clock.advance(1000);
        assert.deepEqual(rules(four), ["test/web/TCP: 10.128.0.2"]);
        assert.ok(six.journal.entries.includes("failed"));
      }),
  ));
