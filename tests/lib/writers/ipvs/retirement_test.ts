/** Destinations that wait for their last connection. */
import assert from "node:assert/strict";
import type { IpvsFrontend } from "../../../../lib/kernel/ipvs/ipvs.ts";
import type { Protocol } from "../../../../lib/base/protocol.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort, snapshotOf } from "./samples.ts";

const clusterIP = addresses.IPv4.clusterIP(1);
const [stays, leaves] = endpoints("IPv4", [1, 2], [9, 2]);

function portWith(protocol: Protocol, ...clusterEndpoints: readonly typeof stays[]) {
  return servicePort({ name: "web", protocol, clusterIP, clusterEndpoints });
}

const frontend: IpvsFrontend = { family: "IPv4", protocol: "tcp", address: clusterIP, port: 80 };
const waiting = "-a -t 172.30.0.1:80 -r 10.128.9.2:8080 -m -w 0";

/** A server from which one endpoint goes while it has connections. */
async function leaving(connections: { readonly active: number; readonly inactive?: number }) {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [portWith("TCP", stays, leaves)]));
  const connect = (counts: typeof connections) =>
    harness.kernel.ipvs.setConnections(
      frontend,
      { address: leaves.ip, port: leaves.port },
      counts,
    );
  connect(connections);
  const after = portWith("TCP", stays);
  const snapshot = snapshotOf("IPv4", [after]);
  await harness.some(snapshot, after);
  const pass = async (seconds: number) => {
    await harness.clock.advance(seconds * 1000);
    await harness.maintain();
  };
  return { harness, connect, pass, snapshot, isThere: () => harness.servers().includes(waiting) };
}

Deno.test("a destination with connections gets no new ones and goes after the last", async () => {
  const { connect, harness, isThere, pass, snapshot } = await leaving({ active: 2, inactive: 1 });
  assert.ok(isThere());
  await pass(3600);
  assert.ok(isThere());
  assert.equal(await harness.drifted(), false);
  assert.equal((await harness.full(snapshot)).written, 0);
  connect({ active: 0 });
  await pass(10);
  assert.ok(!isThere());
  assert.equal(await harness.drifted(), false);
});

Deno.test("a destination without connections goes at once", async () => {
  const { harness } = await leaving({ active: 0 });
  assert.deepEqual(harness.servers(), [
    "-A -t 172.30.0.1:80 -s rr",
    "-a -t 172.30.0.1:80 -r 10.128.1.2:8080 -m -w 1",
  ]);
});

Deno.test("inactive connections alone hold it for a minute since the last active one", async () => {
  const { connect, isThere, pass } = await leaving({ active: 1 });
  await pass(100);
  connect({ active: 0, inactive: 3 });
  await pass(10);
  await pass(55);
  assert.ok(isThere());
  connect({ active: 1, inactive: 3 });
  await pass(5);
  connect({ active: 0, inactive: 3 });
  await pass(10);
  await pass(55);
  assert.ok(isThere());
  await pass(5);
  assert.ok(!isThere());
});

Deno.test("an endpoint that comes back gets its weight back, and its connections stay", async () => {
  const { connect, harness, pass } = await leaving({ active: 1 });
  const back = portWith("TCP", stays, leaves);
  await harness.some(snapshotOf("IPv4", [back]), back);
  assert.deepEqual(harness.kernel.ipvs.commits.at(-1)?.map(({ kind }) => kind), [
    "edit-destination",
  ]);
  connect({ active: 0 });
  await pass(3600);
  assert.ok(harness.servers().includes("-a -t 172.30.0.1:80 -r 10.128.9.2:8080 -m -w 1"));
});

Deno.test("a restart goes on waiting for what an earlier run began to wait for", async () => {
  const { connect, harness, isThere, pass, snapshot } = await leaving({ active: 1 });
  harness.restart();
  assert.equal((await harness.full(snapshot)).written, 0);
  assert.ok(isThere());
  connect({ active: 0 });
  await pass(10);
  assert.ok(!isThere());
});

Deno.test("with its Service a destination goes at once, connections or not", async () => {
  const { harness, pass } = await leaving({ active: 1 });
  await harness.full(snapshotOf("IPv4", []));
  assert.deepEqual(harness.servers(), []);
  await pass(10);
  assert.deepEqual(harness.servers(), []);
});

for (const protocol of ["UDP", "SCTP"] as const) {
  Deno.test(`a destination of ${protocol} goes at once`, async () => {
    const harness = new Harness();
    await harness.full(snapshotOf("IPv4", [portWith(protocol, stays, leaves)]));
    const name = { ...frontend, protocol: protocol === "UDP" ? "udp" : "sctp" } as const;
    const destination = { address: leaves.ip, port: leaves.port };
    harness.kernel.ipvs.setConnections(name, destination, { active: 1, inactive: 1 });
    const after = portWith(protocol, stays);
    await harness.some(snapshotOf("IPv4", [after]), after);
    assert.equal(harness.servers().length, 2);
  });
}
