import assert from "node:assert/strict";
import type { EndpointSlice, Service } from "../../../lib/kube/objects.ts";
import { SharedRest } from "../../../lib/sync/shared_rest.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
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

Deno.test("FamilySync hears of changes from its source", () =>
  withSync({}, async (rig) => {
    begin(rig);
    await rig.clock.advance(1000);
    rig.state.applyServices({ kind: "replace", objects: [service("web")] });
    rig.state.changed();
    await rig.clock.advance(1000);
    assert.deepEqual(rules(rig), ["test/web/TCP: "]);
  }));

Deno.test("FamilySync tells what the trackers noticed once, after the sync that settled it, failed or not", () =>
  withSync({}, async (rig) => {
    const notices = () => rig.journal.take().filter((entry) => entry.startsWith("notice"));
    rig.writer.failure = new Error("refused");
    begin(rig, [service("web", { externalIPs: ["nonsense"] })]);
    await rig.clock.advance(1000);
    assert.deepEqual(notices(), [
      'notice Service test/web: its external IP "nonsense" is no address',
    ]);
    rig.writer.failure = undefined;
    await rig.clock.advance(60_000);
    assert.deepEqual(notices(), []);
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
    rig.writer.notices = [{ message: "a chain was put back" }];
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
      "ended partial",
      "reconciled 1",
    ]);
    assert.equal(rig.conntrack.flows.length, 0);
  }));

Deno.test("FamilySync repeats a failed first sync a second later", () =>
  withSync({}, async (rig) => {
    rig.writer.failure = new Error("no buffer space");
    begin(rig, [service("web")]);
    await rig.clock.advance(0);
    const tried = rig.writer.calls.length;
    rig.writer.failure = undefined;
    await rig.clock.advance(999);
    assert.equal(rig.writer.calls.length, tried);
    await rig.clock.advance(1);
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
    await rig.clock.advance(1000);
    assert.deepEqual(rules(rig), ["test/dns/UDP: 10.128.0.1"]);
    assert.equal(rig.writer.calls.at(-1)?.kind, "all");
    assert.equal(rig.conntrack.flows.length, 0);
    assert.ok(rig.journal.entries.includes("programmed 1"), rig.journal.entries.join(", "));
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
    assert.deepEqual(rig.journal.take(), ["ended partial", "health queued"]);
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

Deno.test("FamilySync repairs what a look finds while a change waits for it", () =>
  withSync({ intervals: { minMs: 0, retryMs: 60_000, maxMs: 3_600_000 } }, async (rig) => {
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await rig.clock.advance(1000);
    rig.writer.tamper("test/web/TCP");
    rig.writer.duringLook = async () => {
      change(rig, [slice("other", ["10.128.0.2"])]);
      await rig.clock.sleep(100);
    };
    await rig.clock.advance(1100);
    assert.deepEqual(rules(rig), ["test/web/TCP: 10.128.0.1"]);
    assert.ok(rig.writer.calls.slice(1).some(({ kind }) => kind === "all"));
  }));

Deno.test("FamilySync ends a look for which a change waits, and soon looks again", () =>
  withSync({ intervals: { minMs: 0, retryMs: 60_000, maxMs: 3_600_000 } }, async (rig) => {
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await rig.clock.advance(1000);
    const looks: number[] = [];
    rig.writer.duringLook = async (signal) => {
      looks.push(rig.clock.monotonic());
      if (looks.length === 1) await rig.clock.sleep(60_000, signal);
    };
    await rig.clock.advance(1500);
    change(rig, [slice("web", ["10.128.0.2"])]);
    await rig.clock.advance(0);
    assert.deepEqual(rules(rig), ["test/web/TCP: 10.128.0.2"]);
    await rig.clock.advance(2100);
    assert.deepEqual(looks, [2000, 2600, 4000]);
  }));

Deno.test("FamilySync looks when any other family does, whenever each of them began", async () => {
  const looks: string[] = [];
  const clock = new FakeClock();
  const noted = (rig: SyncRig, family: string) => {
    rig.writer.duringLook = () => {
      looks.push(`${family} ${rig.clock.monotonic()}`);
      return Promise.resolve();
    };
    begin(rig);
  };
  await withSync({ clock }, async (first) => {
    noted(first, "IPv4");
    await clock.advance(700);
    await withSync({ clock, family: "IPv6" }, async (second) => {
      noted(second, "IPv6");
      await clock.advance(5000);
    });
  });
  assert.deepEqual(looks, ["IPv4 2000", "IPv6 2000", "IPv4 4000", "IPv6 4000"]);
});

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

Deno.test("FamilySync counts the full-sync time from the last full sync", () =>
  withSync(
    { fullSyncMs: 10_000, intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } },
    async (rig) => {
      begin(rig);
      const kinds: string[] = [];
      for (const wait of [9_999, 1, 5_000, 5_000]) {
        await rig.clock.advance(wait);
        rig.sync.request();
        await rig.clock.advance(0);
        kinds.push(rig.writer.calls.at(-1)?.kind ?? "none");
      }
      assert.deepEqual(kinds, ["some", "all", "some", "all"]);
    },
  ));

Deno.test("FamilySync writes changes before a comparison that only the clock asks for, which comes next", () =>
  withSync(
    { fullSyncMs: 10_000, intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } },
    async (rig) => {
      begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
      const said: string[] = [];
      for (const [wait, address] of [[9_999, 2], [1, 3], [9_999, 4], [1, 5]] as const) {
        await rig.clock.advance(wait);
        const before = rig.writer.calls.length;
        change(rig, [slice("web", [`10.128.0.${address}`])]);
        await rig.clock.advance(0);
        said.push(rig.writer.calls.slice(before).map(({ kind }) => kind).join(" "));
      }
      assert.deepEqual(said, ["some", "some all", "some", "some all"]);
    },
  ));

Deno.test("FamilySync puts a comparison off once, however many changes come meanwhile", () =>
  withSync(
    { fullSyncMs: 10_000, intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } },
    async (rig) => {
      begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
      await rig.clock.advance(10_000);
      const before = rig.writer.calls.length;
      let left = 4;
      const another = () => {
        if (left-- > 0) change(rig, [slice("web", [`10.128.1.${left}`])]);
      };
      rig.writer.during = another;
      another();
      await rig.clock.advance(1_000);
      const kinds = rig.writer.calls.slice(before).map(({ kind }) => kind);
      assert.deepEqual(kinds.slice(0, 3), ["some", "all", "some"]);
      assert.equal(kinds.filter((kind) => kind === "all").length, 1);
    },
  ));

