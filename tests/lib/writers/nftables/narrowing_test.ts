import assert from "node:assert/strict";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { groupServicePorts, wantedTable } from "../../../../lib/writers/nftables/desired.ts";
import { FullPlan } from "../../../../lib/writers/nftables/full_plan.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { narrow, type Narrowed } from "../../../../lib/writers/nftables/narrowing.ts";
import { readTable } from "../../../../lib/writers/nftables/table_reading.ts";
import { firewallRules } from "../../../../lib/writers/nftables/rules/firewall.ts";
import { sets } from "../../../../lib/writers/nftables/sets.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const { clusterIP, external, loadBalancer } = addresses.IPv4;
const web = servicePort({
  name: "web",
  clusterIP: clusterIP(1),
  clusterEndpoints: endpoints("IPv4", [9, 1], [9, 2]),
});
const shop = servicePort({
  name: "shop",
  clusterIP: clusterIP(2),
  externalIPs: [external(2)],
  loadBalancerVIPs: [loadBalancer(2)],
  sourceRanges: ["198.51.100.0/24"],
  nodePort: 30_002,
  clusterEndpoints: endpoints("IPv4", [9, 3], [9, 4]),
});
const pinned = servicePort({
  name: "pinned",
  clusterIP: clusterIP(3),
  affinitySeconds: 60,
  clusterEndpoints: endpoints("IPv4", [9, 5]),
});
const unserved = servicePort({ name: "unserved", clusterIP: clusterIP(4) });
const local = servicePort({
  name: "local",
  clusterIP: clusterIP(5),
  clusterEndpoints: endpoints("IPv4", [1, 6]).map((each) => ({ ...each, isLocal: true })),
});
const all = [web, shop, pinned, unserved, local];

/** What a new process finds of a table with these edits, and wants of it. */
async function compared(edits: readonly NftOperation[], services: readonly ServicePort[]) {
  const harness = new Harness();
  await harness.put(...all);
  if (edits.length > 0) await harness.tamper(...edits);
  const { settings } = harness.snapshot;
  const desired = {
    context: { family: "IPv4", mark: 1 << 14, settings } as const,
    groups: groupServicePorts(new Map(services.map((each) => [each.key, each])), settings),
  };
  const found = await readTable(harness.nftables, tableOf("IPv4"), () => wantedTable(desired));
  assert.ok(found);
  return { ...found, desired };
}

/** What a new process has to plan of a table with these edits, and of these service ports. */
async function narrowed(
  edits: readonly NftOperation[],
  services: readonly ServicePort[] = all,
): Promise<Narrowed | undefined> {
  const found = await compared(edits, services);
  return narrow(found.desired, found);
}

async function planned(
  edits: readonly NftOperation[],
  services?: readonly ServicePort[],
): Promise<readonly string[] | undefined> {
  return (await narrowed(edits, services))?.groups.flat().map(({ key }) => key);
}

const gone = (set: string, key: readonly (string | number)[]): NftOperation => ({
  kind: "delete-elements",
  set,
  elements: [{ key }],
});

Deno.test("narrow() finds nothing to plan where the table is right", async () => {
  assert.deepEqual(await planned([]), []);
});

Deno.test("narrow() finds the service port of each element that is missing", async () => {
  const found: readonly [set: string, key: readonly (string | number)[], owner: ServicePort][] = [
    ["endpoints", [clusterIP(1), "tcp", 80, 1], web],
    ["endpoints", [external(2), "tcp", 80, 0], shop],
    ["nodeport-endpoints", ["tcp", 30_002, 0], shop],
    ["service-ips", [clusterIP(3), "tcp", 80], pinned],
    ["service-nodeports", ["tcp", 30_002], shop],
    ["cluster-picks", [loadBalancer(2), "tcp", 80], shop],
    ["no-endpoint-services", [clusterIP(4), "tcp", 80], unserved],
    ["firewall-ips", [loadBalancer(2), "tcp", 80], shop],
    ["firewall-allow-tcp", [loadBalancer(2), 80, "198.51.100.0/24"], shop],
  ];
  for (const [set, key, owner] of found) {
    assert.deepEqual(await planned([gone(set, key)]), [owner.key], set);
  }
});

