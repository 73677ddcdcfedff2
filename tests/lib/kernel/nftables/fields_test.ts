import assert from "node:assert/strict";
import fc from "fast-check";
import { formatIp } from "../../../../lib/base/ip.ts";
import { hex } from "../../../../lib/kernel/nftables/bytes.ts";
import {
  fieldLayout,
  fieldTypesOf,
  readFieldRanges,
  readFields,
  writeFieldRanges,
  writeFields,
} from "../../../../lib/kernel/nftables/fields.ts";
import { literalField, literalRanges } from "../../../../lib/kernel/nftables/literals.ts";
import type {
  NftFamily,
  NftField,
  NftFieldType,
} from "../../../../lib/kernel/nftables/operations.ts";

const encoded: readonly {
  name: string;
  family: NftFamily;
  types: readonly NftFieldType[];
  fields: readonly NftField[];
  hex: string;
}[] = [
  { name: "one address", family: "ip", types: ["addr"], fields: ["172.30.0.1"], hex: "ac1e0001" },
  { name: "one protocol", family: "ip", types: ["inet_proto"], fields: ["sctp"], hex: "84" },
  { name: "one port", family: "ip", types: ["inet_service"], fields: [8080], hex: "1f90" },
  { name: "one index", family: "ip", types: ["index"], fields: [258], hex: "02010000" },
  {
    name: "a concatenation, each field padded",
    family: "ip",
    types: ["addr", "inet_proto", "inet_service", "index"],
    fields: ["172.30.0.1", "tcp", 80, 4294967295],
    hex: "ac1e0001" + "06000000" + "00500000" + "ffffffff",
  },
  {
    name: "an IPv6 concatenation",
    family: "ip6",
    types: ["addr", "inet_service"],
    fields: ["fd00:172:30::1", 443],
    hex: "fd000172003000000000000000000001" + "01bb0000",
  },
];
for (const { name, family, types, fields, hex: expected } of encoded) {
  Deno.test(`writeFields() writes ${name}, and readFields() reads it`, () => {
    const layout = fieldLayout(types, family);
    // A buffer that was used before must not shine through.
    const bytes = new Uint8Array(layout.bytes).fill(0xaa);
    writeFields(layout, fields, bytes);
    assert.equal(hex(bytes), expected);
    assert.deepEqual(readFields(layout, bytes), fields);
    assert.deepEqual(fieldTypesOf(layout.typeId, family), types);
  });
}

const refused: readonly { name: string; type: NftFieldType; field: NftField }[] = [
  { name: "an address with three parts", type: "addr", field: "172.30.1" },
  { name: "an address with five parts", type: "addr", field: "1.2.3.4.5" },
  { name: "an octet above 255", type: "addr", field: "1.2.3.256" },
  { name: "an empty octet", type: "addr", field: "1..2.3" },
  { name: "an empty address", type: "addr", field: "" },
  { name: "an IPv6 address in an IPv4 table", type: "addr", field: "fd00::1" },
  { name: "a range where a key is exact", type: "addr", field: "10.0.0.0/8" },
  { name: "a number for an address", type: "addr", field: 7 },
  { name: "an unknown protocol", type: "inet_proto", field: "icmp" },
  { name: "a port above 65535", type: "inet_service", field: 65536 },
  { name: "a negative port", type: "inet_service", field: -1 },
  { name: "half a port", type: "inet_service", field: 80.5 },
  { name: "a port that is no number", type: "inet_service", field: "http" },
];
for (const { name, type, field } of refused) {
  Deno.test(`writeFields() throws on ${name}`, () => {
    const layout = fieldLayout([type], "ip");
    assert.throws(() => writeFields(layout, [field], new Uint8Array(layout.bytes)), RangeError);
  });
}

for (const text of ["fd00::1::2", "fd00:", ":1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::"]) {
  Deno.test(`writeFields() throws on the IPv6 address "${text}"`, () => {
    const layout = fieldLayout(["addr"], "ip6");
    assert.throws(() => writeFields(layout, [text], new Uint8Array(16)), RangeError);
  });
}

Deno.test("every IPv6 address is read as the text it was written from", () => {
  const layout = fieldLayout(["addr"], "ip6");
  // Few distinct groups, so that runs of zeros of every length come up.
  const group = fc.constantFrom(0, 0, 1, 0xabc, 0xffff);
  fc.assert(fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
    const text = formatIp(Uint8Array.from(groups.flatMap((each) => [each >> 8, each & 0xff])));
    const bytes = new Uint8Array(16).fill(0xaa);
    writeFields(layout, [text], bytes);
    assert.deepEqual(readFields(layout, bytes), [text]);
  }));
});

Deno.test("every CIDR is read as the text it was written from", () => {
  const layout = fieldLayout(["addr"], "ip");
  const octet = fc.integer({ min: 0, max: 255 });
  const input = fc.tuple(octet, octet, octet, octet, fc.integer({ min: 0, max: 31 }));
  fc.assert(fc.property(input, ([a, b, c, d, length]) => {
    const bounds = { first: new Uint8Array(4), last: new Uint8Array(4) };
    writeFieldRanges(layout, [`${a}.${b}.${c}.${d}/${length}`], bounds);
    const [text] = readFieldRanges(layout, bounds);
    assert.match(String(text), new RegExp(`/${length}$`));
    const again = { first: new Uint8Array(4), last: new Uint8Array(4) };
    writeFieldRanges(layout, [text], again);
    assert.deepEqual(again, bounds);
  }));
});

const merged: readonly { name: string; values: readonly string[]; expected: readonly string[] }[] =
  [
    { name: "one address", values: ["10.0.0.1"], expected: ["10.0.0.1"] },
    {
      name: "adjacent addresses without a range",
      values: ["10.0.0.2", "10.0.0.1", "10.0.0.2"],
      expected: ["10.0.0.1", "10.0.0.2"],
    },
    {
      name: "adjacent halves",
      values: ["10.128.0.0/9", "10.0.0.0/9"],
      expected: ["10.0.0.0/8"],
    },
    {
      name: "an address within a range",
      values: ["10.0.0.1", "10.0.0.0/8", "192.168.0.1"],
      expected: ["10.0.0.0/8", "192.168.0.1"],
    },
    {
      name: "what is no CIDR together",
      values: ["10.0.1.0/24", "10.0.2.0/24"],
      expected: ["10.0.1.0-10.0.2.255"],
    },
    {
      name: "ranges up to the highest address",
      values: ["255.0.0.0/8", "255.255.255.255"],
      expected: ["255.0.0.0/8"],
    },
  ];
for (const { name, values, expected } of merged) {
  Deno.test(`literalRanges() says ${name} as nft reads it`, () => {
    const layout = fieldLayout(["addr"], "ip");
    const ranges = literalRanges(layout, values).map((range) => literalField(layout, range));
    assert.deepEqual(ranges, expected);
  });
}