Deno.test("FamilySync compares at once, with the changes, after a failed sync", () =>
  withSync(
    { fullSyncMs: 10_000, intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } },
    async (rig) => {
      begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
      await rig.clock.advance(10_000);
      rig.writer.during = () => {
        rig.writer.during = () => {};
        throw new Error("refused");
      };
      const before = rig.writer.calls.length;
      change(rig, [slice("web", ["10.128.0.2"])]);
      await rig.clock.advance(1_000);
      const kinds = rig.writer.calls.slice(before).map(({ kind }) => kind);
      assert.deepEqual(kinds, ["some", "all"]);
    },
  ));

Deno.test("FamilySync tells health and metrics that it waits, before anything is known", () =>
  withSync({}, (rig) => {
    assert.deepEqual(rig.journal.take(), ["health started", "queued timestamp"]);
    return Promise.resolve();
  }));

Deno.test("FamilySync looks at flows only when endpoints moved, and tells what it found", () =>
  withSync({ intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } }, async (rig) => {
    begin(rig, [service("dns", udp)], [slice("dns", ["10.128.0.1"], udpSlice)]);
    await rig.clock.advance(1000);
    const told = () => rig.logger.lines.filter((line) => line.includes("conntrack"));
    assert.deepEqual(rig.journal.take().filter((entry) => entry.startsWith("reconciled")), [
      "reconciled 0",
    ]);
    rig.sync.request();
    await rig.clock.advance(1000);
    assert.deepEqual(rig.journal.take().filter((entry) => entry.startsWith("reconciled")), []);
    assert.deepEqual(told(), [
      "v4 Finished reconciling conntrack entries ipFamily=IPv4 entriesDeleted=0",
    ]);
  }));

