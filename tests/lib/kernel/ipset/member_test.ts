/** Members of sets between the tool's text and their parts. */
import assert from "node:assert/strict";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type { IpsetDefinition, IpsetType } from "../../../../lib/kernel/ipset/ipset.ts";
import {
  type IpsetMember,
  isKnownType,
  memberText,
  parseMember,
} from "../../../../lib/kernel/ipset/member.ts";

const set = (type: IpsetType, family: IpFamily = "IPv4"): IpsetDefinition =>
  type === "bitmap:port" ? { name: "S", type } : { name: "S", type, family };
const address = Uint8Array.of(172, 30, 0, 1);
const second = Uint8Array.of(10, 128, 0, 0);
const ipv6 = Uint8Array.of(0xfd, ...Array(14).fill(0), 1);
const frontend = { address, protocol: 6, port: 80 };

const members: readonly (readonly [string, IpsetDefinition, IpsetMember])[] = [
  ["0", set("bitmap:port"), { port: 0 }],
  ["65535", set("bitmap:port"), { port: 65_535 }],
  ["172.30.0.1", set("hash:ip"), { address }],
  ["fd00::1", set("hash:ip", "IPv6"), { address: ipv6 }],
  ["172.30.0.1,tcp:80", set("hash:ip,port"), frontend],
  ["172.30.0.1,sctp:0", set("hash:ip,port"), { address, protocol: 132, port: 0 }],
  ["172.30.0.1,tcp:80,10.128.0.0", set("hash:ip,port,ip"), { ...frontend, second }],
  [
    "172.30.0.1,tcp:80,10.128.0.0/14",
    set("hash:ip,port,net"),
    { ...frontend, second, prefixLength: 14 },
  ],
  [
    "172.30.0.1,tcp:80,10.128.0.0",
    set("hash:ip,port,net"),
    { ...frontend, second, prefixLength: 32 },
  ],
  [
    "172.30.0.1,tcp:80,0.0.0.0/0",
    set("hash:ip,port,net"),
    { ...frontend, second: new Uint8Array(4), prefixLength: 0 },
  ],
];

for (const [text, of, member] of members) {
  Deno.test(`parseMember() and memberText() agree on ${text} of ${of.type}`, () => {
    assert.deepEqual(parseMember(text, of), member);
    assert.equal(memberText(member, of.type), text);
  });
}

const refused: readonly (readonly [string, IpsetDefinition])[] = [
  ["65536", set("bitmap:port")],
  ["080", set("bitmap:port")],
  ["http", set("bitmap:port")],
  ["172.30.0.300", set("hash:ip")],
  ["fd00::1", set("hash:ip")],
  ["172.30.0.1", set("hash:ip", "IPv6")],
  ["fd00:0::1", set("hash:ip", "IPv6")],
  ["172.30.0.1,tcp:80", set("hash:ip")],
  ["172.30.0.1", set("hash:ip,port")],
  ["172.30.0.1,tcp", set("hash:ip,port")],
  ["172.30.0.1,icmp:80", set("hash:ip,port")],
  ["172.30.0.1,tcp:80:81", set("hash:ip,port")],
  ["172.30.0.1,tcp:80,10.128.0.300", set("hash:ip,port,ip")],
  ["172.30.0.1,tcp:80,10.128.0.0/14", set("hash:ip,port,ip")],
  ["172.30.0.1,tcp:80,10.128.0.1/14", set("hash:ip,port,net")],
  ["172.30.0.1,tcp:80,10.128.0.0/32", set("hash:ip,port,net")],
  ["172.30.0.1,tcp:80,10.128.0.0/33", set("hash:ip,port,net")],
  ["172.30.0.1,tcp:80,10.128.0.0/a", set("hash:ip,port,net")],
  ["172.30.0.1,tcp:80,10.128.0.0/-1", set("hash:ip,port,net")],
];

for (const [text, of] of refused) {
  Deno.test(`parseMember() refuses ${text} of ${of.type}`, () => {
    assert.throws(() => parseMember(text, of), {
      message: `Cannot use "${text}" as a member of set "S" (${of.type})`,
    });
  });
}

Deno.test("memberText() says what a kernel may hold beside what we write", () => {
  assert.equal(memberText({ address, protocol: 1, port: 8 }, "hash:ip,port"), "172.30.0.1,1:8");
  assert.equal(memberText({}, "hash:ip"), "");
  assert.equal(memberText({}, "hash:ip,port,ip"), ",0:0,");
});

Deno.test("isKnownType() knows the types that the program makes", () => {
  assert.equal(isKnownType("hash:ip,port,net"), true);
  assert.equal(isKnownType("hash:net"), false);
  assert.equal(isKnownType("toString"), false);
});
