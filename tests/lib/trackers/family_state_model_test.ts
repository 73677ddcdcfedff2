import assert from "node:assert/strict";
import { parseIp } from "../../../lib/base/ip.ts";
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import type { ObjectChange } from "../../../lib/kube/object_batch.ts";
import type { EndpointSlice, Service, SliceEndpoint } from "../../../lib/kube/objects.ts";
import type { ServicePort } from "../../../lib/snapshot/snapshot.ts";
import { FamilyState, type Taken } from "../../../lib/trackers/family_state.ts";
import { computeModel, type ModelNode, type Vocabulary } from "./model.ts";
import { endpoint, service, settings, slice } from "./objects.ts";

const words: Vocabulary = {
  canonical: new Map([
    ...["172.30.0.1", "172.30.0.2", "172.30.0.10", "198.51.100.1", "203.0.113.1", "203.0.113.2"],
    ...["10.128.0.1", "10.128.0.10", "10.128.0.2", "10.128.1.1", "10.128.0.100", "10.128.0.11"],
    ...["fd00:172:30::1", "fd00:172:30::2", "2001:db8:113::1", "2001:db8:51::1"],
    ...[
      "fd00:10:128::1",
      "fd00:10:128::a",
      "fd00:10:128::10",
      "fd00:10:128::1a",
      "fd00:10:128:1::1",
    ],
  ].map((text): [string, string] => [text, text])).set("010.128.000.002", "10.128.0.2")
    .set("FD00:10:128:0::00A", "fd00:10:128::a").set("::ffff:10.128.1.1", "10.128.1.1")
    .set("::ffff:203.0.113.2", "203.0.113.2"),
  ranges: new Map([
    ["192.168.0.0/16", { text: "192.168.0.0/16", holds: ["192.168.1.1", "192.168.1.2"] }],
    [" 192.168.1.2/32", { text: "192.168.1.2/32", holds: ["192.168.1.2"] }],
    ["203.0.113.9/24", { text: "203.0.113.0/24", holds: [] }],
    ["0.0.0.0/0", { text: "0.0.0.0/0", holds: ["192.168.1.1", "192.168.1.2"] }],
    ["fd00:192:168::/48", {
      text: "fd00:192:168::/48",
      holds: ["fd00:192:168:1::1", "fd00:192:168:1::2"],
    }],
    ["fd00:192:168:1::2/128", { text: "fd00:192:168:1::2/128", holds: ["fd00:192:168:1::2"] }],
    ["::/0", { text: "::/0", holds: ["fd00:192:168:1::1", "fd00:192:168:1::2"] }],
  ]),
};
const nodeIPs: Record<IpFamily, readonly string[]> = {
  IPv4: ["192.168.1.1", "192.168.1.2"],
  IPv6: ["fd00:192:168:1::1", "fd00:192:168:1::2"],
};
const namespaces = ["cart", "shop", "shop-2"];

