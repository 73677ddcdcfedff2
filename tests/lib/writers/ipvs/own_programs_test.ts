/** From where programs of the node reach addresses that are about to go. */
import assert from "node:assert/strict";
import { fakeAddress } from "../../../../lib/kernel/links/fake_links.ts";
import type { Route } from "../../../../lib/kernel/links/links.ts";
import { sourcesOf } from "../../../../lib/writers/ipvs/own_programs.ts";
import type { Remains } from "../../../../lib/writers/ipvs/remains.ts";

const kube = { index: 9, name: "kube-ipvs0", kind: "dummy", up: false };
const remains: Remains = {
  link: kube,
  families: [
    { family: "IPv4", servers: [], addresses: new Set(["10.96.0.1"]), sets: [] },
    { family: "IPv6", servers: [], addresses: new Set(["fd00:96::1"]), sets: [] },
  ],
};

const route = (destination: string, rest: Partial<Route> = {}): Route => ({
  family: destination.includes(":") ? "IPv6" : "IPv4",
  destination,
  gateway: undefined,
  linkIndex: 2,
  table: 254,
  source: undefined,
  ...rest,
});
const addresses = [
  fakeAddress("10.96.0.1", { linkIndex: kube.index, linkName: kube.name }),
  fakeAddress("fe80::2", { scope: "link" }),
  fakeAddress("192.168.1.1"),
  fakeAddress("192.168.1.2"),
  fakeAddress("fd00:1::1"),
  fakeAddress("172.16.0.1", { linkIndex: 3, linkName: "eth1" }),
];
const both = [route("0.0.0.0/0"), route("::/0")];

const cases: Readonly<Record<string, readonly [routes: readonly Route[], sources: string[]]>> = {
  "the first address of the link that the default route leads to": [both, [
    "192.168.1.1",
    "fd00:1::1",
  ]],
  "none where no route leads there": [[route("10.97.0.0/16"), route("fd00:1::/64")], []],
  "the source that the route names": [[route("0.0.0.0/0", { source: "192.168.1.2" })], [
    "192.168.1.2",
  ]],
  "the narrowest route": [
    [route("0.0.0.0/0"), route("10.96.0.0/12", { linkIndex: 3 }), route("10.0.0.0/8")],
    ["172.16.0.1"],
  ],
  "no other table": [[route("0.0.0.0/0", { table: 255 }), route("0.0.0.0/0", { table: 100 })], []],
  "no link without an address": [[route("0.0.0.0/0", { linkIndex: 7 })], []],
  "never the link that goes": [[route("0.0.0.0/0", { linkIndex: kube.index })], []],
};
for (const [name, [routes, sources]] of Object.entries(cases)) {
  Deno.test(`sourcesOf(): ${name}`, () => {
    const found = sourcesOf(remains, { addresses, routes });
    assert.deepEqual(found.map(({ source }) => source), sources);
    for (const each of found) {
      assert.equal(each.linkIndex, kube.index);
      assert.equal(each.ip, each.source.includes(":") ? "fd00:96::1" : "10.96.0.1");
    }
  });
}

Deno.test("sourcesOf(): without the link there is nothing to reach", () => {
  assert.deepEqual(sourcesOf({ ...remains, link: undefined }, { addresses, routes: both }), []);
});
