import assert from "node:assert/strict";
import type { Outcome } from "../../../../lib/doctor/rehearsal/outcome_of.ts";
import type {
  Attempt,
  Ends,
  PacketNetwork,
} from "../../../../lib/doctor/rehearsal/scratch_network.ts";
import { sendPackets } from "../../../../lib/doctor/rehearsal/send_packets.ts";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type {
  NodePortAddresses,
  ServicePort,
  Snapshot,
} from "../../../../lib/snapshot/snapshot.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { endpointOf, servicePortOf } from "../../../fakes/service_ports.ts";

const ends = { client: "192.0.2.201", node: "192.0.2.202" };

/** A network that answers as it is told, and notes what it is asked. */
class ScriptedNetwork implements PacketNetwork {
  readonly log: string[] = [];
  ends: ReadonlyMap<IpFamily, Ends> = new Map();
  readonly #answer: (attempt: Attempt) => Outcome;

  constructor(answer: (attempt: Attempt) => Outcome) {
    this.#answer = answer;
  }

  addNodeAddress(ip: string): Promise<void> {
    this.log.push(`add ${ip}`);
    return Promise.resolve();
  }

  removeNodeAddress(ip: string): Promise<void> {
    this.log.push(`remove ${ip}`);
    return Promise.resolve();
  }

  attempt(attempt: Attempt): Outcome {
    this.log.push(`${attempt.from} ${attempt.to}:${attempt.port}/${attempt.protocol}`);
    return this.#answer(attempt);
  }

  [Symbol.dispose](): void {
    this.log.push("closed");
  }
}

function snapshotOf(
  services: readonly ServicePort[],
  nodePortAddresses: NodePortAddresses = { kind: "all" },
): Snapshot {
  return {
    family: "IPv4",
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "source", cidr: "10.128.0.0/14" },
      nodePortAddresses,
      serviceCIDRs: [],
      leftovers: false,
    },
    services: new Map(services.map((each) => [each.key, each])),
  };
}

function serviceOf(rest: Partial<ServicePort> = {}): ServicePort {
  const endpoints = [endpointOf("10.128.0.2:8080")];
  return servicePortOf({
    internal: "forward",
    external: "forward",
    hasEndpoints: true,
    clusterEndpoints: endpoints,
    localEndpoints: endpoints,
    ...rest,
  });
}

async function send(
  snapshot: Snapshot,
  answer: (attempt: Attempt) => Outcome,
  most = 100,
) {
  const network = new ScriptedNetwork(answer);
  const open = (ends: ReadonlyMap<IpFamily, Ends>) => {
    network.ends = ends;
    return Promise.resolve(network);
  };
  return { network, report: await sendPackets([snapshot], { open, clock: new FakeClock(), most }) };
}

const right: Outcome = { kind: "forwarded", to: "10.128.0.2", port: 8080, by: ends.node };

Deno.test("each frontend gets a packet from outside and one from the node", async () => {
  const { network, report } = await send(snapshotOf([serviceOf()]), () => right);
  assert.deepEqual(network.log, ["outside 172.30.1.1:80/TCP", "node 172.30.1.1:80/TCP", "closed"]);
  assert.deepEqual([...network.ends], [["IPv4", ends]]);
  assert.deepEqual(report, {
    kind: "sent",
    sent: 2,
    tried: 1,
    frontends: 1,
    milliseconds: 0,
    faults: [],
  });
});

const astray: readonly (readonly [string, Outcome, string])[] = [
  ["nothing", { kind: "nothing" }, "nothing came out"],
  ["a refusal", { kind: "refused" }, "it was refused"],
  [
    "another endpoint",
    { ...right, to: "10.128.0.9" },
    "it went to 10.128.0.9:8080 from 192.0.2.202",
  ],
  ["another port", { ...right, port: 81 }, "it went to 10.128.0.2:81 from 192.0.2.202"],
  [
    "the client's address",
    { ...right, by: ends.client },
    "it went to 10.128.0.2:8080 from 192.0.2.201",
  ],
];

for (const [name, outcome, says] of astray) {
  Deno.test(`${name} where an endpoint was to get it is a fault`, async () => {
    const { report } = await send(
      snapshotOf([serviceOf()]),
      ({ from }) => from === "outside" ? outcome : right,
    );
    assert.ok(report.kind === "sent");
    assert.deepEqual(report.faults, [{
      frontend: "172.30.1.1:80/TCP",
      servicePort: "test/web/TCP",
      what: `expected endpoint 10.128.0.2:8080 with this node's address, ${says}`,
    }]);
  });
}

Deno.test("from the node either address is right, and the wrong endpoint is not", async () => {
  const snapshot = snapshotOf([serviceOf()]);
  const { report } = await send(
    snapshot,
    ({ from }) => from === "node" ? { ...right, by: "x" } : right,
  );
  assert.deepEqual(report.kind === "sent" && report.faults, []);
  const wrong = await send(
    snapshot,
    ({ from }) => from === "node" ? { ...right, to: "10.128.0.9", by: "x" } : right,
  );
  assert.ok(wrong.report.kind === "sent");
  assert.deepEqual(wrong.report.faults.map(({ what }) => what), [
    "from the node: expected endpoint 10.128.0.2:8080, it went to 10.128.0.9:8080 from x",
  ]);
});

