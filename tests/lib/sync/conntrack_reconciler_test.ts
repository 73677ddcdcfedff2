import assert from "node:assert/strict";
import { FakeConntrack } from "../../../lib/kernel/conntrack/fake_conntrack.ts";
import type { ServicePort } from "../../../lib/snapshot/snapshot.ts";
import { ConntrackReconciler } from "../../../lib/sync/conntrack_reconciler.ts";
import { endpointOf, servicePortOf } from "../../fakes/service_ports.ts";

const never = new AbortController().signal;
const dns = servicePortOf({
  name: "dns",
  protocol: "UDP",
  clusterIP: "172.30.0.10",
  port: 53,
  nodePort: 30_053,
  servingEndpoints: [endpointOf("10.128.0.4:53")],
});
const statsd = servicePortOf({
  name: "statsd",
  protocol: "UDP",
  clusterIP: "172.30.0.11",
  port: 8125,
  servingEndpoints: [endpointOf("10.128.0.5:8125")],
});

function tableWith(...flows: readonly (readonly [string, number, string])[]): FakeConntrack {
  return new FakeConntrack(flows.map(([destination, destinationPort, answeredBy], i) => {
    const endpoint = endpointOf(answeredBy);
    const client = { source: "10.128.7.7", sourcePort: 4000 + i };
    return {
      family: "IPv4" as const,
      protocol: 17,
      original: { ...client, destination, destinationPort },
      reply: {
        source: endpoint.ip,
        sourcePort: endpoint.port,
        destination: client.source,
        destinationPort: client.sourcePort,
      },
    };
  }));
}

function mapOf(...ports: readonly ServicePort[]): ReadonlyMap<string, ServicePort> {
  return new Map(ports.map((port) => [port.key, port]));
}

function left(table: FakeConntrack): readonly string[] {
  return table.flows.map(({ original, reply }) => `${original.destination} ${reply.source}`);
}

Deno.test("ConntrackReconciler ends stale flows of all changed Services and no others", async () => {
  const table = tableWith(
    ["172.30.0.10", 53, "10.128.0.4:53"],
    ["172.30.0.10", 53, "10.128.0.9:53"],
    ["192.168.0.2", 30_053, "10.128.0.9:53"],
    ["172.30.0.11", 8125, "10.128.0.9:8125"],
    ["192.168.44.1", 53, "192.168.44.1:53"],
  );
  const reconciler = new ConntrackReconciler("IPv4", table);
  const ports = mapOf(dns, statsd);
  reconciler.note(new Set(ports.keys()), { udpPorts: ports, endpointsChanged: true });
  assert.equal(reconciler.due, true);
  assert.deepEqual(await reconciler.reconcile(never), { removed: 3, complete: true });
  assert.equal(reconciler.due, false);
  assert.deepEqual(left(table), ["172.30.0.10 10.128.0.4", "192.168.44.1 192.168.44.1"]);
});

Deno.test("ConntrackReconciler is not due after changes of Services alone, but heeds them later", async () => {
  const table = tableWith(["172.30.0.10", 53, "172.30.0.10:53"]);
  const reconciler = new ConntrackReconciler("IPv4", table);
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(dns), endpointsChanged: false });
  assert.equal(reconciler.due, false);
  reconciler.note(new Set([statsd.key]), { udpPorts: mapOf(dns, statsd), endpointsChanged: true });
  assert.equal((await reconciler.reconcile(never)).removed, 1);
});

Deno.test("ConntrackReconciler keeps what it could not look at", async () => {
  const table = tableWith(["172.30.0.10", 53, "10.128.0.9:53"]);
  const reconciler = new ConntrackReconciler("IPv4", table);
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(dns), endpointsChanged: true });
  table.failWith(new Error("no buffer space"));
  await assert.rejects(
    reconciler.reconcile(never),
    /^Error: Cannot end stale UDP flows: no buffer space$/,
  );
  assert.equal(reconciler.due, true);
  table.failWith(undefined);
  assert.equal((await reconciler.reconcile(never)).removed, 1);
});

