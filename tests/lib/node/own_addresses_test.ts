import assert from "node:assert/strict";
import { fakeAddress, fakeRoute } from "../../../lib/kernel/links/fake_links.ts";
import type { InterfaceAddress, Route } from "../../../lib/kernel/links/links.ts";
import { ownAddresses } from "../../../lib/node/own_addresses.ts";

function route(gateway: string | undefined, linkIndex: number, rest: Partial<Route> = {}): Route {
  const isIpv6 = gateway?.includes(":") ?? false;
  return fakeRoute(isIpv6 ? "::/0" : "0.0.0.0/0", { gateway, linkIndex, ...rest });
}

const rows: readonly {
  readonly name: string;
  readonly addresses: readonly InterfaceAddress[];
  readonly routes?: readonly Route[];
  readonly own: string;
}[] = [
  { name: "nothing", addresses: [], own: "" },
  {
    name: "the link of the default route, not the first one",
    addresses: [
      fakeAddress("172.17.0.1", { linkIndex: 2, linkName: "docker0" }),
      fakeAddress("192.168.0.2", { linkIndex: 3 }),
    ],
    routes: [route("192.168.0.1", 3)],
    own: "192.168.0.2",
  },
  {
    name: "the network of the gateway",
    addresses: [fakeAddress("10.1.0.9"), fakeAddress("192.168.0.2"), fakeAddress("192.168.7.2")],
    routes: [route("192.168.7.1", 2)],
    own: "192.168.7.2",
  },
  {
    name: "a default route without a gateway",
    addresses: [fakeAddress("172.17.0.1"), fakeAddress("192.168.0.2", { linkIndex: 3 })],
    routes: [route(undefined, 3)],
    own: "192.168.0.2",
  },
  {
    name: "no default route: the first that others reach",
    addresses: [
      fakeAddress("127.0.0.1", { linkIndex: 1, scope: "host" }),
      fakeAddress("127.0.0.5", { linkIndex: 1 }),
      fakeAddress("169.254.20.10"),
      fakeAddress("192.168.0.2", { linkIndex: 3 }),
      fakeAddress("fe80::1", { linkIndex: 3, scope: "link" }),
    ],
    routes: [route("192.168.0.1", 2, { table: 100 })],
    own: "192.168.0.2",
  },
  {
    name: "a default route over a link without an address: the next one, else the first address",
    addresses: [fakeAddress("192.168.0.2"), fakeAddress("192.168.3.2", { linkIndex: 3 })],
    routes: [route("10.0.0.1", 9), route("192.168.3.1", 3)],
    own: "192.168.3.2",
  },
  {
    name: "both families, each by its own route",
    addresses: [
      fakeAddress("192.168.0.2"),
      fakeAddress("fd00:192:168::2"),
      fakeAddress("fd00:192:168:3::2", { linkIndex: 3 }),
    ],
    routes: [route("192.168.0.1", 2), route("fe80::1", 3, { family: "IPv6", destination: "::/0" })],
    own: "192.168.0.2,fd00:192:168:3::2",
  },
  {
    name: "a default route of another table is for others",
    addresses: [fakeAddress("192.168.0.2"), fakeAddress("192.168.3.2", { linkIndex: 3 })],
    routes: [route("192.168.3.1", 3, { table: 100 })],
    own: "192.168.0.2",
  },
  {
    name: "a route to a part of the world is no default",
    addresses: [fakeAddress("192.168.0.2"), fakeAddress("192.168.3.2", { linkIndex: 3 })],
    routes: [route("192.168.3.1", 3, { destination: "10.0.0.0/8" })],
    own: "192.168.0.2",
  },
];

Deno.test("ownAddresses() chooses as a kubelet does", async (test) => {
  for (const { name, addresses, routes = [], own } of rows) {
    await test.step(name, () => assert.equal(ownAddresses({ addresses, routes }).join(","), own));
  }
});
