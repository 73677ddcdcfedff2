import assert from "node:assert/strict";
import { parseIp } from "../../../lib/base/ip.ts";
import type { EndpointSlice, Service } from "../../../lib/kube/objects.ts";
import { FamilyState } from "../../../lib/trackers/family_state.ts";
import { NoticeBook } from "../../../lib/trackers/notice_book.ts";
import { endpoint, service, settings, slice } from "./objects.ts";

const web = "shop/web:http/TCP";
const node = { name: "node-a", zone: "zone-a" };
const dns = [{ name: "dns", protocol: "UDP" as const, port: 53 }];

class Fixture {
  readonly notices = new NoticeBook();
  readonly state = new FamilyState({
    family: "IPv4",
    node,
    settings,
    startedMs: 1000,
    notices: this.notices,
  });

  put(...services: Service[]): boolean {
    const changes = services.map((object) => ({ kind: "upsert" as const, object }));
    return this.state.applyServices({ kind: "changes", changes });
  }

  putSlice(...slices: EndpointSlice[]): boolean {
    const changes = slices.map((object) => ({ kind: "upsert" as const, object }));
    return this.state.applyEndpointSlices({ kind: "changes", changes });
  }

  removeSlice(name: string): boolean {
    const change = { kind: "delete" as const, namespace: "shop", name };
    return this.state.applyEndpointSlices({ kind: "changes", changes: [change] });
  }

  remove(name: string): boolean {
    const change = { kind: "delete" as const, namespace: "shop", name };
    return this.state.applyServices({ kind: "changes", changes: [change] });
  }

  /** Keys that a successful sync changed. */
  sync(): readonly string[] {
    const { changes } = this.state.take();
    this.state.commit();
    return [...changes.services].sort();
  }

  endpoints(key = web): readonly string[] {
    const { snapshot } = this.state.take();
    return snapshot.services.get(key)?.reachableEndpoints.map(({ ip }) => ip) ?? [];
  }
}

/** Ports p0, p1, … of a Service or a slice. */
function manyPorts(count: number, protocol: "TCP" | "UDP" = "TCP") {
  return Array.from(
    { length: count },
    (_, i) => ({ name: `p${i}`, protocol, port: 1000 + i, nodePort: 0 }),
  );
}

function manyEndpoints(count: number) {
  return Array.from({ length: count }, (_, i) => endpoint(`10.0.${i >> 8}.${i & 255}`));
}

function shop(): Fixture {
  const fixture = new Fixture();
  fixture.put(service());
  fixture.putSlice(slice({ endpoints: [endpoint("10.128.0.1"), endpoint("10.128.0.2")] }));
  fixture.sync();
  return fixture;
}

Deno.test("FamilyState makes a service port out of a Service and its slices, whatever comes first", () => {
  assert.deepEqual(shop().endpoints(), ["10.128.0.1", "10.128.0.2"]);
  const later = new Fixture();
  later.putSlice(slice({ endpoints: [endpoint("10.128.0.1")] }));
  assert.deepEqual(later.sync(), []);
  later.put(service());
  assert.deepEqual(later.sync(), [web]);
  assert.deepEqual(later.endpoints(), ["10.128.0.1"]);
});

Deno.test("FamilyState does not take a resync for a change", () => {
  const fixture = shop();
  const before = fixture.state.take().snapshot.services.get(web);
  assert.equal(fixture.put(service({ resourceVersion: "2" })), false);
  const endpoints = [endpoint("10.128.0.1"), endpoint("10.128.0.2")];
  assert.equal(fixture.putSlice(slice({ resourceVersion: "2", endpoints })), false);
  assert.deepEqual(fixture.sync(), []);
  assert.equal(fixture.state.take().snapshot.services.get(web), before);
});

Deno.test("FamilyState forgets a change that was undone before a sync", () => {
  const fixture = shop();
  fixture.put(service({ affinitySeconds: 10 }), service());
  assert.equal(fixture.state.events.serviceChangesPending, 0);
  fixture.put(service({ name: "brief" }));
  fixture.remove("brief");
  assert.equal(fixture.state.events.serviceChangesPending, 0);
  assert.deepEqual(fixture.sync(), []);
});