Deno.test("FamilySync stays well when flows cannot be reconciled, and tries again", () =>
  withSync({}, async (rig) => {
    begin(rig, [service("dns", udp)], [slice("dns", ["10.128.0.1"], udpSlice)]);
    staleDnsFlow(rig);
    rig.conntrack.failWith(new Error("invalid argument"));
    await rig.clock.advance(1000);
    assert.ok(rig.logger.lines.some((line) => line.includes("reconcile conntrack")));
    assert.ok(rig.logger.lines.every((line) => !line.includes("Sync failed")));
    rig.conntrack.failWith(undefined);
    await rig.clock.advance(30_000);
    assert.equal(rig.conntrack.flows.length, 0);
    assert.deepEqual(rig.writer.calls.map(({ kind }) => kind), ["all"]);
  }));

Deno.test("FamilySync writes other changes while flows are looked at", () =>
  withSync({ intervals: { minMs: 0, retryMs: 30_000, maxMs: 3_600_000 } }, async (rig) => {
    const services = [service("dns", udp), service("web", { clusterIP: "172.30.0.11" })];
    rig.conntrack.duringListing = () => rig.clock.sleep(60_000);
    staleDnsFlow(rig);
    begin(rig, services, [slice("dns", ["10.128.0.1"], udpSlice)]);
    await rig.clock.advance(0);
    change(rig, [slice("web", ["10.128.0.2"])]);
    await rig.clock.advance(0);
    assert.ok(rules(rig).includes("test/web/TCP: 10.128.0.2"), rules(rig).join(", "));
    assert.equal(rig.conntrack.flows.length, 1);
    await rig.clock.advance(60_000);
    assert.equal(rig.conntrack.flows.length, 0);
  }));

Deno.test("FamilySync looks at flows again that a failed sync held up", () =>
  withSync({ intervals: { minMs: 0, retryMs: 1000, maxMs: 3_600_000 } }, async (rig) => {
    begin(rig, [service("dns", udp)], []);
    await rig.clock.advance(0);
    staleDnsFlow(rig);
    rig.conntrack.duringListing = () => rig.clock.sleep(50);
    change(rig, [slice("dns", ["10.128.0.1"], udpSlice)]);
    await rig.clock.advance(10);
    rig.writer.during = () => rig.clock.sleep(100);
    rig.writer.failure = new Error("no buffer space");
    change(rig, [slice("dns", ["10.128.0.2"], udpSlice)]);
    await rig.clock.advance(90);
    assert.equal(rig.conntrack.flows.length, 1);
    await rig.clock.advance(100);
    assert.equal(rig.conntrack.flows.length, 0);
  }));

Deno.test("FamilySync lets the writer do its own work, after a first success and in its turn", () =>
  withSync({ maintainMs: 5000 }, async (rig) => {
    await rig.clock.advance(5000);
    assert.equal(rig.writer.maintained, 0);
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await rig.clock.advance(5000);
    assert.equal(rig.writer.maintained, 1);
    rig.writer.maintenanceFailure = new Error("busy");
    await rig.clock.advance(5000);
    assert.ok(rig.logger.lines.some((line) => line.includes("Cannot tidy up the rules")));
    await rig.clock.advance(5000);
    assert.equal(rig.writer.maintained, 3);
    assert.deepEqual(rig.writer.calls.map(({ kind }) => kind), ["all"]);
  }));

Deno.test("FamilySync says nothing of the writer's own work that the end cut short", async () => {
  const rig = syncRig({ maintainMs: 1000 });
  const stop = new AbortController();
  const loop = rig.sync.run(stop.signal);
  begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
  rig.writer.maintain = () => {
    stop.abort();
    return Promise.reject(new Error("aborted"));
  };
  await rig.clock.advance(2000);
  await loop;
  assert.ok(rig.logger.lines.every((line) => line.startsWith("v")), rig.logger.lines.join("\n"));
});