/** A small generator that gives the same numbers everywhere. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = Math.imul(this.#state ^ (this.#state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0;
    return ((this.#state ^ (this.#state >>> 13)) >>> 0) % limit;
  }

  chance(oneIn: number): boolean {
    return this.below(oneIn) === 0;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  some<T>(values: readonly T[], most: number): T[] {
    return Array.from({ length: this.below(most + 1) }, () => this.pick(values));
  }
}

function textsOf(prefixes: readonly string[]): readonly string[] {
  return [...words.canonical.keys(), "no address", ""].filter((text) =>
    prefixes.some((prefix) => text.startsWith(prefix)) || !/\d/.test(text)
  );
}

const externalTexts = textsOf(["198.", "2001:db8:51:"]);
const ingressTexts = textsOf(["203.", "2001:db8:113:", "::ffff:203."]);

function randomService(dice: Dice): Service {
  const v4 = dice.pick(["172.30.0.1", "172.30.0.2", "172.30.0.10"]);
  const v6 = dice.pick(["fd00:172:30::1", "fd00:172:30::2"]);
  const families = dice.pick([["IPv4"], ["IPv6"], ["IPv4", "IPv6"], ["IPv6", "IPv4"]]);
  const clusterIPs = families.map((family) => family === "IPv4" ? v4 : v6);
  const clusterIP = dice.chance(25) ? dice.pick(["", "None"]) : clusterIPs[0];
  const ports: Service["ports"] = [
    {
      name: "http",
      protocol: "TCP",
      port: dice.pick([80, 81]),
      nodePort: dice.pick([0, 0, 30080, 30081]),
    },
    { name: "dns", protocol: "UDP", port: 53, nodePort: dice.pick([0, 0, 30053]) },
    { name: "", protocol: "TCP", port: 443, nodePort: 0 },
  ];
  return service({
    namespace: dice.pick(namespaces),
    name: dice.pick(["api", "web"]),
    createdMs: dice.pick([0, 0, 5, 7]),
    type: dice.chance(20) ? "ExternalName" : dice.pick(["ClusterIP", "NodePort", "LoadBalancer"]),
    clusterIP,
    clusterIPs,
    ipFamilies: families,
    externalIPs: dice.some(externalTexts, 2),
    ports: ports.filter(() => !dice.chance(3)),
    affinitySeconds: dice.pick([0, 0, 10]),
    externalTrafficPolicy: dice.pick(["Cluster", "Local"]),
    internalTrafficPolicy: dice.pick(["Cluster", "Cluster", "Local"]),
    loadBalancerSourceRanges: dice.some([...words.ranges.keys(), "nonsense", " "], 2),
    ingress: dice.some(ingressTexts, 2).filter((ip) => ip !== "").map((ip) => ({
      ip,
      ipMode: dice.pick(["VIP", "VIP", "Proxy"]),
    })),
    healthCheckNodePort: dice.pick([0, 32000, 32001]),
    otherProxy: dice.chance(30),
  });
}

function randomEndpoint(dice: Dice, family: IpFamily): SliceEndpoint {
  const own = family === "IPv4"
    ? textsOf(["10.", "010.", "::ffff:10."])
    : textsOf(["fd00:10:", "FD00:10:"]);
  const address = dice.chance(25) ? dice.pick([...words.canonical.keys()]) : dice.pick(own);
  return endpoint(address, {
    ...dice.pick([
      { ready: true, serving: true, terminating: false },
      { ready: true, serving: true, terminating: false },
      { ready: false, serving: true, terminating: true },
      { ready: false, serving: false, terminating: true },
      { ready: false, serving: false, terminating: false },
      { ready: true, serving: false, terminating: false },
      { ready: false, serving: true, terminating: false },
    ]),
    nodeName: dice.pick(["node-a", "node-b", ""]),
    zoneHints: dice.chance(4) ? [] : dice.some(["zone-a", "zone-b"], 2),
    nodeHints: dice.chance(2) ? [] : dice.some(["node-a", "node-b"], 2),
  });
}

function randomSlice(dice: Dice): EndpointSlice {
  const addressType = dice.chance(20) ? "FQDN" : dice.pick(ipFamilies);
  const family = addressType === "IPv6" ? "IPv6" : "IPv4";
  const ports: EndpointSlice["ports"] = [
    { name: "http", protocol: "TCP", port: dice.pick([8080, 8080, 8081]) },
    { name: "dns", protocol: "UDP", port: dice.pick([53, 0, 70_000]) },
    { name: dice.pick(["", null]), protocol: "TCP", port: 443 },
    { name: "http", protocol: "TCP", port: 9090 },
  ];
  return slice({
    namespace: dice.pick(namespaces),
    name: dice.pick(["a", "b", "b2", "c"]),
    serviceName: dice.chance(15) ? "" : dice.pick(["api", "web"]),
    addressType,
    ports: ports.filter(() => !dice.chance(4)),
    endpoints: Array.from({ length: dice.below(7) }, () => randomEndpoint(dice, family)),
    triggerTimeMs: dice.pick([0, 50, 200]),
    otherProxy: dice.chance(20),
  });
}

type Kind = "services" | "slices";

/** One family under test beside what the model knows, and what a kernel would hold. */
class Trial {
  readonly services = new Map<string, Service>();
  readonly slices = new Map<string, EndpointSlice>();
  readonly #dice: Dice;
  readonly #family: IpFamily;
  readonly #state: FamilyState;
  #node: ModelNode;
  #optedOut = new Set<string>();
  #committed = new Map<string, ServicePort>();
  #healthChecks: ReadonlyMap<string, string> = new Map();
  /** Keys that failed syncs may have changed. */
  readonly #uncertain = new Set<string>();

