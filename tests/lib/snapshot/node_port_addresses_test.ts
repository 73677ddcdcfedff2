import assert from "node:assert/strict";
import { parseIp } from "../../../lib/base/ip.ts";
import { resolveNodePortAddresses } from "../../../lib/snapshot/node_port_addresses.ts";

const interfaces = [
  "127.0.0.1",
  "192.168.1.1",
  "192.168.2.1",
  "::1",
  "fd00:192:168:1::1",
  "fd00:192:168:2::1",
];
const nodeIPs = { IPv4: parseIp("192.168.1.1"), IPv6: parseIp("fd00:192:168:1::1") };

/** "all" or the addresses; `nodes` are the families whose node address is known. */
const rows: readonly {
  readonly name: string;
  readonly configured: readonly string[];
  readonly nodes?: "none" | "IPv4";
  readonly IPv4: "all" | readonly string[];
  readonly IPv6: "all" | readonly string[];
  /** Loopback addresses apart: not every mode serves them. */
  readonly loopback?: boolean;
}[] = [
  { name: "nothing configured", configured: [], IPv4: "all", IPv6: "all" },
  { name: "one IPv4 range", configured: ["192.168.1.0/24"], IPv4: ["192.168.1.1"], IPv6: "all" },
  {
    name: "several IPv4 ranges",
    configured: ["192.168.1.0/24", "192.168.2.0/24"],
    IPv4: ["192.168.1.1", "192.168.2.1"],
    IPv6: "all",
  },
  { name: "ranges that hold no address", configured: ["198.51.100.0/24"], IPv4: [], IPv6: "all" },
  { name: "IPv4 zero range", configured: ["0.0.0.0/0"], IPv4: "all", IPv6: "all" },
  {
    name: "zero range among others",
    configured: ["192.168.1.0/24", "0.0.0.0/0"],
    IPv4: "all",
    IPv6: "all",
  },
  {
    name: "one IPv6 range",
    configured: ["fd00:192:168:1::/64"],
    IPv4: "all",
    IPv6: ["fd00:192:168:1::1"],
  },
  { name: "IPv6 zero range", configured: ["::/0"], IPv4: "all", IPv6: "all" },
  {
    name: "both families, IPv4 zero",
    configured: ["0.0.0.0/0", "fd00:192:168:1::/64"],
    IPv4: "all",
    IPv6: ["fd00:192:168:1::1"],
  },
  {
    name: "both families, IPv6 zero",
    configured: ["::/0", "192.168.1.0/24"],
    IPv4: ["192.168.1.1"],
    IPv6: "all",
  },
  {
    name: "loopback is kept apart",
    configured: ["127.0.0.0/8", "::1/128", "192.168.1.0/24"],
    IPv4: ["192.168.1.1"],
    IPv6: [],
    loopback: true,
  },
  { name: "localhost", configured: ["localhost"], IPv4: [], IPv6: [], loopback: true },
  { name: "all", configured: ["all"], IPv4: "all", IPv6: "all" },
  {
    name: "primary",
    configured: ["primary"],
    IPv4: ["192.168.1.1"],
    IPv6: ["fd00:192:168:1::1"],
  },
  {
    name: "primary on a node of one family serves nothing in the other",
    configured: ["primary"],
    nodes: "IPv4",
    IPv4: ["192.168.1.1"],
    IPv6: [],
  },
  {
    name: "primary while no address is known",
    configured: ["primary"],
    nodes: "none",
    IPv4: [],
    IPv6: [],
  },
  {
    name: "primary and a range",
    configured: ["primary", "192.168.2.0/24"],
    IPv4: ["192.168.1.1", "192.168.2.1"],
    IPv6: ["fd00:192:168:1::1"],
  },
];

for (const row of rows) {
  Deno.test(`resolveNodePortAddresses(): ${row.name}`, () => {
    for (const family of ["IPv4", "IPv6"] as const) {
      const known = row.nodes !== "none" && (row.nodes ?? family) === family;
      const expected = row[family];
      assert.deepEqual(
        resolveNodePortAddresses(family, {
          configured: row.configured,
          nodeIP: known ? nodeIPs[family] : undefined,
          interfaceAddresses: interfaces,
        }),
        expected === "all" ? { kind: "all" } : {
          kind: "listed",
          addresses: expected,
          ...(row.loopback && { loopback: [family === "IPv4" ? "127.0.0.1" : "::1"] }),
        },
      );
    }
  });
}

Deno.test("resolveNodePortAddresses() lists all addresses where it is asked to, loopback marked", () => {
  for (const configured of [[], ["all"], ["0.0.0.0/0"]]) {
    const interfaceAddresses = ["nonsense", ...interfaces.toReversed(), "192.168.1.1"];
    const inputs = { configured, nodeIP: undefined, interfaceAddresses };
    assert.deepEqual(resolveNodePortAddresses("IPv4", { ...inputs, listsAll: true }), {
      kind: "all",
      addresses: [
        { ip: "127.0.0.1", isLoopback: true },
        { ip: "192.168.1.1", isLoopback: false },
        { ip: "192.168.2.1", isLoopback: false },
      ],
    });
  }
});

Deno.test("resolveNodePortAddresses() keeps loopback apart in a list", () => {
  const inputs = { configured: ["localhost"], nodeIP: undefined, interfaceAddresses: interfaces };
  assert.deepEqual(resolveNodePortAddresses("IPv4", { ...inputs, listsAll: true }), {
    kind: "listed",
    addresses: [],
    loopback: ["127.0.0.1"],
  });
});

Deno.test("resolveNodePortAddresses() answers on all addresses of a family that nothing is about", () => {
  const inputs = { nodeIP: undefined, interfaceAddresses: [] };
  const kindFor = (...configured: string[]) =>
    resolveNodePortAddresses("IPv6", { ...inputs, configured }).kind;
  assert.equal(kindFor("192.168.1.0/24"), "all");
  assert.equal(kindFor("192.168.1.0/24", "fd00::/8"), "listed");
  assert.equal(kindFor("primary"), "listed");
});
