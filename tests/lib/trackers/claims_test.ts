import assert from "node:assert/strict";
import type { Service } from "../../../lib/kube/objects.ts";
import { FamilyState } from "../../../lib/trackers/family_state.ts";
import { NoticeBook } from "../../../lib/trackers/notice_book.ts";
import { service, settings } from "./objects.ts";

class Cluster {
  readonly notices = new NoticeBook();
  readonly #state = new FamilyState({
    family: "IPv4",
    node: { name: "node-a", zone: "" },
    settings,
    startedMs: 0,
    notices: this.notices,
  });

  put(changes: Partial<Service>): this {
    this.#state.applyServices({
      kind: "changes",
      changes: [{ kind: "upsert", object: service(changes) }],
    });
    return this;
  }

  remove(name: string, namespace = "shop"): this {
    this.#state.applyServices({ kind: "changes", changes: [{ kind: "delete", namespace, name }] });
    return this;
  }

  /** `name clusterIP nodePort externalIPs…` of each Service, and the names that changed. */
  sync(): { readonly frontends: readonly string[]; readonly changed: readonly string[] } {
    const { snapshot, changes } = this.#state.take();
    this.#state.commit();
    const frontends = [...snapshot.services.values()].map((port) =>
      [port.name, port.clusterIP, port.nodePort, ...port.externalIPs, ...port.loadBalancerVIPs]
        .join(" ")
    ).sort();
    const changed = [...changes.services].map((key) => key.replace(/^\S+?\/|:.*$/g, "")).sort();
    return { frontends, changed };
  }

  messages(): readonly string[] {
    return this.notices.take().map(({ message }) => message);
  }
}

const nodePort = (number: number) => [
  { name: "http", protocol: "TCP" as const, port: 80, nodePort: number },
];

Deno.test("Claims: the older Service keeps the address, whichever came first here", () => {
  const old = { name: "old", createdMs: 1 };
  const young = { name: "young", createdMs: 2 };
  for (const order of [[old, young], [young, old]]) {
    const cluster = new Cluster();
    for (const changes of order) cluster.put(changes);
    assert.deepEqual(cluster.sync().frontends, ["old 172.30.0.1 0", "young  0"]);
  }
});

Deno.test("Claims: of equal age the first by namespace, then by name wins", () => {
  const cluster = new Cluster().put({ name: "b" }).put({ name: "c", namespace: "cart" }).put({
    name: "a",
  });
  assert.deepEqual(cluster.sync().frontends, ["a  0", "b  0", "c 172.30.0.1 0"]);
  cluster.remove("c", "cart");
  assert.deepEqual(cluster.sync().frontends, ["a 172.30.0.1 0", "b  0"]);
});

Deno.test("Claims: the loser gets the frontend when the winner goes, and only both are touched", () => {
  const cluster = new Cluster().put({ name: "a" }).put({ name: "b" }).put({
    name: "other",
    clusterIP: "172.30.0.9",
  });
  cluster.sync();
  const { frontends, changed } = cluster.remove("a").sync();
  assert.deepEqual(frontends, ["b 172.30.0.1 0", "other 172.30.0.9 0"]);
  assert.deepEqual(changed, ["a", "b"]);
});

Deno.test("Claims: an older Service that comes later takes the frontend", () => {
  const cluster = new Cluster().put({ name: "young", createdMs: 5 });
  cluster.sync();
  const { frontends, changed } = cluster.put({ name: "old", createdMs: 1 }).sync();
  assert.deepEqual(frontends, ["old 172.30.0.1 0", "young  0"]);
  assert.deepEqual(changed, ["old", "young"]);
});

Deno.test("Claims: node ports conflict by number and protocol", () => {
  const cluster = new Cluster()
    .put({ name: "a", ports: nodePort(30_080) })
    .put({ name: "b", clusterIP: "172.30.0.2", ports: nodePort(30_080) })
    .put({
      name: "c",
      clusterIP: "172.30.0.3",
      ports: [{ name: "http", protocol: "UDP", port: 80, nodePort: 30_080 }],
    });
  assert.deepEqual(cluster.sync().frontends, [
    "a 172.30.0.1 30080",
    "b 172.30.0.2 0",
    "c 172.30.0.3 30080",
  ]);
});

