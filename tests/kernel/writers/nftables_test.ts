/** The nftables writer on the real kernel, in a network namespace of its own. Packets are sent elsewhere. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import type { Kernel } from "../../../lib/kernel/kernel.ts";
import type { Nftables } from "../../../lib/kernel/nftables/nftables.ts";
import type { ServicePort } from "../../../lib/snapshot/snapshot.ts";
import { leftovers } from "../../../lib/writers/nftables/leftovers.ts";
import { probe } from "../../../lib/writers/nftables/probe.ts";
import { renderText } from "../../../lib/writers/nftables/render.ts";
import { NftablesWriter } from "../../../lib/writers/nftables/writer.ts";
import type { RuleWriter } from "../../../lib/writers/writer.ts";
import {
  addresses,
  endpoints,
  everyShape,
  servicePort,
  snapshotOf,
} from "../../lib/writers/nftables/samples.ts";
import { NftNamespace } from "../nftables/namespace.ts";

const { signal } = new AbortController();
const all = { kind: "all" } as const;

for (const family of ipFamilies) {
  Deno.test(`the kernel takes every shape of Service, ${family}`, async (t) => {
    await using namespace = await NftNamespace.create();
    using nftables = namespace.open();
    const snapshot = snapshotOf(family, everyShape(family), { leftovers: true });

    await t.step("probe() says so and changes nothing", async () => {
      const generation = await nftables.generation();
      assert.deepEqual(await probe(nftables, family), { kind: "supported" });
      assert.equal(await nftables.generation(), generation);
      assert.equal(await namespace.listing(), "");
    });
    await t.step("a restart writes nothing", async () => {
      await writerOf(family, nftables).sync(snapshot, all, signal);
      const generation = await nftables.generation();
      const restarted = writerOf(family, nftables);
      const report = await restarted.sync(snapshot, all, signal);
      assert.deepEqual(report, { full: true, written: 0, notices: [] });
      assert.equal(await restarted.drifted(signal), false);
      assert.equal(await nftables.generation(), generation);
    });
    const ours = await namespace.listing();
    await t.step("its listing reloads to the same listing", async () => {
      await namespace.nft(["-f", "-"], `flush ruleset\n${ours}`);
      assert.equal(sortedElements(await namespace.listing()), sortedElements(ours));
    });
    await t.step("the rendering loaded by nft is the same table", async () => {
      const text = renderText(snapshot, { masqueradeBit: 14 });
      await namespace.nft(["-f", "-"], `flush ruleset\n${text}`);
      assert.equal(sortedElements(await namespace.listing()), sortedElements(ours));
      const report = await writerOf(family, nftables).sync(snapshot, all, signal);
      assert.equal(report.written, 0);
    });
    await t.step("its leftovers' door finds and removes it", async () => {
      const kernel = kernelOf(nftables);
      const found = await leftovers.find(kernel, signal);
      assert.deepEqual(found.map(({ family }) => family), [family]);
      await removeFrom(kernel);
      assert.deepEqual(await leftovers.find(kernel, signal), []);
      assert.equal(await namespace.listing(), "");
    });
  });

  Deno.test(`changes on the kernel end in the table of a clean start, ${family}`, async () => {
    await using namespace = await NftNamespace.create();
    using nftables = namespace.open();
    const writer = writerOf(family, nftables);
    const shapes = new Map(everyShape(family).map((each) => [each.key, each]));
    await writer.sync(snapshotOf(family, [...shapes.values()]), all, signal);
    for (const changed of changesOf(family)) {
      if ("name" in changed) shapes.set(changed.key, changed);
      else shapes.delete(changed.key);
      const snapshot = snapshotOf(family, [...shapes.values()]);
      const services = new Set([changed.key]);
      const report = await writer.sync(
        snapshot,
        { kind: "some", services, settings: false },
        signal,
      );
      assert.deepEqual([report.full, report.notices], [false, []], changed.key);
    }
    // Somebody else's commit, so that the counts and all elements are compared with the kernel's.
    await namespace.nft(["-f", "-"], "add table ip theirs");
    assert.equal(await writer.drifted(signal), false);
    await writer.maintain(signal);
    await namespace.nft(["-f", "-"], "delete table ip theirs");
    assert.equal(await writer.drifted(signal), false);
    const changed = await namespace.listing();
    await removeFrom(kernelOf(nftables));
    const clean = writerOf(family, nftables);
    await clean.sync(snapshotOf(family, [...shapes.values()]), all, signal);
    assert.equal(sortedObjects(changed), sortedObjects(await namespace.listing()));
  });
}

Deno.test("the kernel's foreign edits are noticed and put right", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const writer = writerOf("IPv4", nftables);
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"));
  await writer.sync(snapshot, all, signal);
  const table = sortedObjects(await namespace.listing());
  const edits = [
    "delete element ip kube-proxy service-ips { 172.30.0.10 . tcp . 80 }",
    "flush map ip kube-proxy endpoints",
    "add element ip kube-proxy no-endpoint-services { 172.30.0.10 . tcp . 80 : drop }",
    "delete element ip kube-proxy service-ips { 172.30.0.10 . tcp . 80 }; " +
    "add element ip kube-proxy service-ips { 172.30.0.10 . tcp . 80 : drop }",
    "flush chain ip kube-proxy services",
    "insert rule ip kube-proxy services counter accept",
    "add rule ip kube-proxy masquerading masquerade",
    "delete chain ip kube-proxy nat-postrouting",
    "add set ip kube-proxy theirs { type ether_addr ; }",
    "add chain ip kube-proxy theirs { type filter hook input priority 5 ; policy drop ; }",
    "delete table ip kube-proxy",
  ];
  for (const edit of edits) {
    await namespace.nft(["-f", "-"], edit);
    await until(async () => await writer.drifted(signal), edit);
    const { notices } = await writer.sync(snapshot, all, signal);
    assert.match(notices.map(({ message }) => message).join(), /^Repaired table /, edit);
    assert.equal(await writer.drifted(signal), false);
    assert.equal(sortedObjects(await namespace.listing()), table, edit);
  }
});

Deno.test("the kernel takes over the table that upstream's proxy made", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await namespace.nft(["-f", "-"], upstreamTable);
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"));
  const writer = writerOf("IPv4", nftables);
  assert.deepEqual((await writer.sync(snapshot, all, signal)).notices, []);
  assert.equal(await writer.drifted(signal), false);
  const taken = await namespace.listing();
  await removeFrom(kernelOf(nftables));
  await writerOf("IPv4", nftables).sync(snapshot, all, signal);
  assert.equal(
    sortedObjects(withoutComments(taken)),
    sortedObjects(withoutComments(await namespace.listing())),
  );
});

Deno.test("the kernel swaps a set of many source ranges for a new one of the same name", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const writer = writerOf("IPv4", nftables);
  const guarded = (ranges: number) =>
    servicePort({
      name: "guarded",
      clusterIP: addresses.IPv4.clusterIP(1),
      loadBalancerVIPs: [addresses.IPv4.loadBalancer(1)],
      sourceRanges: Array.from({ length: ranges }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`),
    });
  await writer.sync(snapshotOf("IPv4", [guarded(1000)]), all, signal);
  const started = performance.now();
  const report = await writer.sync(snapshotOf("IPv4", [guarded(3)]), {
    kind: "some",
    services: new Set([guarded(3).key]),
    settings: false,
  }, signal);
  // Deleting them one by one takes seconds.
  assert.ok(performance.now() - started < 1000);
  assert.deepEqual([report.full, report.notices], [false, []]);
  assert.match(await namespace.listing(), /elements = \{ [^}]*10\.0\.2\.0\/24 \}/);
  assert.equal(
    (await writerOf("IPv4", nftables).sync(
      snapshotOf("IPv4", [guarded(3)]),
      all,
      signal,
    )).written,
    0,
  );
});

function writerOf(family: IpFamily, nftables: Nftables): RuleWriter {
  return new NftablesWriter({ family, nftables, masqueradeBit: 14 });
}

function kernelOf(nftables: Nftables): Kernel {
  return Object.assign(new FakeKernel(), { nftables: () => Promise.resolve(nftables) });
}

async function removeFrom(kernel: Kernel): Promise<void> {
  assert.ok(leftovers.removal);
  const { remaining } = await leftovers.removal.apply(
    kernel,
    await leftovers.removal.plan(kernel, signal),
    signal,
  );
  assert.deepEqual(remaining, []);
}

/** One change after another: K up and down, affinity on and off, policies, ranges, removals. */
function changesOf(family: IpFamily): readonly (ServicePort | { readonly key: string })[] {
  const { clusterIP, loadBalancer } = addresses[family];
  const [a, , b, c, , , , , h, i] = everyShape(family);
  const pods = (...numbers: readonly number[]) =>
    endpoints(family, ...numbers.map((number) => [9, number] as const));
  return [
    { ...a, clusterEndpoints: pods(2, 3, 4, 5) },
    { ...a, clusterEndpoints: pods(5) },
    { ...a, affinitySeconds: 30, clusterEndpoints: pods(5, 6) },
    { ...a, affinitySeconds: 90, clusterEndpoints: pods(5) },
    { ...a, affinitySeconds: 90, clusterEndpoints: pods(5, 6) },
    { ...a, affinitySeconds: 0, clusterEndpoints: pods(1, 2) },
    { ...b, loadBalancerVIPs: [], nodePort: 30099 },
    { key: c.key },
    servicePort({
      name: "new",
      clusterIP: clusterIP(12),
      loadBalancerVIPs: [loadBalancer(12)],
      clusterEndpoints: pods(1, 2, 3),
    }),
    { ...h, sourceRanges: family === "IPv4" ? ["192.168.0.0/16"] : ["fd00:192::/32"] },
    { ...i, clusterEndpoints: pods(9), reachableEndpoints: pods(9) },
    { key: i.key },
  ];
}