Deno.test("FamilyState reports a change again after a failed sync, even one that was undone", () => {
  const fixture = shop();
  fixture.put(service({ affinitySeconds: 10 }));
  fixture.state.take();
  fixture.put(service());
  fixture.state.restore();
  assert.deepEqual(fixture.sync(), [web]);
  assert.deepEqual(fixture.sync(), []);
});

Deno.test("FamilyState reports a removed Service by its key", () => {
  const fixture = shop();
  fixture.remove("web");
  assert.deepEqual(fixture.sync(), [web]);
  assert.equal(fixture.state.take().snapshot.services.size, 0);
  fixture.put(service());
  assert.deepEqual(fixture.sync(), [web]);
  assert.deepEqual(fixture.endpoints(), ["10.128.0.1", "10.128.0.2"]);
});

Deno.test("FamilyState follows a Service that becomes headless or ExternalName, and back", () => {
  const fixture = shop();
  for (const gone of [service({ clusterIP: "None" }), service({ type: "ExternalName" })]) {
    fixture.put(gone);
    assert.deepEqual(fixture.sync(), [web]);
    fixture.put(service());
    assert.deepEqual(fixture.sync(), [web]);
  }
});

Deno.test("FamilyState follows ports that come, go and change their names", () => {
  const fixture = shop();
  const port = { protocol: "TCP" as const, nodePort: 0 };
  fixture.put(service({
    ports: [{ ...port, name: "http", port: 80 }, { ...port, name: "more", port: 81 }],
  }));
  assert.deepEqual(fixture.sync(), ["shop/web:more/TCP"]);
  fixture.put(service({ ports: [{ ...port, name: "renamed", port: 80 }] }));
  assert.deepEqual(fixture.sync(), [web, "shop/web:more/TCP", "shop/web:renamed/TCP"]);
});

Deno.test("FamilyState moves endpoints with a slice that is relabelled to another Service", () => {
  const fixture = shop();
  fixture.put(service({ name: "api", clusterIP: "172.30.0.2" }));
  fixture.sync();
  fixture.putSlice(slice({ serviceName: "api", endpoints: [endpoint("10.128.0.1")] }));
  assert.deepEqual(fixture.sync(), ["shop/api:http/TCP", web]);
  assert.deepEqual(fixture.endpoints(), []);
  assert.deepEqual(fixture.endpoints("shop/api:http/TCP"), ["10.128.0.1"]);
});

Deno.test("FamilyState lets go of a slice that loses its label, its family or its proxy", () => {
  const losses: readonly Partial<EndpointSlice>[] = [
    { serviceName: "" },
    { addressType: "IPv6" },
    { addressType: "FQDN" },
    { otherProxy: true },
  ];
  for (const loss of losses) {
    const fixture = shop();
    assert.equal(fixture.putSlice(slice({ endpoints: [endpoint("10.128.0.1")], ...loss })), true);
    assert.deepEqual(fixture.endpoints(), []);
  }
});

Deno.test("FamilyState says whether a slice changed anything", () => {
  const fixture = shop();
  assert.equal(fixture.removeSlice("unknown"), false);
  assert.equal(fixture.putSlice(slice({ name: "v6", addressType: "IPv6" })), false);
  assert.equal(fixture.putSlice(slice({ name: "names", addressType: "FQDN" })), false);
  assert.equal(fixture.putSlice(slice({ name: "no-service", serviceName: "" })), false);
  assert.equal(fixture.putSlice(slice({ name: "empty" })), true);
  assert.equal(fixture.removeSlice("empty"), true);
});

