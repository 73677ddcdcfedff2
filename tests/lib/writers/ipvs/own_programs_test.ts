/** From where programs of the node reach addresses that are about to go. */
import assert from "node:assert/strict";
import { fakeAddress, FakeLinks, fakeRoute } from "../../../../lib/kernel/links/fake_links.ts";
import type { Route } from "../../../../lib/kernel/links/links.ts";
import { sourcesOf } from "../../../../lib/writers/ipvs/own_programs.ts";

const kube = { index: 9, name: "kube-ipvs0", kind: "dummy", up: false };
const addresses = [
  fakeAddress("10.96.0.1", { linkIndex: kube.index, linkName: kube.name }),
  fakeAddress("fd00:96::1", { linkIndex: kube.index, linkName: kube.name }),
  fakeAddress("fe80::9", { linkIndex: kube.index, linkName: kube.name, scope: "link" }),
  fakeAddress("fe80::2", { scope: "link" }),
  fakeAddress("192.168.1.1"),
  fakeAddress("192.168.1.2"),
  fakeAddress("192.168.7.1"),
  fakeAddress("fd00:1::1"),
  fakeAddress("172.16.0.1", { linkIndex: 3, linkName: "eth1" }),
];
const both = [fakeRoute("0.0.0.0/0"), fakeRoute("::/0")];

const cases: Readonly<Record<string, readonly [routes: readonly Route[], sources: string[]]>> = {
  "the first address of the link that the default route leads to": [both, [
    "192.168.1.1",
    "fd00:1::1",
  ]],
  "none where no route leads there": [[fakeRoute("10.97.0.0/16"), fakeRoute("fd00:1::/64")], []],
  "the source that the route names": [[fakeRoute("0.0.0.0/0", { source: "192.168.1.2" })], [
    "192.168.1.2",
  ]],
  "the address in the network of the gateway": [[
    fakeRoute("0.0.0.0/0", { gateway: "192.168.7.9" }),
  ], [
    "192.168.7.1",
  ]],
  "the narrowest route": [
    [fakeRoute("0.0.0.0/0"), fakeRoute("10.96.0.0/12", { linkIndex: 3 }), fakeRoute("10.0.0.0/8")],
    ["172.16.0.1"],
  ],
  "no other table": [[
    fakeRoute("0.0.0.0/0", { table: 255 }),
    fakeRoute("0.0.0.0/0", { table: 100 }),
  ], []],
  "no link without an address": [[fakeRoute("0.0.0.0/0", { linkIndex: 7 })], []],
  "never the link that goes": [[fakeRoute("0.0.0.0/0", { linkIndex: kube.index })], []],
};
for (const [name, [routes, sources]] of Object.entries(cases)) {
  Deno.test(`sourcesOf(): ${name}`, () => {
    const found = sourcesOf(kube, new FakeLinks({ addresses, routes }));
    assert.deepEqual(found.map(({ source }) => source), sources);
    for (const each of found) {
      assert.equal(each.linkIndex, kube.index);
      assert.equal(each.ip, each.source.includes(":") ? "fd00:96::1" : "10.96.0.1");
    }
  });
}
