import assert from "node:assert/strict";
import { parseIp } from "../../../../lib/base/ip.ts";
import type { Protocol } from "../../../../lib/base/protocol.ts";
import { buildPacket } from "../../../../lib/kernel/packets/build_packet.ts";
import { crc32c, internetChecksum } from "../../../../lib/kernel/packets/checksums.ts";
import { readPacket } from "../../../../lib/kernel/packets/read_packet.ts";

const ip = (text: string) => {
  const bytes = parseIp(text);
  assert.ok(bytes);
  return bytes;
};

const ends = {
  IPv4: { source: ip("192.0.2.1"), destination: ip("172.30.0.10") },
  IPv6: { source: ip("2001:db8::1"), destination: ip("fd00:172:30::10") },
} as const;
const ports = { sourcePort: 20_001, destinationPort: 53, id: 0x0102_0304 } as const;

Deno.test("the sums are those of their documents", () => {
  // RFC 1071, 3; the check value of CRC-32C.
  const bytes = Uint8Array.fromHex("0001f203f4f5f6f7");
  assert.equal(internetChecksum(bytes), 0x220d);
  assert.equal(internetChecksum(Uint8Array.of(0xff)), 0x00ff);
  assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
});

/** Worked out by another program. */
const bytes = {
  IPv4: {
    TCP: "450000280000000040060ca7c0000201ac1e000a 4e21003501020304000000005002ffffef5c0000",
    UDP: "450000200000000040110ca4c0000201ac1e000a 4e210035000c3f5001020304",
    SCTP: "450000340000000040840c1dc0000201ac1e000a " +
      "4e21003500000000992313fd01000014010203040000ffff0001000101020304",
  },
  IPv6: {
    TCP: "600000000014064020010db8000000000000000000000001fd000172003000000000000000000010 " +
      "4e21003501020304000000005002ffff311a0000",
    UDP: "60000000000c114020010db8000000000000000000000001fd000172003000000000000000000010 " +
      "4e210035000c810d01020304",
    SCTP: "600000000020844020010db8000000000000000000000001fd000172003000000000000000000010 " +
      "4e21003500000000992313fd01000014010203040000ffff0001000101020304",
  },
} as const;

for (const family of ["IPv4", "IPv6"] as const) {
  for (const protocol of ["TCP", "UDP", "SCTP"] as const) {
    Deno.test(`a packet of ${protocol} over ${family} is read as it was built`, () => {
      const packet = buildPacket({ protocol, ...ends[family], ...ports });
      assert.deepEqual(readPacket(packet), {
        kind: "forwarded",
        protocol,
        source: family === "IPv4" ? "192.0.2.1" : "2001:db8::1",
        destination: family === "IPv4" ? "172.30.0.10" : "fd00:172:30::10",
        destinationPort: 53,
        id: 0x0102_0304,
      });
      assert.equal(packet.toHex(), bytes[family][protocol].replace(" ", ""));
    });
  }
}

Deno.test("a checksum of zero is sent as its other form", () => {
  // The id is such that the sum is zero.
  const zero = { ...ports, id: 0 };
  const without = buildPacket({ protocol: "UDP", ...ends.IPv4, ...zero });
  const sum = new DataView(without.buffer).getUint16(26);
  const packet = buildPacket({ protocol: "UDP", ...ends.IPv4, ...ports, id: sum });
  assert.equal(new DataView(packet.buffer).getUint16(26), 0xffff);
});

function reset(family: "IPv4" | "IPv6"): Uint8Array {
  const packet = buildPacket({
    protocol: "TCP",
    source: ends[family].destination,
    destination: ends[family].source,
    sourcePort: 53,
    destinationPort: 20_001,
    id: 9,
  });
  packet[(family === "IPv4" ? 20 : 40) + 13] = 0x14;
  return packet;
}

/** An ICMP error of this type about a packet of ours. */
function icmp(family: "IPv4" | "IPv6", { protocol, type }: {
  readonly protocol: Protocol;
  readonly type: number;
}): Uint8Array {
  const quoted = buildPacket({ protocol, ...ends[family], ...ports });
  const header = buildPacket({ protocol, ...ends[family], ...ports })
    .slice(0, family === "IPv4" ? 20 : 40);
  header[family === "IPv4" ? 9 : 6] = family === "IPv4" ? 1 : 58;
  return Uint8Array.of(...header, type, 3, 0, 0, 0, 0, 0, 0, ...quoted);
}

for (const family of ["IPv4", "IPv6"] as const) {
  Deno.test(`a refusal over ${family} tells the port that was refused`, () => {
    const refused = { kind: "refused", clientPort: 20_001 } as const;
    assert.deepEqual(readPacket(reset(family)), { ...refused, protocol: "TCP" });
    const type = family === "IPv4" ? 3 : 1;
    for (const protocol of ["TCP", "UDP", "SCTP"] as const) {
      assert.deepEqual(readPacket(icmp(family, { protocol, type })), { ...refused, protocol });
    }
    const other = icmp(family, { protocol: "UDP", type: family === "IPv4" ? 11 : 143 });
    assert.equal(readPacket(other), undefined);
  });
}

Deno.test("half a packet and foreign ones say nothing", () => {
  const whole = [
    ...(["TCP", "UDP", "SCTP"] as const).map((protocol) =>
      buildPacket({ protocol, ...ends.IPv4, ...ports })
    ),
    reset("IPv6"),
    icmp("IPv4", { protocol: "UDP", type: 3 }),
  ];
  for (const packet of whole) {
    for (let length = 0; length < packet.length; length++) readPacket(packet.slice(0, length));
  }
  assert.equal(readPacket(new Uint8Array()), undefined);
  assert.equal(readPacket(whole[0].slice(0, 39)), undefined);
  assert.equal(readPacket(whole[1].slice(0, 31)), undefined);
  const gre = whole[0].slice();
  gre[9] = 47;
  assert.equal(readPacket(gre), undefined);
  const five = whole[0].slice();
  five[0] = 0x55;
  assert.equal(readPacket(five), undefined);
});