Deno.test("FamilyState asks for flows to be cut exactly when slices of a UDP port change", () => {
  const fixture = shop();
  const asked = () => {
    const { conntrackCleanup } = fixture.state.take();
    fixture.state.commit();
    return conntrackCleanup;
  };
  fixture.putSlice(slice({ endpoints: [endpoint("10.128.0.9")] }));
  assert.equal(asked(), false, "TCP");
  fixture.put(
    service({ name: "udp", ports: [{ name: "dns", protocol: "UDP", port: 53, nodePort: 0 }] }),
  );
  assert.equal(asked(), false, "a Service alone");
  const udp = slice({
    name: "udp-1",
    serviceName: "udp",
    ports: dns,
    endpoints: [endpoint("10.128.0.1")],
  });
  fixture.putSlice(udp);
  assert.equal(asked(), true, "slice added");
  fixture.putSlice(udp);
  assert.equal(asked(), false, "the same slice");
  fixture.putSlice({ ...udp, ports: [] });
  assert.equal(asked(), true, "port removed");
  fixture.putSlice(udp);
  fixture.state.take();
  fixture.state.restore();
  assert.equal(asked(), true, "again after a failed sync");
  fixture.removeSlice("udp-1");
  assert.equal(asked(), true, "slice removed");
  fixture.putSlice(slice({ name: "orphan-1", serviceName: "orphan", ports: dns }));
  assert.equal(asked(), true, "without a Service");
});

const times: readonly (readonly [string, (fixture: Fixture) => void, readonly number[]])[] = [
  ["one slice", (f) => f.putSlice(slice({ triggerTimeMs: 2000 })), [2000]],
  [
    "a slice and its change",
    (f) => {
      f.putSlice(slice({ triggerTimeMs: 2000 }));
      f.putSlice(slice({ triggerTimeMs: 3000, endpoints: [endpoint("10.128.0.1")] }));
    },
    [2000, 3000],
  ],
  [
    "two Services",
    (f) => {
      f.putSlice(slice({ triggerTimeMs: 2000 }));
      f.putSlice(slice({ name: "b", serviceName: "b", triggerTimeMs: 3000 }));
      f.putSlice(slice({ triggerTimeMs: 4000, endpoints: [endpoint("10.128.0.1")] }));
    },
    [2000, 4000, 3000],
  ],
  ["no annotation", (f) => f.putSlice(slice()), []],
  ["from before the start", (f) => f.putSlice(slice({ triggerTimeMs: 999 })), []],
  [
    "added and removed",
    (f) => {
      f.putSlice(slice({ triggerTimeMs: 2000 }));
      f.removeSlice("web-1");
    },
    [],
  ],
  [
    "added, removed and added",
    (f) => {
      f.putSlice(slice({ triggerTimeMs: 2000 }));
      f.removeSlice("web-1");
      f.putSlice(slice({ triggerTimeMs: 3000, endpoints: [endpoint("10.128.0.1")] }));
    },
    [3000],
  ],
  ["removed without being known", (f) => f.removeSlice("web-1"), []],
];

for (const [name, scenario, expected] of times) {
  Deno.test(`FamilyState collects trigger times: ${name}`, () => {
    const fixture = new Fixture();
    scenario(fixture);
    assert.deepEqual(fixture.state.take().triggerTimesMs, expected);
  });
}

Deno.test("FamilyState looks again at hinted Services alone when the zone changes", () => {
  const fixture = shop();
  const hinted = (address: string, zone: string) => endpoint(address, { zoneHints: [zone] });
  fixture.put(service({ name: "near", clusterIP: "172.30.0.2" }));
  fixture.putSlice(slice({
    name: "near-1",
    serviceName: "near",
    endpoints: [hinted("10.128.0.1", "zone-a"), hinted("10.128.0.2", "zone-b")],
  }));
  fixture.sync();
  assert.equal(fixture.state.setNode({ ...node, zone: "zone-b" }), true);
  assert.deepEqual(fixture.sync(), ["shop/near:http/TCP"]);
  assert.deepEqual(fixture.endpoints("shop/near:http/TCP"), ["10.128.0.2"]);
  assert.equal(fixture.state.setNode({ ...node, zone: "zone-b" }), false);
});

Deno.test("FamilyState looks again at Services with source ranges when the node's address changes", () => {
  const fixture = shop();
  fixture.put(
    service({ name: "lb", clusterIP: "172.30.0.2", loadBalancerSourceRanges: ["192.168.1.0/24"] }),
  );
  fixture.sync();
  fixture.state.setNode({ ...node, ip: parseIp("192.168.1.1") ?? new Uint8Array() });
  assert.deepEqual(fixture.sync(), ["shop/lb:http/TCP"]);
});