Deno.test("what is to be refused or dropped is a fault where it gets through", async () => {
  const gone = { clusterEndpoints: [], localEndpoints: [], hasEndpoints: false } as const;
  const refused = serviceOf({ ...gone, internal: "reject" });
  const dropped = serviceOf({ ...gone, name: "dropped", internal: "drop" });
  const { report } = await send(snapshotOf([refused, dropped]), () => right);
  assert.ok(report.kind === "sent");
  assert.deepEqual(report.faults.map(({ what }) => what), [
    "expected a refusal, it went to 10.128.0.2:8080 from 192.0.2.202",
    "expected a drop, it went to 10.128.0.2:8080 from 192.0.2.202",
  ]);
  const well = (await send(
    snapshotOf([refused]),
    () => ({ kind: "refused" }),
  )).report;
  assert.deepEqual(well.kind === "sent" && well.faults, []);
});

Deno.test("node ports are tried last, at the node's addresses, which are there only then", async () => {
  const listed = { kind: "listed", addresses: ["192.168.1.1"] } as const;
  const service = serviceOf({ nodePort: 30_001 });
  const { network } = await send(snapshotOf([service], listed), () => right);
  assert.deepEqual(network.log, [
    "outside 172.30.1.1:80/TCP",
    "node 172.30.1.1:80/TCP",
    "add 192.168.1.1",
    "outside 192.168.1.1:30001/TCP",
    "node 192.168.1.1:30001/TCP",
    "remove 192.168.1.1",
    "closed",
  ]);
  const anywhere = (await send(snapshotOf([service]), () => right)).network;
  assert.deepEqual(anywhere.log.slice(2), [
    "outside 192.0.2.202:30001/TCP",
    "node 192.0.2.202:30001/TCP",
    "closed",
  ]);
});

Deno.test("a node port may be answered by the node itself where its endpoint is there", async () => {
  const listed = { kind: "listed", addresses: ["192.168.1.1"] } as const;
  const here = [endpointOf("192.168.1.1:10250")];
  const service = serviceOf({
    clusterIP: "",
    nodePort: 30_001,
    clusterEndpoints: here,
    localEndpoints: here,
  });
  const answered = (await send(snapshotOf([service], listed), () => ({ kind: "refused" }))).report;
  assert.deepEqual(answered.kind === "sent" && answered.faults, []);
  const elsewhere = serviceOf({ clusterIP: "", nodePort: 30_001 });
  const refused = (await send(snapshotOf([elsewhere], listed), () => ({ kind: "refused" }))).report;
  assert.equal(refused.kind === "sent" && refused.faults.length, 2);
});

Deno.test("no more frontends than the most are tried", async () => {
  const services = Array.from(
    { length: 20 },
    (_, i) => serviceOf({ name: `web-${i}`, port: i + 1 }),
  );
  const { report } = await send(snapshotOf(services), () => right, 5);
  assert.ok(report.kind === "sent");
  assert.deepEqual([report.tried, report.sent, report.frontends], [5, 10, 20]);
});

Deno.test("families share the packets by what they have", async () => {
  const many = Array.from({ length: 30 }, (_, i) => serviceOf({ name: `web-${i}`, port: i + 1 }));
  const few = Array.from(
    { length: 10 },
    (_, i) => serviceOf({ name: `six-${i}`, port: i + 1, clusterIP: "fd00:172:30::1" }),
  );
  const snapshots = [snapshotOf(many), { ...snapshotOf(few), family: "IPv6" } as const];
  const network = new ScriptedNetwork(() => right);
  const open = () => Promise.resolve(network);
  const tried = async (most: number) => {
    const report = await sendPackets(snapshots, { open, clock: new FakeClock(), most });
    const isSix = (line: string) => line.startsWith("outside fd00");
    const six = network.log.splice(0).filter(isSix).length;
    return report.kind === "sent" && [report.tried, six];
  };
  assert.deepEqual(await tried(20), [20, 5]);
  assert.deepEqual(await tried(40), [40, 10]);
});

Deno.test("where no address is free for the ends nothing is sent", async () => {
  const { settings, ...rest } = snapshotOf([serviceOf()]);
  const taken = { ...rest, settings: { ...settings, serviceCIDRs: ["0.0.0.0/0"] } };
  const { report } = await send(taken, () => right);
  assert.deepEqual(report, {
    kind: "none",
    because: "every range for documentation belongs to a Service or a pod",
  });
});

Deno.test("without a network nothing is sent, and why is said", async () => {
  const open = () => {
    return Promise.reject(new Error('Cannot open "/dev/net/tun": no such device'));
  };
  const report = await sendPackets([snapshotOf([serviceOf()])], {
    open,
    clock: new FakeClock(),
    most: 5,
  });
  assert.deepEqual(report, {
    kind: "none",
    because: 'Cannot open "/dev/net/tun": no such device',
  });
});