Deno.test("ConntrackReconciler works with a part of the table when it gets no more", async () => {
  const table = tableWith(
    ["172.30.0.10", 53, "10.128.0.9:53"],
    ["172.30.0.10", 53, "10.128.0.8:53"],
  );
  table.interruptListings(true);
  const reconciler = new ConntrackReconciler("IPv4", table);
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(dns), endpointsChanged: true });
  assert.deepEqual(await reconciler.reconcile(never), { removed: 1, complete: false });
});

Deno.test("ConntrackReconciler leaves flows of Services that did not change alone", async () => {
  const table = new FakeConntrack();
  const reconciler = new ConntrackReconciler("IPv4", table);
  const ports = mapOf(dns, statsd);
  reconciler.note(new Set(ports.keys()), { udpPorts: ports, endpointsChanged: true });
  await reconciler.reconcile(never);
  for (const flow of tableWith(["172.30.0.11", 8125, "10.128.0.9:8125"]).flows) table.add(flow);
  reconciler.note(new Set([dns.key]), { udpPorts: ports, endpointsChanged: true });
  assert.equal((await reconciler.reconcile(never)).removed, 0);
  reconciler.note(new Set([statsd.key]), { udpPorts: ports, endpointsChanged: true });
  assert.equal((await reconciler.reconcile(never)).removed, 1);
});

Deno.test("ConntrackReconciler leaves flows alone whose rules are being written", async () => {
  const table = tableWith(
    ["172.30.0.10", 53, "10.128.0.9:53"],
    ["172.30.0.11", 8125, "10.128.0.9:8125"],
  );
  const reconciler = new ConntrackReconciler("IPv4", table);
  const ports = mapOf(dns, statsd);
  reconciler.note(new Set(ports.keys()), { udpPorts: ports, endpointsChanged: true });
  table.duringListing = () => reconciler.begin(new Set([dns.key]));
  assert.equal((await reconciler.reconcile(never)).removed, 1);
  assert.deepEqual(left(table), ["172.30.0.10 10.128.0.9"]);
  assert.equal(reconciler.due, true);
  table.duringListing = () => {};
  reconciler.abandon();
  assert.equal((await reconciler.reconcile(never)).removed, 1);
  assert.equal(reconciler.due, false);
});

Deno.test("ConntrackReconciler keeps a flow whose endpoint comes back while the table is read", async () => {
  const table = tableWith(["172.30.0.10", 53, "10.128.0.9:53"]);
  const reconciler = new ConntrackReconciler("IPv4", table);
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(dns), endpointsChanged: true });
  const back = { ...dns, servingEndpoints: [endpointOf("10.128.0.9:53")] };
  table.duringListing = () => {
    reconciler.begin(new Set([dns.key]));
    reconciler.note(new Set([dns.key]), { udpPorts: mapOf(back), endpointsChanged: true });
  };
  assert.equal((await reconciler.reconcile(never)).removed, 0);
  // What changed meanwhile is not taken for looked at.
  assert.equal(reconciler.due, true);
});

Deno.test("ConntrackReconciler keeps what changed while it failed", async () => {
  const table = tableWith(
    ["172.30.0.10", 53, "10.128.0.9:53"],
    ["172.30.0.11", 8125, "10.128.0.9:8125"],
  );
  const reconciler = new ConntrackReconciler("IPv4", table);
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(dns), endpointsChanged: true });
  table.duringListing = () => {
    const udpPorts = mapOf(dns, statsd);
    reconciler.note(new Set([statsd.key]), { udpPorts, endpointsChanged: true });
    throw new Error("no buffer space");
  };
  await assert.rejects(reconciler.reconcile(never));
  table.duringListing = () => {};
  assert.equal((await reconciler.reconcile(never)).removed, 2);
});

Deno.test("ConntrackReconciler forgets a Service that went before its flows were looked at", async () => {
  const table = tableWith(["172.30.0.10", 53, "10.128.0.9:53"]);
  const reconciler = new ConntrackReconciler("IPv4", table);
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(dns), endpointsChanged: false });
  reconciler.note(new Set([dns.key]), { udpPorts: mapOf(), endpointsChanged: true });
  assert.equal((await reconciler.reconcile(never)).removed, 0);
  assert.equal(table.flows.length, 1);
});
