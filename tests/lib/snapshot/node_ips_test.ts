import assert from "node:assert/strict";
import { parseIp } from "../../../lib/base/ip.ts";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { detectNodeIPs, hostIPs, knownNodeIP } from "../../../lib/snapshot/node_ips.ts";

const internal = (address: string) => ({ type: "InternalIP", address });
const external = (address: string) => ({ type: "ExternalIP", address });

const hosts: readonly (readonly [string, Parameters<typeof hostIPs>[0], readonly string[]])[] = [
  ["no addresses", [], []],
  ["a host name alone", [{ type: "Hostname", address: "node.example" }], []],
  ["internal before external", [internal("192.168.1.1"), external("198.51.100.1")], [
    "192.168.1.1",
  ]],
  ["internal listed last", [external("198.51.100.1"), internal("192.168.1.1")], ["192.168.1.1"]],
  ["external alone, the first", [external("198.51.100.1"), external("198.51.100.2")], [
    "198.51.100.1",
  ]],
  [
    "both families internal",
    [internal("192.168.1.1"), external("198.51.100.1"), internal("fd00:192:168::1")],
    ["192.168.1.1", "fd00:192:168::1"],
  ],
  [
    "the second family only external",
    [internal("192.168.1.1"), external("198.51.100.1"), external("2001:db8:51::1")],
    ["192.168.1.1", "2001:db8:51::1"],
  ],
  [
    "an internal one of the second family goes first",
    [internal("192.168.1.1"), external("2001:db8:51::1"), internal("fd00:192:168::1")],
    ["192.168.1.1", "fd00:192:168::1"],
  ],
  [
    "IPv6 first, IPv4 only external",
    [internal("fd00:192:168::1"), external("2001:db8:51::1"), external("198.51.100.1")],
    ["fd00:192:168::1", "198.51.100.1"],
  ],
  ["IPv6 first", [internal("fd00:192:168::1"), internal("192.168.1.1")], [
    "fd00:192:168::1",
    "192.168.1.1",
  ]],
  ["an address that is none is passed over", [internal("node"), internal("192.168.1.1")], [
    "192.168.1.1",
  ]],
  ["canonical text", [internal("192.168.001.010"), internal("FD00::0:1")], [
    "192.168.1.10",
    "fd00::1",
  ]],
];

for (const [name, addresses, expected] of hosts) {
  Deno.test(`hostIPs(): ${name}`, () => assert.deepEqual(hostIPs(addresses), expected));
}

const v4 = "192.168.1.1";
const v6 = "fd00:192:168::1";
const detections:
  readonly (readonly [string, readonly string[], string, IpFamily, string, string])[] = [
    ["bind address IPv4, no Node", [], "192.168.9.9", "IPv4", "192.168.9.9", "::1"],
    ["bind address IPv6, no Node", [], "fd00:192:168::9", "IPv6", "127.0.0.1", "fd00:192:168::9"],
    ["nothing known", [], "", "IPv4", "127.0.0.1", "::1"],
    ["nothing known, unspecified bind address", [], "0.0.0.0", "IPv4", "127.0.0.1", "::1"],
    ["IPv4 Node, bind address 0.0.0.0", [v4], "0.0.0.0", "IPv4", v4, "::1"],
    ["IPv4 Node, bind address ::", [v4], "::", "IPv4", v4, "::1"],
    ["IPv6 Node, bind address 0.0.0.0", [v6], "0.0.0.0", "IPv6", "127.0.0.1", v6],
    ["IPv6 Node, bind address ::", [v6], "::", "IPv6", "127.0.0.1", v6],
    ["both, IPv4 first", [v4, v6], "::", "IPv4", v4, v6],
    ["both, IPv6 first", [v6, v4], "0.0.0.0", "IPv6", v4, v6],
    ["both, IPv4 overridden", [v6, v4], "192.168.9.9", "IPv4", "192.168.9.9", v6],
    ["both, IPv6 overridden", [v4, v6], "fd00:192:168::9", "IPv6", v4, "fd00:192:168::9"],
    ["primary family by a loopback IPv4", [v6, v4], "127.0.0.1", "IPv4", "127.0.0.1", v6],
    ["primary family by a loopback IPv6", [v4, v6], "::1", "IPv6", v4, "::1"],
  ];

for (const [name, ips, bindAddress, primaryFamily, IPv4, IPv6] of detections) {
  Deno.test(`detectNodeIPs(): ${name}`, () => {
    const expected = { primaryFamily, addresses: { IPv4, IPv6 } };
    assert.deepEqual(detectNodeIPs(ips, [bindAddress]), expected);
  });
}

Deno.test("detectNodeIPs() takes the first of several overrides for the primary one", () => {
  assert.deepEqual(detectNodeIPs([v4, v6], ["fd00:192:168::9", "192.168.9.9", "192.168.8.8"]), {
    primaryFamily: "IPv6",
    addresses: { IPv4: "192.168.9.9", IPv6: "fd00:192:168::9" },
  });
});

Deno.test("knownNodeIP() does not take loopback for an address", () => {
  const ips = detectNodeIPs([v4], []);
  assert.deepEqual(knownNodeIP(ips, "IPv4"), parseIp(v4));
  assert.equal(knownNodeIP(ips, "IPv6"), undefined);
});