Deno.test("narrow() finds the service port whose frontend has an element too many", async () => {
  const key = [clusterIP(1), "tcp", 80, 7];
  const value = ["10.128.9.9", 8080];
  const extra: NftOperation = {
    kind: "add-elements",
    set: "endpoints",
    elements: [{ key, value }],
  };
  assert.deepEqual(await planned([extra]), [web.key]);
});

Deno.test("narrow() plans a service port that changed, and none for one that is gone", async () => {
  const clusterEndpoints = endpoints("IPv4", [9, 1], [9, 8]);
  const moved = servicePort({ name: "web", clusterIP: clusterIP(1), clusterEndpoints });
  assert.deepEqual(await planned([], [moved, shop, pinned, unserved, local]), [web.key]);
  assert.deepEqual(await planned([], [shop, pinned, unserved, local]), []);
});

Deno.test("narrow() plans all where a shared element is missing, since nothing says whose it is", async () => {
  assert.equal(await planned([gone("cluster-ips", [clusterIP(1)])]), undefined);
  const hairpin = ["10.128.1.6", "10.128.1.6", "tcp", 8080];
  assert.equal(await planned([gone("hairpin-connections", hairpin)]), undefined);
});

Deno.test("narrow() plans all where the structure is not right", async () => {
  assert.equal(await planned([{ kind: "flush-chain", chain: "services" }]), undefined);
  assert.equal(await planned([{ kind: "add-chain", chain: { name: "stranger" } }]), undefined);
  const stranger = { name: "stranger", key: ["addr"] } as const;
  assert.equal(await planned([{ kind: "add-set", set: stranger }]), undefined);
  const [check] = firewallRules();
  const replaced: readonly NftOperation[] = [
    { kind: "flush-chain", chain: "firewall-check" },
    { kind: "delete-set", set: "firewall-ips" },
    { kind: "add-set", set: { ...sets["firewall-ips"], interval: true } },
    ...check.rules.map((rule): NftOperation => ({ kind: "add-rule", rule })),
  ];
  assert.equal(await planned(replaced), undefined);
  assert.equal(await planned([], all.filter((each) => each !== pinned)), undefined);
});

Deno.test("narrow() gives the ledger of the whole table", async () => {
  const found = await narrowed([]);
  assert.ok(found);
  const { ledger } = found;
  assert.deepEqual([...ledger.census.withChains], [pinned.key]);
  assert.equal(ledger.elementsOf("endpoints"), 2 + 3 * 2 + 1);
  assert.equal(ledger.elementsOf("cluster-ips"), 5);
  assert.equal(ledger.picksInUse().length > 0, true);
  assert.equal(ledger.setsInUse().length, 1);
  assert.deepEqual(ledger.retired(), []);
});

Deno.test("a plan that was narrowed goes through no other service port", async () => {
  const found = await compared([gone("endpoints", [clusterIP(1), "tcp", 80, 1])], all);
  const plan = new FullPlan(found.desired, {
    content: found.content,
    retired: new Set(),
    narrowed: narrow(found.desired, found),
  });
  const seen = [...plan.batches()].flatMap(({ owners }) => owners);
  assert.deepEqual(new Set(seen), new Set([web.key]));
});

Deno.test("a new process writes what differs of a table that is nearly right, and goes on as if it had made it", async () => {
  const harness = new Harness();
  await harness.put(...all);
  await harness.tamper(gone("endpoints", [clusterIP(1), "tcp", 80, 1]));
  harness.restart();
  const mark = harness.nftables.commits.length;
  await harness.all();
  const written = harness.batchesSince(mark).flat();
  assert.deepEqual(written.map(({ kind }) => kind), ["add-elements"]);
  assert.equal(await harness.drifted(), false);
  // What service ports share is known: removing one of two leaves the other's, and the last one takes it along.
  await harness.remove(pinned.key, shop.key, local.key);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
  assert.equal(await harness.drifted(), false);
});