Deno.test("Claims: an external IP conflicts with a cluster IP, a load balancer address with an external IP", () => {
  const cluster = new Cluster()
    .put({ name: "a" })
    .put({ name: "b", clusterIP: "172.30.0.2", externalIPs: ["172.30.0.1", "198.51.100.1"] })
    .put({
      name: "c",
      clusterIP: "172.30.0.3",
      ingress: [{ ip: "198.51.100.1", ipMode: "VIP" }, { ip: "203.0.113.1", ipMode: "VIP" }],
    });
  assert.deepEqual(cluster.sync().frontends, [
    "a 172.30.0.1 0",
    "b 172.30.0.2 0 198.51.100.1",
    "c 172.30.0.3 0 203.0.113.1",
  ]);
});

Deno.test("Claims: a cluster IP is its Service's, however old another is that names it", () => {
  const thief = {
    name: "thief",
    createdMs: 1,
    clusterIP: "172.30.0.2",
    externalIPs: ["172.30.0.1"],
    ingress: [{ ip: "172.30.0.1", ipMode: "VIP" as const }],
  };
  const victim = { name: "victim", createdMs: 2 };
  const sentence =
    "Service shop/thief: 172.30.0.1:80/TCP is not served for it, because it is the " +
    "cluster IP of the Service shop/victim";
  for (const order of [[thief, victim], [victim, thief]]) {
    const cluster = new Cluster();
    for (const changes of order) cluster.put(changes);
    assert.deepEqual(cluster.sync().frontends, ["thief 172.30.0.2 0", "victim 172.30.0.1 0"]);
    assert.deepEqual(cluster.messages(), [sentence]);
  }
  const cluster = new Cluster().put(thief);
  assert.deepEqual(cluster.sync().frontends, ["thief 172.30.0.2 0 172.30.0.1 172.30.0.1"]);
  const { frontends, changed } = cluster.put(victim).sync();
  assert.deepEqual([frontends, changed], [
    ["thief 172.30.0.2 0", "victim 172.30.0.1 0"],
    ["thief", "victim"],
  ]);
  assert.deepEqual(cluster.messages(), [sentence]);
  assert.deepEqual(cluster.remove("victim").sync().frontends, [
    "thief 172.30.0.2 0 172.30.0.1 172.30.0.1",
  ]);
});

Deno.test("Claims: one Service may name its own cluster IP as an external one", () => {
  const cluster = new Cluster()
    .put({ name: "own", createdMs: 2, externalIPs: ["172.30.0.1"] })
    .put({ name: "old", createdMs: 1, clusterIP: "172.30.0.2", externalIPs: ["172.30.0.1"] });
  assert.deepEqual(cluster.sync().frontends, [
    "old 172.30.0.2 0",
    "own 172.30.0.1 0 172.30.0.1",
  ]);
});

Deno.test("Claims: of two Services with one cluster IP the older has it", () => {
  const cluster = new Cluster().put({ name: "a", createdMs: 2 }).put({ name: "b", createdMs: 1 });
  assert.deepEqual(cluster.sync().frontends, ["a  0", "b 172.30.0.1 0"]);
});

Deno.test("Claims: one Service may name an address twice", () => {
  const cluster = new Cluster().put({
    name: "a",
    externalIPs: ["203.0.113.1"],
    ingress: [{ ip: "203.0.113.1", ipMode: "VIP" }],
  });
  assert.deepEqual(cluster.sync().frontends, ["a 172.30.0.1 0 203.0.113.1 203.0.113.1"]);
  assert.deepEqual(cluster.messages(), []);
  assert.deepEqual(cluster.remove("a").put({ name: "b" }).sync().frontends, ["b 172.30.0.1 0"]);
});

Deno.test("Claims: a conflict is said once, and again after the loser was recreated", () => {
  const cluster = new Cluster().put({ name: "a" }).put({ name: "b" });
  cluster.sync();
  const sentence = "Service shop/b: 172.30.0.1:80/TCP is not served for it, because the Service " +
    "shop/a came first";
  assert.deepEqual(cluster.messages(), [sentence]);
  cluster.put({ name: "b", affinitySeconds: 5 }).sync();
  cluster.put({ name: "a", affinitySeconds: 5 }).sync();
  assert.deepEqual(cluster.messages(), []);
  cluster.remove("b").sync();
  cluster.put({ name: "b" }).sync();
  assert.deepEqual(cluster.messages(), [sentence]);
});

Deno.test("Claims: a Service that asks for another address frees the old one", () => {
  const cluster = new Cluster().put({ name: "a" }).put({ name: "b" });
  cluster.sync();
  assert.deepEqual(cluster.put({ name: "a", clusterIP: "172.30.0.7" }).sync().frontends, [
    "a 172.30.0.7 0",
    "b 172.30.0.1 0",
  ]);
});
