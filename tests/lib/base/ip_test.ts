import assert from "node:assert/strict";
import {
  canonicalIp,
  cidrContains,
  familyOfCanonicalIp,
  formatIp,
  ipFamilyOf,
  isLoopback,
  joinHostPort,
  parseCidr,
  parseIp,
} from "../../../lib/base/ip.ts";

const addresses: readonly (readonly [text: string, canonical: string | undefined])[] = [
  ["0.0.0.0", "0.0.0.0"],
  ["255.255.255.255", "255.255.255.255"],
  ["010.0.0.08", "10.0.0.8"],
  ["1.2.3.256", undefined],
  ["1.2.3", undefined],
  ["1.2.3.4.5", undefined],
  ["1.2..4", undefined],
  [".1.2.3", undefined],
  ["1.2.3.", undefined],
  ["1.2.3.4 ", undefined],
  ["1.2.3.a", undefined],
  ["", undefined],
  ["::", "::"],
  ["::1", "::1"],
  ["1::", "1::"],
  ["FD00:0:0:1::00A", "fd00:0:0:1::a"],
  ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
  ["1:0:0:4:0:0:0:8", "1:0:0:4::8"],
  ["1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"],
  ["1:0:0:4:5:0:0:8", "1::4:5:0:0:8"],
  ["0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"],
  ["1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["::ffff:a00:1", "10.0.0.1"],
  ["::fffe:a00:1", "::fffe:a00:1"],
  ["1::ffff:a00:1", "1::ffff:a00:1"],
  ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
  ["1:2:3:4:5:6:10.0.0.1", "1:2:3:4:5:6:a00:1"],
  ["10.0.0.1::", undefined],
  ["1:2:3:4:5:6:7", undefined],
  ["1:2:3:4:5:6:7:8:9", undefined],
  ["1:2:3:4:5:6:7::8", undefined],
  ["1::2::3", undefined],
  ["1:::2", undefined],
  ["12345::", undefined],
  ["100::ffff:102:304", "100::ffff:102:304"],
  ["g::", undefined],
  [":1", undefined],
  ["1:", undefined],
];

for (const [text, canonical] of addresses) {
  Deno.test(`canonicalIp() of "${text}" is ${canonical}`, () => {
    assert.equal(canonicalIp(text), canonical);
    const bytes = parseIp(text);
    assert.equal(bytes && formatIp(bytes), canonical);
    const family = canonical === undefined ? undefined : familyOfCanonicalIp(canonical);
    assert.equal(ipFamilyOf(text), family);
  });
}

const ranges: readonly (readonly [text: string, canonical: string | undefined])[] = [
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["10.1.2.3/32", "10.1.2.3/32"],
  ["10.1.2.3/0", "0.0.0.0/0"],
  ["10.255.255.255/9", "10.128.0.0/9"],
  ["10.1.2.3/33", undefined],
  ["fd00::1/128", "fd00::1/128"],
  ["fd00:0:0:ffff::/63", "fd00:0:0:fffe::/63"],
  ["fd00::/129", undefined],
  ["::ffff:10.1.2.3/104", "10.0.0.0/8"],
  ["::ffff:10.1.2.3/128", "10.1.2.3/32"],
  ["::ffff:10.1.2.3/96", "0.0.0.0/0"],
  ["::ffff:10.1.2.3/95", undefined],
  ["10.0.0.0", undefined],
  ["10.0.0.0/", undefined],
  ["10.0.0.0/+8", undefined],
  ["10.0.0.0/8 ", undefined],
  ["10.0.0/8", undefined],
  ["/8", undefined],
];

for (const [text, canonical] of ranges) {
  Deno.test(`parseCidr() of "${text}" is ${canonical}`, () => {
    const range = parseCidr(text);
    assert.equal(range?.text, canonical);
    if (!range) return;
    assert.equal(`${formatIp(range.network)}/${range.prefixLength}`, canonical);
    assert.equal(range.family, ipFamilyOf(formatIp(range.network)));
  });
}

const contents: readonly (readonly [range: string, address: string, holds: boolean])[] = [
  ["10.0.0.0/8", "10.255.0.1", true],
  ["10.0.0.0/8", "11.0.0.0", false],
  ["10.0.0.128/25", "10.0.0.127", false],
  ["10.0.0.128/25", "10.0.0.255", true],
  ["10.0.0.1/32", "10.0.0.1", true],
  ["10.0.0.1/32", "10.0.0.0", false],
  ["0.0.0.0/0", "255.1.2.3", true],
  ["0.0.0.0/0", "::1", false],
  ["fd00::/9", "fd7f::1", true],
  ["fd00::/9", "fd80::1", false],
  ["::/0", "10.0.0.1", false],
];

for (const [range, address, holds] of contents) {
  Deno.test(`cidrContains(): ${range} ${holds ? "holds" : "does not hold"} ${address}`, () => {
    const [cidr, bytes] = [parseCidr(range), parseIp(address)];
    assert.ok(cidr && bytes);
    assert.equal(cidrContains(cidr, bytes), holds);
  });
}

Deno.test("isLoopback() knows both families' loopback", () => {
  const isLocal = (text: string) => isLoopback(parseIp(text) ?? new Uint8Array());
  for (const text of ["127.0.0.1", "127.255.0.0", "::1"]) assert.equal(isLocal(text), true, text);
  for (const text of ["128.0.0.1", "1.0.0.127", "::", "::2", "1::1"]) {
    assert.equal(isLocal(text), false, text);
  }
});

Deno.test("joinHostPort() puts brackets round IPv6", () => {
  assert.equal(joinHostPort("10.0.0.1", 80), "10.0.0.1:80");
  assert.equal(joinHostPort("fd00::1", 80), "[fd00::1]:80");
});