/** As upstream 1.37 makes it, for one Service with two endpoints and a node port. */
const upstreamTable = `
table ip kube-proxy {
  comment "rules for kube-proxy"
  set cluster-ips { type ipv4_addr; comment "Active ClusterIPs"; elements = { 172.30.0.10 } }
  set nodeport-ips { type ipv4_addr; elements = { 192.168.0.1 } }
  map no-endpoint-services { type ipv4_addr . inet_proto . inet_service : verdict; }
  map no-endpoint-nodeports { type inet_proto . inet_service : verdict; }
  map firewall-ips { type ipv4_addr . inet_proto . inet_service : verdict; }
  map service-nodeports { type inet_proto . inet_service : verdict; }
  map service-ips { type ipv4_addr . inet_proto . inet_service : verdict; }
  set hairpin-connections { type ipv4_addr . ipv4_addr . inet_proto . inet_service; }
  chain reject-chain { reject; }
  chain service-ABCDEFGH-ns/a/tcp/p80 {
    meta l4proto tcp dnat ip addr . port to numgen random mod 2 map {
      0 : 10.128.1.2 . 8080, 1 : 10.128.2.2 . 8080 }
  }
  chain external-ABCDEFGH-ns/a/tcp/p80 {
    mark set mark or 0x4000
    goto service-ABCDEFGH-ns/a/tcp/p80
  }
  chain services {
    ip daddr @cluster-ips ip saddr != 10.128.0.0/14 mark set mark or 0x4000
    ip daddr . meta l4proto . th dport vmap @service-ips
    ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
  }
  chain masquerading { mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random; }
  chain cluster-ips-check { ip daddr @cluster-ips reject; ip daddr { 172.30.0.0/16 } drop; }
  chain service-endpoints-check { ip daddr . meta l4proto . th dport vmap @no-endpoint-services; }
  chain filter-forward {
    type filter hook forward priority 0;
    ct state new jump service-endpoints-check
    ct state new jump cluster-ips-check
  }
  chain nat-prerouting { type nat hook prerouting priority -100; jump services; }
  chain nat-output { type nat hook output priority -100; jump services; }
  chain nat-postrouting { type nat hook postrouting priority 100; jump masquerading; }
}
add element ip kube-proxy service-ips {
  172.30.0.10 . tcp . 80 : goto service-ABCDEFGH-ns/a/tcp/p80 }
add element ip kube-proxy service-nodeports { tcp . 30010 : goto external-ABCDEFGH-ns/a/tcp/p80 }
`;

/** The kernel lists elements of a hash in its own order. */
function sortedElements(listing: string): string {
  return listing.replaceAll(/elements = \{([^}]*)\}/g, (_, list: string) => {
    const elements = list.split(",").map((each) => each.trim().replaceAll(/\s+/g, " "));
    return `elements = { ${elements.sort().join(", ")} }`;
  });
}

/** Objects are listed in the order in which they were made. */
function sortedObjects(listing: string): string {
  return sortedElements(listing).split(/\n(?=\t(?:chain|map|set) )/).map((each) =>
    each.replace(/\n}\s*$/, "").trimEnd()
  ).sort().join("\n");
}

function withoutComments(listing: string): string {
  return listing.replaceAll(/\n\t+comment "[^"]*"/g, "");
}

/** Edits are noticed within a few seconds at most, however often the writer is asked. */
async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!await condition()) {
    if (performance.now() > deadline) throw new Error(`not noticed within 5 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