  constructor(family: IpFamily, seed: number) {
    this.#family = family;
    this.#dice = new Dice(seed);
    this.#node = { name: "node-a", zone: "zone-a", ip: nodeIPs[family][0] };
    this.#state = new FamilyState({ family, node: this.#context(), settings, startedMs: 100 });
  }

  step(): void {
    const dice = this.#dice;
    const roll = dice.below(100);
    if (roll < 30) {
      this.#change("services", dice.some([randomService(dice), randomService(dice)], 3));
    } else if (roll < 75) {
      this.#change("slices", dice.some([randomSlice(dice), randomSlice(dice)], 3));
    } else if (roll < 83) this.#delete();
    else if (roll < 86) this.#replace();
    else if (roll < 94) this.#moveNode();
    // Back in soon, out seldom.
    else if (roll < 95 || (roll < 98 && this.#optedOut.size > 0)) this.#toggleNamespace();
  }

  /** What was committed, with what was taken. */
  #withHealthChecks({ healthChecks }: Taken): ReadonlyMap<string, string> {
    const after = new Map(this.#healthChecks);
    for (const [key, check] of healthChecks) {
      if (check) after.set(key, `${key} ${check.port} ${check.localEndpoints}`);
      else after.delete(key);
    }
    return after;
  }

  /** Takes, compares with the model, and commits or fails. */
  sync(): void {
    const taken = this.#state.take();
    const answer = computeModel(this, { family: this.#family, node: this.#node, words });
    const actual = new Map(taken.snapshot.services);
    assert.deepEqual(sorted(actual), sorted(answer.ports));
    this.#checkChanges(taken, actual);
    const healthChecks = this.#withHealthChecks(taken);
    assert.deepEqual([...healthChecks.values()].sort(), answer.healthChecks);
    this.#checkCounts(actual);
    if (this.#dice.chance(4)) {
      this.#state.restore();
      for (const key of taken.changes.services) this.#uncertain.add(key);
    } else {
      this.#state.commit();
      this.#committed = actual;
      this.#healthChecks = healthChecks;
      this.#uncertain.clear();
    }
  }

  #checkChanges(taken: Taken, actual: ReadonlyMap<string, ServicePort>): void {
    const expected = new Set(this.#uncertain);
    for (const key of new Set([...actual.keys(), ...this.#committed.keys()])) {
      // The same object, not just an equal one, is what a service port that did not change stays.
      if (actual.get(key) !== this.#committed.get(key)) expected.add(key);
      if (taken.changes.services.has(key) || this.#uncertain.has(key)) continue;
      assert.deepEqual(actual.get(key), this.#committed.get(key));
    }
    assert.deepEqual([...taken.changes.services].sort(), [...expected].sort());
  }

  #checkCounts(actual: ReadonlyMap<string, ServicePort>): void {
    const ports = [...actual.values()];
    assert.deepEqual(this.#state.counts, {
      servicePorts: ports.length,
      endpoints: ports.reduce((sum, port) => sum + port.reachableEndpoints.length, 0),
      noLocalInternal: ports.filter((port) => port.internal === "drop").length,
      noLocalExternal: ports.filter((port) => port.external === "drop").length,
    });
    const udp = ports.filter((port) => port.protocol === "UDP").map((port) => port.key);
    assert.deepEqual([...this.#state.udpPorts.keys()].sort(), udp.sort());
  }

  #change(kind: Kind, objects: readonly (Service | EndpointSlice)[]): void {
    for (const object of objects) {
      if (this.#optedOut.has(object.namespace)) continue;
      this.#put(kind, object);
    }
    this.#apply(kind, objects.map((object) => ({ kind: "upsert", object })));
  }

  #delete(): void {
    const kind = this.#dice.pick<Kind>(["services", "slices"]);
    const held = [...this[kind].entries()];
    if (held.length === 0) return;
    const [key, { namespace, name }] = this.#dice.pick<[string, Service | EndpointSlice]>(held);
    this[kind].delete(key);
    this.#apply(kind, [{ kind: "delete", namespace, name }]);
  }

  #replace(): void {
    const dice = this.#dice;
    const namespace = dice.chance(2) ? dice.pick(namespaces) : undefined;
    if (dice.chance(2)) {
      const objects = dice.some([randomService(dice), randomService(dice)], 3);
      this.#forget("services", namespace);
      for (const object of objects) this.#putIn("services", object, namespace);
      this.#state.applyServices(
        namespace ? { kind: "replace", objects, namespace } : { kind: "replace", objects },
      );
    } else {
      const objects = Array.from({ length: dice.below(9) }, () => randomSlice(dice));
      this.#forget("slices", namespace);
      for (const object of objects) this.#putIn("slices", object, namespace);
      this.#state.applyEndpointSlices(
        namespace ? { kind: "replace", objects, namespace } : { kind: "replace", objects },
      );
    }
  }

  #moveNode(): void {
    const dice = this.#dice;
    this.#node = {
      name: dice.chance(4) ? dice.pick(["node-a", "node-b"]) : this.#node.name,
      zone: dice.pick(["zone-a", "zone-b", ""]),
      ip: dice.pick(nodeIPs[this.#family]),
    };
    this.#state.setNode(this.#context());
  }

  #toggleNamespace(): void {
    const namespace = this.#dice.pick(namespaces);
    const names = new Set(this.#optedOut);
    if (!names.delete(namespace)) {
      names.add(namespace);
      this.#forget("services", namespace);
      this.#forget("slices", namespace);
    }
    this.#optedOut = names;
    this.#state.setOptedOut(names);
  }

  #forget(kind: Kind, namespace: string | undefined): void {
    for (const [key, object] of this[kind]) {
      if (namespace === undefined || object.namespace === namespace) this[kind].delete(key);
    }
  }

  #putIn(kind: Kind, object: Service | EndpointSlice, namespace: string | undefined): void {
    if (this.#optedOut.has(object.namespace)) return;
    if (namespace === undefined || object.namespace === namespace) this.#put(kind, object);
  }

  #put(kind: Kind, object: Service | EndpointSlice): void {
    const key = `${object.namespace}/${object.name}`;
    if (kind === "services" && "type" in object) this.services.set(key, object);
    if (kind === "slices" && "addressType" in object) this.slices.set(key, object);
  }

  #apply(kind: Kind, changes: readonly ObjectChange<Service | EndpointSlice>[]): void {
    const isService = (change: typeof changes[number]): change is ObjectChange<Service> =>
      change.kind === "delete" || "type" in change.object;
    const isSlice = (change: typeof changes[number]): change is ObjectChange<EndpointSlice> =>
      change.kind === "delete" || "addressType" in change.object;
    if (kind === "services") {
      this.#state.applyServices({ kind: "changes", changes: changes.filter(isService) });
    } else {
      this.#state.applyEndpointSlices({ kind: "changes", changes: changes.filter(isSlice) });
    }
  }

  #context() {
    const { name, zone, ip } = this.#node;
    return { name, zone, ip: parseIp(ip) };
  }
}

function sorted(ports: ReadonlyMap<string, ServicePort>): readonly ServicePort[] {
  return [...ports.values()].sort((a, b) => a.key < b.key ? -1 : 1);
}

for (const family of ipFamilies) {
  Deno.test(`FamilyState of ${family} agrees with a model through 10,000 random steps`, () => {
    const trial = new Trial(family, family === "IPv4" ? 1 : 2);
    for (let step = 0; step < 10_000; step++) {
      trial.step();
      if (step % 3 === 0) trial.sync();
    }
    trial.sync();
  });
}
