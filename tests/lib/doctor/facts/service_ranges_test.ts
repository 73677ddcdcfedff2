import assert from "node:assert/strict";
import { serviceRangesReader } from "../../../../lib/doctor/facts/service_ranges.ts";
import { fakeAddress, FakeLinks, fakeRoute } from "../../../../lib/kernel/links/fake_links.ts";
import { FactsInMemory, type GivenFacts, known } from "../facts_in_memory.ts";

const objects = known({
  services: [],
  endpointSlices: [],
  node: undefined,
  serviceCIDRs: [
    {
      namespace: "",
      name: "kubernetes",
      resourceVersion: "1",
      cidrs: ["172.30.0.0/16", "fd00::/108"],
    },
  ],
});
const links = new FakeLinks({
  links: [{ index: 2, name: "eth0", kind: "", up: true }],
  addresses: [
    fakeAddress("172.30.4.4"),
    fakeAddress("192.168.1.1"),
    fakeAddress("fd00::1:7"),
    fakeAddress("172.30.0.1", { linkName: "kube-ipvs0" }),
    fakeAddress("172.30.0.10", { linkName: "nodelocaldns" }),
  ],
  routes: [
    fakeRoute("172.30.9.0/24"),
    fakeRoute("0.0.0.0/0"),
    fakeRoute("172.30.8.0/24", { linkIndex: 0 }),
    fakeRoute("172.30.4.4/32", { table: 255 }),
  ],
});

async function read(of: FakeLinks, given: GivenFacts) {
  const { signal } = new AbortController();
  return await serviceRangesReader(of).read({ signal, facts: new FactsInMemory(given) });
}

Deno.test("addresses and routes inside a ServiceCIDR are named, those of proxies are not", async () => {
  assert.deepEqual(await read(links, { objects }), {
    kind: "value",
    value: [
      "address 172.30.4.4 of eth0",
      "address fd00::1:7 of eth0",
      "route 172.30.9.0/24 by eth0",
      "route 172.30.8.0/24 by several ways",
    ],
  });
});

Deno.test("none is absent; without objects nothing is known", async () => {
  assert.equal((await read(new FakeLinks(), { objects })).kind, "absent");
  assert.deepEqual(await read(links, {}), { kind: "lacking", because: "no objects" });
});