Deno.test("FamilySync tells at level 2 how much each sync wrote", () =>
  withSync({}, async (rig) => {
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await rig.clock.advance(1000);
    change(rig, [slice("web", ["10.128.0.2"])]);
    await rig.clock.advance(1000);
    assert.deepEqual(rig.logger.lines.filter((line) => line.includes("Wrote rules")), [
      "v2 Wrote rules ipFamily=IPv4 full=true messages=1",
      "v2 Wrote rules ipFamily=IPv4 full=false messages=1",
    ]);
  }));

Deno.test("FamilySync never asks a writer that has nothing of its own to do", () =>
  withSync({}, async (rig) => {
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await rig.clock.advance(60_000);
    assert.equal(rig.writer.maintained, 0);
  }));

Deno.test("FamilySync stays well when a health check port cannot be opened", () =>
  withSync({ failingHealthChecks: true }, async (rig) => {
    begin(rig, [service("dns", udp)], [slice("dns", ["10.128.0.1"], udpSlice)]);
    staleDnsFlow(rig);
    await rig.clock.advance(1000);
    assert.equal(rig.conntrack.flows.length, 0);
    assert.ok(rig.logger.lines.every((line) => !line.includes("Sync failed")));
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
        assert.ok(six.logger.lines.some((line) => line.includes("Sync failed")));
      }),
  ));

Deno.test("FamilySync goes on at once with what the writer left, and cuts flows only then", async () => {
  await withSync({}, async (rig) => {
    begin(rig, [service("web"), service("dns", { ...udp, clusterIP: "172.30.0.10" })]);
    await rig.clock.advance(0);
    staleDnsFlow(rig);
    rig.writer.unfinished = new Set(["test/dns/UDP"]);
    change(rig, [slice("web", ["10.0.0.1"]), slice("dns", ["10.0.0.2"], udpSlice)]);
    await rig.clock.advance(1000);
    const [left, rest] = rig.writer.calls.slice(-2).map((changes) =>
      changes.kind === "some" ? [...changes.services].sort() : changes.kind
    );
    assert.deepEqual([left, rest], [["test/dns/UDP", "test/web/TCP"], ["test/dns/UDP"]]);
    assert.equal(rig.conntrack.flows.length, 0);
    assert.deepEqual(rules(rig), ["test/web/TCP: 10.0.0.1", "test/dns/UDP: 10.0.0.2"]);
  });
});

Deno.test("FamilySync goes on at once with giants that the trackers have not weighed yet", async () => {
  await withSync({}, async (rig) => {
    const ports = Array.from({ length: 20 }, (_, i) => ({
      name: `p${i}`,
      protocol: "TCP" as const,
      port: 1_000 + i,
    }));
    const names = ["a", "b", "c"];
    const servicePorts = ports.map((port) => ({ ...port, nodePort: 0 }));
    begin(
      rig,
      names.map((name, i) => service(name, { clusterIP: `172.30.0.${i}`, ports: servicePorts })),
    );
    await rig.clock.advance(0);
    const addresses = Array.from({ length: 6_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    change(rig, names.map((name) => slice(name, addresses, { ports })));
    await rig.clock.advance(1_000);
    const served = [...rig.writer.rules.values()].filter(({ clusterEndpoints }) =>
      clusterEndpoints.length === addresses.length
    );
    assert.equal(served.length, names.length * ports.length);
  });
});

Deno.test("FamilySync rests after a sync that wrote, and not after one that found all as it should be", async () => {
  const clock = new FakeClock();
  const rest = new SharedRest({ times: 1, leastMs: 500, mostMs: 500 });
  const intervals = { minMs: 0, retryMs: 30_000, maxMs: 3_600_000, rest };
  await withSync({ clock, intervals }, async (rig) => {
    begin(rig, [service("web")], [slice("web", ["10.128.0.1"])]);
    await clock.advance(0);
    assert.ok(rest.until > clock.monotonic(), "it wrote");
    await clock.advance(500);
    const until = rest.until;
    rig.sync.request();
    await clock.advance(0);
    assert.equal(rest.until, until, "nothing was to be written");
  });
});
