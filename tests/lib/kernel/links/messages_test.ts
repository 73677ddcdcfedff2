/** Interfaces, addresses, routes and rules from the bytes of rtnetlink. */
import assert from "node:assert/strict";
import { readMessages } from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import {
  addressChangeHeader,
  addressHeader,
  linkHeader,
  linkIndexHeader,
  readAddress,
  readLink,
  readRoute,
  readRoutingRule,
  routeHeader,
  writeNewLink,
} from "../../../../lib/kernel/links/messages.ts";

type Write = (writer: MessageWriter) => void;

/** A message with that header and those attributes. */
function messageOf(header: readonly number[], write: Write = () => {}) {
  const writer = new MessageWriter();
  writer.begin({ type: 0, flags: 0, sequence: 0 }, Uint8Array.from(header));
  write(writer);
  writer.end();
  const [message] = readMessages(writer.bytes());
  return message;
}

const u32 = (value: number) => [value & 255, value >> 8 & 255, value >> 16 & 255, value >>> 24];
const ip = (...bytes: readonly number[]) => Uint8Array.from(bytes);

Deno.test("readLink() reads name, kind and whether it is up", () => {
  const header = (flags: number) => [0, 0, 1, 0, ...u32(7), ...u32(flags), ...u32(0)];
  const dummy = messageOf(header(0x1003), (writer) => {
    writeNewLink(writer, { name: "kube-ipvs0", kind: "dummy" });
  });
  assert.deepEqual(readLink(dummy), { index: 7, name: "kube-ipvs0", kind: "dummy", up: true });
  assert.deepEqual(readLink(messageOf(header(0x1002))), {
    index: 7,
    name: "",
    kind: "",
    up: false,
  });
});

const address = (family: number, scope: number, write?: Write) =>
  readAddress(messageOf([family, 24, 0, scope, ...u32(3)], write));

Deno.test("readAddress() takes our own end of a link, and IP alone", () => {
  const both: Write = (writer) => {
    writer.raw(1, ip(10, 0, 0, 2));
    writer.raw(2, ip(10, 0, 0, 1));
  };
  assert.deepEqual(address(2, 0, both), {
    family: "IPv4",
    ip: "10.0.0.1",
    prefixLength: 24,
    scope: "global",
    linkIndex: 3,
  });
  const one: Write = (writer) => writer.raw(1, ip(0xfd, ...Array(14).fill(0), 1));
  assert.deepEqual([address(10, 0, one)?.family, address(10, 0, one)?.ip], ["IPv6", "fd00::1"]);
  assert.equal(address(2, 0), undefined);
  assert.equal(address(28, 0, both), undefined);
});

for (
  const [number, scope] of [
    [0, "global"],
    [199, "global"],
    [200, "site"],
    [252, "site"],
    [253, "link"],
    [254, "host"],
    [255, "host"],
  ] as const
) {
  Deno.test(`readAddress() calls the scope ${number} ${scope}`, () => {
    assert.equal(address(2, number, (writer) => writer.raw(1, ip(10, 0, 0, 1)))?.scope, scope);
  });
}

/** Length of the destination, a table, and flags. */
const route = (
  { family = 2, flags = 0, length = 0, table = 254 }: {
    readonly family?: number;
    readonly flags?: number;
    readonly length?: number;
    readonly table?: number;
  },
  write?: Write,
) => messageOf([family, length, 8, 0, table, 0, 0, 1, ...u32(flags)], write);

Deno.test("readRoute() reads ways to networks, the default one too", () => {
  assert.deepEqual(
    readRoute(route({ length: 16 }, (writer) => {
      writer.raw(1, ip(10, 128, 0, 0));
      writer.u32(4, 5);
      writer.raw(5, ip(192, 168, 1, 254));
      writer.raw(7, ip(192, 168, 1, 1));
      writer.u32(15, 1000);
    })),
    {
      family: "IPv4",
      destination: "10.128.0.0/16",
      gateway: "192.168.1.254",
      linkIndex: 5,
      table: 1000,
      source: "192.168.1.1",
    },
  );
  const bare = { gateway: undefined, linkIndex: 0, table: 254, source: undefined };
  assert.deepEqual(readRoute(route({})), { family: "IPv4", destination: "0.0.0.0/0", ...bare });
  assert.deepEqual(readRoute(route({ family: 10 })), {
    family: "IPv6",
    destination: "::/0",
    ...bare,
  });
});

Deno.test("readRoute() passes over cached copies, and routes of others than IP", () => {
  assert.equal(readRoute(route({ flags: 0x200 })), undefined);
  assert.equal(readRoute(route({ flags: 0x100 }))?.table, 254);
  assert.equal(readRoute(route({ family: 28 })), undefined);
  assert.equal(readRoutingRule(route({ family: 28 })), undefined);
});

Deno.test("readRoutingRule() reads who is sent to which table", () => {
  assert.deepEqual(
    readRoutingRule(route({ length: 12, table: 7 }, (writer) => {
      writer.raw(1, ip(172, 16, 0, 0));
      writer.raw(2, ip(10, 0, 0, 0));
      writer.string(3, "eth0");
      writer.u32(6, 100);
      writer.u32(15, 2000);
      writer.string(17, "eth1");
    })),
    {
      family: "IPv4",
      priority: 100,
      from: "10.0.0.0/8",
      to: "172.16.0.0/12",
      inInterface: "eth0",
      outInterface: "eth1",
      table: 2000,
    },
  );
  assert.deepEqual(readRoutingRule(route({ family: 10, table: 7 })), {
    family: "IPv6",
    priority: 0,
    from: undefined,
    to: undefined,
    inInterface: "",
    outInterface: "",
    table: 7,
  });
});

Deno.test("headers name the family, the link and the prefix", () => {
  assert.deepEqual([...linkHeader()], Array(16).fill(0));
  assert.deepEqual([...linkIndexHeader(0x0102).subarray(0, 8)], [0, 0, 0, 0, 2, 1, 0, 0]);
  const change = { kind: "add", linkIndex: 9, ip: "10.0.0.1", prefixLength: 32 } as const;
  assert.deepEqual([...addressChangeHeader(change, 4)], [2, 32, 0, 0, 9, 0, 0, 0]);
  assert.deepEqual([...addressChangeHeader(change, 16)], [10, 32, 0, 0, 9, 0, 0, 0]);
  for (const [family, number] of [["IPv4", 2], ["IPv6", 10], [undefined, 0]] as const) {
    assert.deepEqual([...addressHeader(family)], [number, ...Array(7).fill(0)]);
    assert.deepEqual([...routeHeader(family)], [number, ...Array(11).fill(0)]);
  }
});
