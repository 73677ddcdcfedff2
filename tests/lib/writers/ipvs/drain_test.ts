/** Connections of ipvs mode end by themselves while another mode serves. */
import assert from "node:assert/strict";
import type { IpvsFrontend, IpvsProtocol } from "../../../../lib/kernel/ipvs/ipvs.ts";
import { drain } from "../../../../lib/writers/ipvs/drain.ts";
import type { DrainProgress } from "../../../../lib/writers/leftovers.ts";
import type { OpenSocket } from "../../../../lib/kernel/inspection/open_sockets.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort, snapshotOf } from "./samples.ts";

const clusterEndpoints = endpoints("IPv4", [1, 2]);
const [{ ip, port }] = clusterEndpoints;
const first = addresses.IPv4.clusterIP(1);
const second = addresses.IPv4.clusterIP(2);

/** Two ports of one Service, one with a node port, and a Service of UDP without endpoints. */
const served = [
  servicePort({ name: "web", clusterIP: first, nodePort: 30001, clusterEndpoints }),
  servicePort({ name: "web", portName: "p443", clusterIP: first, port: 443, clusterEndpoints }),
  servicePort({ name: "dns", protocol: "UDP", clusterIP: second, port: 53, clusterEndpoints }),
];

const at = (address: string, number: number, protocol: IpvsProtocol = "tcp"): IpvsFrontend => ({
  family: "IPv4",
  protocol,
  address,
  port: number,
});

async function rig(timeoutMs = 60_000) {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", served));
  const { clock, kernel } = harness;
  const told: DrainProgress[] = [];
  const stop = new AbortController();
  const connect = (server: IpvsFrontend, active: number, inactive = 0) =>
    kernel.ipvs.setConnections(server, { address: ip, port }, { active, inactive });
  return {
    ...{ harness, clock, kernel, told, stop, connect },
    start: () =>
      drain(kernel, {
        clock,
        deadlineMs: clock.monotonic() + timeoutMs,
        excluded: [],
        onProgress: (each) => told.push(each),
        signal: stop.signal,
      }),
    ports: () => kernel.ipvs.read().map(({ server }) => server.port),
  };
}

Deno.test("a server goes with its last connection, an address with its last server", async () => {
  const { clock, connect, harness, ports, start, told } = await rig();
  connect(at(first, 80), 2);
  connect(at(first, 443), 0, 5);
  connect(at(addresses.IPv4.node(1), 30001), 1);
  connect(at(second, 53, "udp"), 0, 7);
  const drained = start();
  await clock.advance(0);
  assert.deepEqual(ports(), [80, 30001]);
  assert.deepEqual(harness.bound(), [first]);
  assert.deepEqual(told, [{ connections: 3, servers: 2, leftMs: 60_000 }]);
  connect(at(first, 80), 0);
  await clock.advance(1_000);
  assert.deepEqual([ports(), harness.bound()], [[30001], []]);
  connect(at(addresses.IPv4.node(1), 30001), 0, 9);
  await clock.advance(1_000);
  assert.deepEqual(await drained, []);
  assert.deepEqual(ports(), []);
  assert.equal(harness.kernel.ipset.list().length, 17);
});

Deno.test("at the deadline it tells what has connections, and leaves it", async () => {
  const { clock, connect, ports, start } = await rig(2_500);
  connect(at(first, 80), 1);
  const drained = start();
  for (let i = 0; i < 4; i++) await clock.advance(1_000);
  assert.deepEqual(await drained, [{
    what: "virtual server -t 172.30.0.1:80",
    reason:
      "1 connection is established; drain again, or give --cut-at-deadline to cut what is left",
  }]);
  assert.deepEqual(ports(), [80]);
});

Deno.test("without connections it ends at once", async () => {
  const { kernel, ports, start, told } = await rig();
  kernel.ipvs.openConnections = () => assert.fail("all connections were read");
  assert.deepEqual(await start(), []);
  assert.deepEqual([ports(), told], [[], []]);
});

Deno.test("a signal ends the wait", async () => {
  const { clock, connect, ports, start, stop } = await rig();
  connect(at(first, 80), 1);
  const drained = start();
  await clock.advance(0);
  stop.abort();
  await assert.rejects(drained);
  assert.deepEqual(ports(), [80]);
});

