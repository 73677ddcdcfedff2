/** Addresses and ports of Services and of the node, and who stops packets to them. */
import assert from "node:assert/strict";
import type { FactValues } from "../../../../lib/doctor/facts/fact_values.ts";
import type { Fact } from "../../../../lib/doctor/fact.ts";
import {
  healthPortsOf,
  type NodePort,
  nodePortsOf,
  primaryAddresses,
  serviceAddresses,
  withoutIpvs,
} from "../../../../lib/doctor/judging/frontends.ts";
import {
  describeFate,
  describeOpen,
  openingCommands,
  type OutsideFate,
  outsideFates,
  summaryOf,
} from "../../../../lib/doctor/judging/outside_fates.ts";
import { network, objects, service } from "../cases/node_facts.ts";

function valueOf<T>(fact: Fact<T>): T {
  assert.ok(fact.kind === "value");
  return fact.value;
}

const cluster = (...services: Parameters<typeof objects>[0]) => valueOf(objects(services));

Deno.test("serviceAddresses() gives every address once, in one spelling", () => {
  const found = serviceAddresses(cluster(
    service({
      clusterIPs: ["172.30.0.10", "FD00:172:30::A"],
      externalIPs: ["198.51.100.7"],
      ingress: [{ ip: "203.0.113.8", ipMode: "VIP" }, { ip: "", ipMode: "VIP" }],
    }),
    service({ clusterIP: "None", clusterIPs: ["None"] }),
  ));
  assert.deepEqual([...found], ["172.30.0.10", "fd00:172:30::a", "198.51.100.7", "203.0.113.8"]);
});

const port = (nodePort: number, protocol: "TCP" | "UDP" | "SCTP") => ({
  name: "x",
  protocol,
  port: 80,
  nodePort,
});

Deno.test("nodePortsOf() and healthPortsOf() give the ports that are there, with their Services", () => {
  const of = cluster(
    service({ ports: [port(30_090, "UDP"), port(0, "TCP"), port(30_080, "TCP")] }),
    service({ name: "cart", ports: [port(30_085, "SCTP")], healthCheckNodePort: 1 }),
  );
  assert.deepEqual(nodePortsOf(of), [
    { port: 30_080, protocol: "tcp", service: "shop/web" },
    { port: 30_085, protocol: "sctp", service: "shop/cart" },
    { port: 30_090, protocol: "udp", service: "shop/web" },
  ]);
  assert.deepEqual(healthPortsOf(of), [{ port: 1, protocol: "tcp", service: "shop/cart" }]);
});

Deno.test("primaryAddresses() are the Node's, else those that a kubelet would choose, none of IPVS", () => {
  const there: FactValues["network"] = valueOf(network({
    "kube-ipvs0": ["172.30.0.10/32"],
    eth0: ["192.168.1.7/24", "fd00:192:168:1::7/64"],
  }));
  const withNode = (...addresses: readonly (readonly [type: string, address: string])[]) => {
    const whole = cluster();
    const node = whole.node && {
      ...whole.node,
      addresses: addresses.map(([type, address]) => ({ type, address })),
    };
    return primaryAddresses(there, { ...whole, node });
  };
  assert.deepEqual(
    withNode(["ExternalIP", "203.0.113.1"], ["InternalIP", "FD00:192:168:1::1"], [
      "InternalIP",
      "192.168.1.1",
    ], ["InternalIP", "192.168.1.2"]),
    ["192.168.1.1", "fd00:192:168:1::1"],
  );
  const own = ["192.168.1.7", "fd00:192:168:1::7"];
  assert.deepEqual(withNode(["Hostname", "node-a"]), own);
  assert.deepEqual(primaryAddresses(there, undefined), own);
  assert.deepEqual(withoutIpvs(there).addresses.map(({ ip }) => ip), own);
});

const web: NodePort = { port: 30_080, protocol: "tcp", service: "shop/web" };
type Stopped = Extract<OutsideFate["fate"], { readonly kind: "stopped" }>;

function stoppedBy(
  table: Partial<Stopped["at"]["table"]>,
  chain: string,
): Stopped {
  const whole = { engine: "nft", family: "ip", name: "filter", chains: [], ...table } as const;
  return {
    kind: "stopped",
    by: `chain ${chain}`,
    at: { table: whole, chain } as unknown as Stopped["at"],
  };
}

function fateOf(fate: OutsideFate["fate"], rest: Partial<OutsideFate> = {}): OutsideFate {
  return { port: web, address: "192.168.1.1", from: "far", source: "203.0.113.77", fate, ...rest };
}

const accepted = { kind: "accepted" } as const;
const untold = { kind: "untold", because: "luck" } as const;

Deno.test("describeFate() says who stops a port, or why that cannot be told", () => {
  const what = "TCP 30080 of shop/web at 192.168.1.1";
  assert.equal(describeFate(fateOf(accepted)), `${what}: accepted, from 203.0.113.77`);
  assert.equal(
    describeFate(fateOf(stoppedBy({}, "INPUT"))),
    `${what}: stopped by chain INPUT, from 203.0.113.77`,
  );
  assert.equal(describeFate(fateOf(untold)), `${what}: not understood: luck`);
});