Deno.test("FamilyState finds other endpoints local when its node has another name", () => {
  const fixture = shop();
  fixture.putSlice(slice({ endpoints: [endpoint("10.128.0.1", { nodeName: "node-b" })] }));
  fixture.sync();
  fixture.state.setNode({ ...node, name: "node-b" });
  assert.deepEqual(fixture.sync(), [web]);
});

Deno.test("FamilyState tells of health checks that came, changed or went, and of no others", () => {
  const fixture = new Fixture();
  const loadBalancer = (name: string, healthCheckNodePort: number) =>
    service({
      name,
      clusterIPs: [`172.30.0.${healthCheckNodePort - 31_000}`],
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      healthCheckNodePort,
    });
  const told = () => {
    const { healthChecks } = fixture.state.take();
    fixture.state.commit();
    return [...healthChecks].map(([key, check]) =>
      `${key} ${check ? `${check.port} ${check.localEndpoints}` : "gone"}`
    );
  };
  fixture.put(loadBalancer("web", 31_000), loadBalancer("api", 31_001));
  assert.deepEqual(told(), ["shop/web 31000 0", "shop/api 31001 0"]);
  fixture.putSlice(slice({ endpoints: [endpoint("10.128.0.1", { nodeName: "node-a" })] }));
  assert.deepEqual(told(), ["shop/web 31000 1"]);
  fixture.putSlice(slice({ endpoints: [endpoint("10.128.0.2", { nodeName: "node-a" })] }));
  assert.deepEqual(told(), []);
  fixture.put(loadBalancer("api", 31_002));
  fixture.state.take();
  fixture.state.restore();
  fixture.remove("web");
  assert.deepEqual(told(), ["shop/api 31002 0", "shop/web gone"]);
  assert.deepEqual(told(), []);
});

Deno.test("FamilyState reports settings once for each change", () => {
  const fixture = shop();
  const changed = () => {
    const { changes, snapshot } = fixture.state.take();
    fixture.state.commit();
    return [changes.settings, snapshot.settings.serviceCIDRs];
  };
  assert.equal(fixture.state.setSettings({ ...settings }), false);
  assert.equal(fixture.state.setSettings({ ...settings, serviceCIDRs: ["172.30.0.0/16"] }), true);
  assert.deepEqual(changed(), [true, ["172.30.0.0/16"]]);
  assert.deepEqual(changed(), [false, ["172.30.0.0/16"]]);
});

Deno.test("FamilyState drops an opted-out namespace and takes it in again by a replace", () => {
  const fixture = shop();
  fixture.put(service({ namespace: "cart", clusterIP: "172.30.0.2" }));
  fixture.sync();
  assert.equal(fixture.state.setOptedOut(new Set(["shop"])), true);
  assert.deepEqual(fixture.sync(), [web]);
  assert.equal(fixture.put(service({ affinitySeconds: 1 })), false);
  assert.equal(fixture.putSlice(slice({ name: "new" })), false);
  assert.equal(fixture.state.setOptedOut(new Set()), false);
  assert.deepEqual(fixture.sync(), []);
  fixture.state.applyServices({ kind: "replace", namespace: "shop", objects: [service()] });
  const slices = [slice({ endpoints: [endpoint("10.128.0.3")] })];
  fixture.state.applyEndpointSlices({ kind: "replace", namespace: "shop", objects: slices });
  assert.deepEqual(fixture.sync(), [web]);
  assert.deepEqual(fixture.endpoints(), ["10.128.0.3"]);
  assert.equal(fixture.state.take().snapshot.services.size, 2);
});

Deno.test("FamilyState counts events, effective or not, and what waits for a sync", () => {
  const fixture = shop();
  const before = fixture.state.events;
  fixture.put(service(), service({ name: "b" }));
  fixture.putSlice(slice({ endpoints: [] }), slice({ endpoints: [] }));
  const after = fixture.state.events;
  assert.equal(after.serviceChangesTotal - before.serviceChangesTotal, 2);
  assert.equal(after.endpointChangesTotal - before.endpointChangesTotal, 2);
  assert.equal(after.serviceChangesPending, 1);
  assert.equal(after.endpointChangesPending, 1);
  fixture.sync();
  assert.equal(fixture.state.events.serviceChangesPending, 0);
  assert.equal(fixture.state.events.endpointChangesPending, 0);
});

