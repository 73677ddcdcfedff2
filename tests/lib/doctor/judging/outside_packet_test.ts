/** The first packet of a connection, as rules see it. */
import assert from "node:assert/strict";
import { Ct, FibKey, Meta } from "../../../../lib/kernel/firewall/packet_keys.ts";
import type { KnownBits } from "../../../../lib/doctor/judging/known_bits.ts";
import { type OutsidePacket, PacketView } from "../../../../lib/doctor/judging/outside_packet.ts";

const packet: OutsidePacket = {
  family: "IPv4",
  source: "203.0.113.77",
  destination: "192.168.1.1",
  protocol: "tcp",
  destinationPort: 30080,
  inInterface: "eth0",
};
const ipv6: OutsidePacket = {
  ...packet,
  family: "IPv6",
  source: "2001:db8:113::77",
  destination: "fd00:192:168:1::1",
  protocol: "sctp",
};

/** `0a80` where every bit is known, `??` for bytes of which none is. */
function text(bits: KnownBits | undefined): string | undefined {
  return bits && [...bits.bytes].map((byte, at) => {
    const known = bits.known[at];
    if (known === 0) return "??";
    const hex = byte.toString(16).padStart(2, "0");
    return known === 0xff ? hex : `${hex}&${known.toString(16).padStart(2, "0")}`;
  }).join("");
}

const loads: readonly (readonly [
  what: string,
  load: (view: PacketView) => KnownBits | undefined,
  ipv4: string | undefined,
  ipv6: string | undefined,
])[] = [
  ["the source", (view) => view.payload("network", 12, 4), "cb00714d", undefined],
  ["the destination", (view) => view.payload("network", 16, 4), "c0a80101", undefined],
  ["the source of IPv6", (view) => view.payload("network", 8, 4), undefined, "20010db8"],
  ["the end of IPv6", (view) => view.payload("network", 38, 2), undefined, "0001"],
  ["the port", (view) => view.payload("transport", 2, 2), "7580", "7580"],
  ["the source port", (view) => view.payload("transport", 0, 2), "????", "????"],
  ["the last byte of the header", (view) => view.payload("transport", 11, 1), "??", "??"],
  ["more than there is of SCTP", (view) => view.payload("transport", 12, 2), "??02&3f", undefined],
  ["the version", (view) => view.payload("network", 0, 1), "45", "60&f0"],
  ["that it is whole", (view) => view.payload("network", 6, 2), "00&bf00", undefined],
  ["the next header", (view) => view.payload("network", 6, 1), undefined, "84"],
  ["the protocol", (view) => view.payload("network", 9, 1), "06", undefined],
  ["what is behind the header", (view) => view.payload("network", 39, 4), "????????", "????????"],
  ["its protocol", (view) => view.meta(Meta.l4proto), "06", "84"],
  ["its family", (view) => view.meta(Meta.nfproto), "02", "0a"],
  ["its kind of frame", (view) => view.meta(Meta.protocol), "0800", "86dd"],
  ["whom it is for", (view) => view.meta(Meta.pkttype), "00", "00"],
  [
    "its interface",
    (view) => view.meta(Meta.iifname),
    "65746830000000000000000000000000",
    "65746830000000000000000000000000",
  ],
  ["where it goes", (view) => view.meta(Meta.oifname), "??".repeat(16), "??".repeat(16)],
  ["the connection's state", (view) => view.ct(Ct.state), "08000000", "08000000"],
  ["its direction", (view) => view.ct(Ct.direction), "00", "00"],
  ["its status", (view) => view.ct(Ct.status), "00&3f??????", "00&3f??????"],
  ["its mark", (view) => view.ct(Ct.mark), "????????", "????????"],
  ["the family of the connection", (view) => view.ct(Ct.l3protocol), "02", "0a"],
  ["the protocol of the connection", (view) => view.ct(Ct.protocol), "06", "84"],
  ["the port of the connection", (view) => view.ct(Ct.protoDst), "7580", "7580"],
  ["something else of it", (view) => view.ct(99), "??".repeat(16), "??".repeat(16)],
  [
    "what the destination is",
    (view) => view.fib(FibKey.addressType, FibKey.daddr),
    "02000000",
    "02000000",
  ],
  [
    "what the source is",
    (view) => view.fib(FibKey.addressType, FibKey.saddr),
    "01000000",
    "01000000",
  ],
  ["what both are", (view) => view.fib(FibKey.addressType, 3), "????????", "????????"],
  ["the way to it", (view) => view.fib(1, FibKey.daddr), "??".repeat(16), "??".repeat(16)],
];

for (const [what, load, ofIpv4, ofIpv6] of loads) {
  Deno.test(`PacketView tells ${what}`, () => {
    for (const [each, expected] of [[packet, ofIpv4], [ipv6, ofIpv6]] as const) {
      const view = new PacketView(each);
      // A field that only the other family has there is of no interest.
      if (expected === undefined && !what.includes("more than")) continue;
      assert.equal(text(load(view)), expected, each.family);
      assert.equal(text(load(view)), expected, "asked again");
    }
  });
}

Deno.test("PacketView cuts the name of an interface as the kernel does", () => {
  const view = new PacketView({ ...packet, inInterface: "a-name-of-seventeen" });
  assert.equal(
    new TextDecoder().decode(view.meta(Meta.iifname).bytes),
    "a-name-of-sevent".slice(0, 15) + "\0",
  );
});

Deno.test("PacketView knows the headers of UDP up to their end", () => {
  const view = new PacketView({ ...packet, protocol: "udp" });
  assert.equal(text(view.payload("transport", 2, 6)), "7580????????");
  assert.equal(view.payload("transport", 2, 7), undefined);
  assert.throws(() => new PacketView({ ...packet, source: "nowhere" }), /from "nowhere" to/);
});
