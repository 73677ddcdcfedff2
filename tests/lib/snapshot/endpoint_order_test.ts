import assert from "node:assert/strict";
import { joinHostPort } from "../../../lib/base/ip.ts";
import { compareEndpoints } from "../../../lib/snapshot/endpoint_order.ts";

const addresses = [
  "10.128.0.1",
  "10.128.0.10",
  "10.128.0.100",
  "10.128.0.2",
  "10.128.0.11",
  "10.128.1.1",
  "fd00:10:128::1",
  "fd00:10:128::1a",
  "fd00:10:128::10",
  "fd00:10:128::",
  "fd00:10:128::1:1",
  "fd00:10:128::a",
];
const endpoints = addresses.flatMap((ip) =>
  [8, 80, 8080, 443].map((port) => ({ ip, port, isLocal: false }))
);

Deno.test("compareEndpoints() orders as the bytes of ip:port do, IPv6 in brackets", () => {
  const text = ({ ip, port }: { ip: string; port: number }) => joinHostPort(ip, port);
  for (const family of [".", ":"]) {
    const own = endpoints.filter(({ ip }) => ip.includes(family));
    const expected = own.map(text).sort();
    assert.deepEqual([...own].sort(compareEndpoints).map(text), expected);
    assert.deepEqual([...own].reverse().sort(compareEndpoints).map(text), expected);
  }
});

Deno.test("compareEndpoints() puts 10.128.0.10 before 10.128.0.1", () => {
  const [one, ten] = ["10.128.0.1", "10.128.0.10"].map((ip) => ({ ip, port: 80, isLocal: true }));
  assert.equal(compareEndpoints(ten, one), -1);
  assert.equal(compareEndpoints(one, { ...one, isLocal: false }), 0);
});