Deno.test("FamilyState says once that endpoints of a slice cannot be used, and uses the others", () => {
  const fixture = shop();
  const bad = slice({
    endpoints: [endpoint("10.128.0.300"), endpoint("fd00::1"), endpoint("10.128.0.1")],
  });
  fixture.putSlice(bad);
  fixture.putSlice({ ...bad, endpoints: [...bad.endpoints, endpoint("")] });
  assert.deepEqual(fixture.endpoints(), ["10.128.0.1"]);
  assert.deepEqual(fixture.notices.take().map(({ message }) => message), [
    'EndpointSlice shop/web-1: its endpoint "10.128.0.300" is no IPv4 address, so it is ignored',
  ]);
});

Deno.test("FamilyState looks at small Services first, and at giants one by one in turn", () => {
  const fixture = new Fixture();
  const ports = manyPorts(100);
  const names = ["big-a", "big-b", "small"];
  for (const [i, name] of names.entries()) {
    fixture.put(service({
      name,
      clusterIP: `172.30.0.${i + 1}`,
      ports: name === "small" ? ports.slice(0, 1) : ports,
    }));
  }
  fixture.sync();
  const addresses = (last: number) => [...manyEndpoints(900), endpoint(`10.9.9.${last}`)];
  const change = (name: string, last: number) =>
    fixture.putSlice(slice({
      name: `${name}-1`,
      serviceName: name,
      ports: ports.map((port) => ({ ...port })),
      endpoints: addresses(last),
    }));
  const looked = () => {
    const { changes, hasMore } = fixture.state.take();
    fixture.state.commit();
    return [[...new Set([...changes.services].map((key) => key.split(/[/:]/)[1]))], hasMore];
  };
  for (const name of names) change(name, 1);
  assert.deepEqual(looked(), [["small", "big-a"], true]);
  change("big-a", 2);
  change("small", 2);
  assert.deepEqual(looked(), [["small"], true]);
  change("small", 3);
  assert.deepEqual(looked(), [["small", "big-b"], true]);
  assert.deepEqual(looked(), [["big-a"], false]);
  assert.deepEqual(looked(), [[], false]);
});

Deno.test("FamilyState looks at a giant's ports some at a time, round and round", () => {
  const fixture = new Fixture();
  const ports = manyPorts(250, "UDP");
  fixture.put(service({ ports }));
  fixture.sync();
  const others = manyEndpoints(999);
  const change = (last: number) =>
    fixture.putSlice(slice({ ports, endpoints: [...others, endpoint(`10.9.9.${last}`)] }));
  const looked = () => {
    const { changes: { services }, conntrackCleanup, hasMore } = fixture.state.take();
    fixture.state.commit();
    const numbers = new Set([...services].map((key) => Number(key.match(/p(\d+)/)?.[1])));
    const isEdge = (i: number) => numbers.has(i) && !(numbers.has(i - 1) && numbers.has(i + 1));
    return { edges: ports.map((_, i) => i).filter(isEdge), conntrackCleanup, hasMore };
  };
  const step = { conntrackCleanup: true, hasMore: true };
  change(1);
  assert.deepEqual(looked(), { ...step, edges: [0, 99] });
  assert.deepEqual(looked(), { ...step, edges: [100, 199] });
  change(2);
  assert.deepEqual(looked(), { ...step, edges: [0, 49, 200, 249] });
  assert.deepEqual(looked(), { ...step, edges: [50, 149] });
  assert.deepEqual(looked(), { ...step, edges: [150, 199], hasMore: false });
  change(3);
  looked();
  fixture.put(service({ ports, externalIPs: ["192.0.2.1"] }));
  assert.deepEqual(looked(), { ...step, edges: [0, 249], hasMore: false });
  for (const { key } of [...fixture.state.take().snapshot.services.values()]) {
    assert.equal(fixture.endpoints(key).at(-1), "10.9.9.3", key);
  }
});