Deno.test("of idle servers those without endpoints go first", async () => {
  const { harness, kernel, start } = await rig();
  const clusterIP = addresses.IPv4.clusterIP(9);
  const nobody = servicePort({ name: "z-nobody", clusterIP, clusterEndpoints: [] });
  await harness.full(snapshotOf("IPv4", [...served, nobody]));
  const order: string[] = [];
  kernel.ipvs.refuse(({ server }) => (order.push(server.address), 0));
  await start();
  assert.equal(order.length, 5);
  assert.equal(order[0], clusterIP);
  assert.deepEqual(kernel.ipvs.read(), []);
});

Deno.test("what a destination only seems to have is not waited for", async () => {
  const { clock, connect, harness, kernel, ports, start, told } = await rig();
  connect(at(first, 80), 2);
  const revived = { active: 3, open: 0 };
  kernel.ipvs.setConnections(at(first, 443), { address: ip, port }, revived);
  const drained = start();
  await clock.advance(0);
  assert.deepEqual([ports(), harness.bound()], [[80], [first]]);
  assert.deepEqual(told, [{ connections: 2, servers: 1, leftMs: 60_000 }]);
  kernel.ipvs.setConnections(at(first, 80), { address: ip, port }, revived);
  await clock.advance(1_000);
  assert.deepEqual([await drained, ports(), harness.bound()], [[], [], []]);
});

Deno.test("looking at many connections takes a small part of the time", async () => {
  const { clock, connect, kernel, start, told } = await rig();
  connect(at(first, 80), 1);
  const count = kernel.ipvs.openConnections.bind(kernel.ipvs);
  kernel.ipvs.openConnections = (servers) => (clock.pass(500), count(servers));
  const drained = start();
  await clock.advance(0);
  await clock.advance(4_999);
  assert.equal(told.length, 1);
  await clock.advance(1);
  assert.equal(told.length, 2);
  connect(at(first, 80), 0);
  await clock.advance(6_000);
  assert.deepEqual(await drained, []);
});

Deno.test("an address goes before its server", async () => {
  const { kernel, start } = await rig();
  const order: string[] = [];
  kernel.ipvs.refuse(({ kind }) => (order.push(kind), 0));
  kernel.links.refuse(({ kind }) => (order.push(kind), 0));
  await start();
  assert.deepEqual([...new Set(order)], ["delete", "delete-server"]);
});

/** A program's connection to the address, from that address unless another one is said. */
const socketTo = (address: string, number: number, rest: Partial<OpenSocket> = {}): OpenSocket => ({
  protocol: "tcp",
  address,
  port: 40_000,
  peer: address,
  peerPort: number,
  isListening: false,
  inode: "1",
  ...rest,
});

Deno.test("an address stays while a program of the node has a connection from it", async () => {
  const { clock, harness, kernel, ports, start, told } = await rig();
  const others = [
    socketTo(first, 443, { isListening: true }),
    socketTo(first, 443, { protocol: "udp" }),
    socketTo(first, 443, { address: "192.168.1.1" }),
  ];
  kernel.sockets = [...others, socketTo(first, 80), socketTo(first, 80, { port: 40_001 })];
  const drained = start();
  await clock.advance(0);
  assert.deepEqual([ports(), harness.bound()], [[80], [first]]);
  assert.deepEqual(told, [{ connections: 2, servers: 1, leftMs: 60_000 }]);
  kernel.sockets = others;
  await clock.advance(1_000);
  assert.deepEqual([await drained, ports(), harness.bound()], [[], [], []]);
});

Deno.test("a connection that IPVS knows too is counted once", async () => {
  const { clock, connect, kernel, start, stop, told } = await rig();
  connect(at(first, 80), 3);
  kernel.sockets = [socketTo(first, 80)];
  const drained = start();
  await clock.advance(0);
  assert.deepEqual(told.map(({ connections }) => connections), [3]);
  stop.abort();
  await assert.rejects(drained);
});

Deno.test("programs of the node connect from where they will when the address is gone", async () => {
  const { clock, connect, kernel, start, stop } = await rig();
  connect(at(first, 80), 1);
  const drained = start();
  await clock.advance(0);
  assert.equal(kernel.links.sourceOf(first), addresses.IPv4.node(1));
  stop.abort();
  await assert.rejects(drained);
});

Deno.test("without the link there is nothing that programs would lose", async () => {
  const { kernel, start } = await rig();
  kernel.links.remove("kube-ipvs0");
  assert.deepEqual(await start(), []);
});