Deno.test("summaryOf() tells ports that nobody reaches from those that neighbours reach", () => {
  const near = { from: "near", source: "192.168.1.3" } as const;
  const other = { port: { ...web, port: 30_081 } };
  const [far, farOther] = [stoppedBy({}, "INPUT"), stoppedBy({}, "INPUT")];
  const fates = [
    fateOf(far),
    fateOf(accepted, near),
    fateOf(farOther, other),
    fateOf(stoppedBy({}, "INPUT"), { ...other, ...near }),
    fateOf(untold, { address: "fd00::1" }),
    fateOf(untold, { ...near, address: "fd00::1" }),
  ];
  const { onlyNear, stopped, untold: unknown } = summaryOf(fates);
  assert.deepEqual(onlyNear.map(({ port }) => port.port), [30_080]);
  assert.deepEqual(stopped.map(({ port }) => port.port), [30_081]);
  assert.deepEqual(unknown.map(({ address, from }) => `${from} ${address}`), ["far fd00::1"]);
});

Deno.test("describeOpen() says where only a sample was looked at", () => {
  const fates = [fateOf(accepted), fateOf(accepted, { address: "fd00::1" })];
  assert.equal(describeOpen(fates, [web]), "1 NodePort let in");
  assert.equal(describeOpen(fates, [web, { ...web, service: "shop/again" }]), "1 NodePort let in");
  assert.equal(
    describeOpen(fates, [web, { ...web, protocol: "udp" }]),
    "A sample of 1 of 2 NodePorts is let in",
  );
});

const commands: readonly (readonly [Stopped, readonly string[]])[] = [
  [
    stoppedBy({ name: "firewalld", family: "inet" }, "filter_INPUT"),
    [
      "firewall-cmd --permanent --add-port=30000-32767/tcp",
      "firewall-cmd --reload",
    ],
  ],
  [
    stoppedBy({ name: "host", family: "inet" }, "input"),
    ["nft insert rule inet host input tcp dport 30000-32767 accept"],
  ],
  [
    stoppedBy({}, "INPUT"),
    ["iptables-nft -I INPUT -p tcp --dport 30000:32767 -j ACCEPT"],
  ],
  [
    stoppedBy({ engine: "legacy", family: "ip6" }, "my-chain"),
    ["ip6tables-legacy -I my-chain -p tcp --dport 30000:32767 -j ACCEPT"],
  ],
  [
    stoppedBy({ name: "mangle" }, "PREROUTING"),
    ["iptables-nft -t mangle -I PREROUTING -p tcp --dport 30000:32767 -j ACCEPT"],
  ],
];

for (const [fate, expected] of commands) {
  Deno.test(`openingCommands(): ${expected[0]}`, () => {
    const fates = [fateOf(fate), fateOf(accepted), fateOf(fate), fateOf(untold)];
    assert.deepEqual(openingCommands(fates, "30000-32767"), expected);
  });
}

for (
  const [address, sources] of [
    ["192.168.1.1/24", ["203.0.113.77", "192.168.1.3"]],
    ["192.168.1.1/30", ["203.0.113.77", "192.168.1.0"]],
    ["192.168.1.1/31", ["203.0.113.77"]],
    ["192.168.1.1/32", ["203.0.113.77"]],
    ["fd00:192:168:1::1/64", ["2001:db8:113::77", "fd00:192:168:1::3"]],
    ["fd00:192:168:1::1/127", ["2001:db8:113::77"]],
  ] as const
) {
  Deno.test(`outsideFates() asks from far, and from another address beside ${address}`, () => {
    const fates = outsideFates({
      firewall: [],
      network: valueOf(network({ eth0: [address] })),
      objects: { ...cluster(), node: undefined },
      ports: [web],
    });
    assert.deepEqual(fates.map(({ source }) => source), sources);
    assert.deepEqual(fates.map(({ from }) => from), ["far", "near"].slice(0, sources.length));
  });
}

for (
  const [addresses, sampled] of [
    [["192.168.1.1/24"], 20],
    [["192.168.1.1/24", "fd00:192:168:1::1/64"], 10],
  ] as const
) {
  Deno.test(`outsideFates() takes fewer ports where there are many rules, to ${addresses}`, () => {
    // No packet comes to this chain; how many come is not known before.
    const rules = Array.from({ length: 12_499 }, () => ({ expressions: [] }));
    const firewall = [{ engine: "nft", family: "ip", name: "x", chains: [{ name: "c", rules }] }];
    const ports = Array.from({ length: 60 }, (_, at) => ({ ...web, port: 30_000 + at }));
    const fates = outsideFates({
      firewall: firewall as unknown as Parameters<typeof outsideFates>[0]["firewall"],
      network: valueOf(network({ eth0: addresses })),
      objects: { ...cluster(), node: undefined },
      ports,
    });
    assert.equal(new Set(fates.map(({ port }) => port.port)).size, sampled);
  });
}