Deno.test("FamilyState looks at a giant at once when its Service changed", () => {
  const fixture = new Fixture();
  const endpoints = Array.from({ length: 20_000 }, (_, i) => endpoint(`10.${i >> 8}.0.${i & 255}`));
  for (const name of ["a", "b", "c", "d", "e", "f"]) {
    fixture.put(service({ name, clusterIP: "", externalIPs: ["192.0.2.1"] }));
    fixture.putSlice(slice({ name: `${name}-1`, serviceName: name, endpoints }));
  }
  const { hasMore } = fixture.state.take();
  assert.equal(hasMore, false);
});

Deno.test("FamilyState lets a giant that is new come part by part, behind others and wholly at first", () => {
  const ports = manyPorts(250);
  const endpoints = manyEndpoints(1000);
  const fixture = new Fixture();
  const addresses = ["known", "big", "small", "edge", "brief", "late", "later"];
  const clusterIP = (name: string) => `172.30.0.${1 + addresses.indexOf(name)}`;
  const put = (name: string, count = ports.length) => {
    fixture.put(service({ name, clusterIP: clusterIP(name), ports: ports.slice(0, count) }));
    fixture.putSlice(slice({ name: `${name}-1`, serviceName: name, ports, endpoints }));
  };
  /** How many ports of each Service changed: none is there without its endpoints. */
  const looked = () => {
    const { changes, hasMore, snapshot: { services } } = fixture.state.take();
    fixture.state.commit();
    const counts: Record<string, number> = {};
    for (const key of changes.services) {
      const [name] = key.split("/")[1].split(":");
      counts[name] = (counts[name] ?? 0) + 1;
      const port = services.get(key);
      if (port) assert.equal(port.clusterEndpoints.length, 1000, key);
    }
    return { ...counts, hasMore };
  };
  put("known");
  assert.deepEqual(looked(), { known: 250, hasMore: false });
  put("big");
  put("small", 10);
  assert.deepEqual(looked(), { small: 10, big: 100, hasMore: true });
  assert.deepEqual(looked(), { big: 100, hasMore: true });
  put("edge", 11);
  assert.deepEqual(looked(), { big: 50, hasMore: true });
  assert.deepEqual(looked(), { edge: 11, hasMore: false });
  assert.deepEqual(looked(), { hasMore: false });

  // Gone when it was there in part, and again: it begins anew.
  for (let time = 0; time < 2; time++) {
    put("brief");
    assert.deepEqual(looked(), { brief: 100, hasMore: true });
    fixture.remove("brief");
    assert.deepEqual(looked(), { brief: 100, hasMore: false });
  }
  // Changed when it was there in part: all of it is there at once.
  put("brief");
  looked();
  fixture.put(service({ name: "brief", clusterIP: "172.30.1.1", ports }));
  assert.deepEqual(looked(), { brief: 250, hasMore: false });
  // Its ports changed when it was not there yet.
  put("late");
  put("later");
  assert.deepEqual(looked(), { late: 100, hasMore: true });
  put("later", 150);
  assert.deepEqual(looked(), { later: 100, hasMore: true });
  assert.deepEqual(looked(), { late: 100, hasMore: true });
  assert.deepEqual(looked(), { later: 50, hasMore: true });
  assert.deepEqual(looked(), { late: 50, hasMore: false });
});

Deno.test("FamilyState holds 500 ports and 5,000 endpoints of one Service", () => {
  const fixture = new Fixture();
  const ports = Array.from({ length: 500 }, (_, i) => ({
    name: `p${i}`,
    protocol: "TCP" as const,
    port: i + 1,
  }));
  fixture.put(service({ ports: ports.map((port) => ({ ...port, nodePort: 0 })) }));
  fixture.putSlice(slice({ ports, endpoints: [endpoint("10.128.0.1")] }));
  assert.equal(fixture.sync().length, 500);
  const many = new Fixture();
  many.put(service());
  for (let part = 0; part < 50; part++) {
    const endpoints = Array.from({ length: 100 }, (_, i) => endpoint(`10.128.${part}.${i}`));
    many.putSlice(slice({ name: `web-${part}`, endpoints }));
  }
  assert.equal(many.endpoints().length, 5000);
});
