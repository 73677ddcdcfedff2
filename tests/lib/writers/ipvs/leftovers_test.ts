/** What ipvs mode left is found, and goes; what others made stays. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
import { IpsetErrno } from "../../../../lib/kernel/ipset/errors.ts";
import { FakeIpset } from "../../../../lib/kernel/ipset/fake_ipset.ts";
import { FakeIpvs } from "../../../../lib/kernel/ipvs/fake_ipvs.ts";
import type { IpvsServer } from "../../../../lib/kernel/ipvs/ipvs.ts";
import { fakeAddress, FakeLinks } from "../../../../lib/kernel/links/fake_links.ts";
import { leftovers as iptables } from "../../../../lib/writers/iptables/leftovers.ts";
import { leftovers } from "../../../../lib/writers/ipvs/leftovers.ts";
import { defaultSections, loadRuntime } from "../../../../lib/writers/registry.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { Harness } from "./harness.ts";
import { addresses, everyShape, snapshotOf } from "./samples.ts";

const { signal } = new AbortController();

const theirs: readonly IpvsServer[] = [["192.0.2.10", 443], [addresses.IPv4.node(1), 8443]].map((
  [address, port],
) => ({
  family: "IPv4",
  protocol: "tcp",
  address: String(address),
  port: Number(port),
  scheduler: "wlc",
  flags: 0,
}));

/** A node on which the mode served, beside what others have. */
async function leftBehind(family: "IPv4" | "IPv6" = "IPv4"): Promise<Harness> {
  const harness = new Harness({ family });
  const { ipset, ipvs, rules } = harness.kernel;
  ipvs.edit(theirs.map((server) => ({ kind: "add-server", server })));
  ipset.edit([{ kind: "create", set: { name: "mine", type: "hash:ip", family: "IPv4" } }]);
  rules.nft.edit(family, [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", table: "nat", chain: "DOCKER" },
  ]);
  await harness.full(snapshotOf(family, everyShape(family)));
  return harness;
}

async function chainsOf({ family, kernel }: Harness): Promise<readonly string[]> {
  const { chains } = await kernel.rules.nft.read(family, ["nat", "filter"]);
  return chains.filter(({ isBuiltIn }) => !isBuiltIn).map(({ name }) => name);
}

for (const family of ["IPv4", "IPv6"] as const) {
  Deno.test(`all of the mode goes and nothing of others, ${family}`, async () => {
    const harness = await leftBehind(family);
    const { kernel } = harness;
    const ours = kernel.ipvs.read().length - theirs.length;
    const plan = await leftovers.removal.plan(kernel, signal);
    const count = (kind: string) => plan.steps.filter((step) => step.kind === kind).length;
    assert.deepEqual([count("link"), count("virtual server"), count("set")], [1, ours, 17]);
    assert.equal(
      plan.steps.filter(({ kind, action }) => kind === "chain" && action === "delete").length,
      11,
    );
    assert.deepEqual(plan.kept, []);
    const report = await leftovers.removal.apply(kernel, plan, signal);
    assert.deepEqual(report.remaining, []);
    assert.equal(report.removed.length, plan.steps.length);
    assert.deepEqual(kernel.ipvs.read().map(({ server }) => server), theirs);
    assert.deepEqual(kernel.ipset.list().map(({ name }) => name), ["mine"]);
    assert.equal(kernel.links.find("kube-ipvs0"), undefined);
    assert.deepEqual(await chainsOf(harness), ["DOCKER"]);
    assert.deepEqual(await harness.rules("nat", "OUTPUT"), []);
    assert.deepEqual((await leftovers.removal.plan(kernel, signal)).steps, []);
  });
}

Deno.test("masquerading stays conntrack's while servers of others masquerade", async () => {
  const { kernel } = await leftBehind();
  const neededBy = (setting: string) =>
    leftovers.settings?.find((each) => each.setting === `net/ipv4/vs/${setting}`)
      ?.neededBy?.(kernel);
  assert.equal(neededBy("conntrack"), undefined);
  const [server] = theirs;
  const destination = { address: "192.0.2.20", port: 443, forwarding: "route", weight: 1 } as const;
  kernel.ipvs.edit([{ kind: "add-destination", server, destination }]);
  assert.equal(neededBy("conntrack"), undefined);
  const forwarding = "masquerade";
  kernel.ipvs.edit([
    { kind: "edit-destination", server, destination: { ...destination, forwarding } },
  ]);
  assert.equal(
    neededBy("conntrack"),
    "the virtual server -t 192.0.2.10:443 of somebody else masquerades",
  );
  assert.equal(neededBy("expire_nodest_conn"), undefined);
});

Deno.test("what is left is found in each place, and nothing where nothing is", async () => {
  assert.deepEqual(await leftovers.find(new FakeKernel(), signal), []);
  const { kernel } = await leftBehind();
  assert.deepEqual(
    (await leftovers.find(kernel, signal)).map(({ backend, family, objects }) => [
      backend,
      family,
      objects,
    ]),
    [["ipvs", "IPv4", ["link kube-ipvs0", "set KUBE-LOOP-BACK"]]],
  );
});

Deno.test("the link is told of the families whose addresses it has, whatever other links have", async () => {
  const eth0 = { index: 2, name: "eth0", kind: "veth", up: true };
  const links = new FakeLinks({
    links: [eth0],
    addresses: ipFamilies.map((family) => fakeAddress(addresses[family].node(1))),
  });
  const harness = new Harness({ family: "IPv6", parts: { links } });
  await harness.full(snapshotOf("IPv6", everyShape("IPv6")));
  assert.deepEqual(
    (await leftovers.find(harness.kernel, signal)).map(({ family, objects }) => [family, objects]),
    [["IPv6", ["link kube-ipvs0", "set KUBE-6-LOOP-BACK"]]],
  );
});

Deno.test("one chain alone is removed too", async () => {
  const kernel = new FakeKernel();
  kernel.rules.nft.edit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", table: "nat", chain: "KUBE-LOAD-BALANCER" },
  ]);
  const plan = await leftovers.removal.plan(kernel, signal);
  assert.equal(plan.steps.length, 1);
  const report = await leftovers.removal.apply(kernel, plan, signal);
  assert.deepEqual([report.removed, report.remaining], [plan.steps, []]);
});

Deno.test("no other mode says that it serves rightly beside what this one left", async () => {
  const [found] = await leftovers.find((await leftBehind()).kernel, signal);
  for (const mode of ["nftables", "iptables"] as const) {
    const runtime = await loadRuntime(mode, defaultSections());
    assert.equal(runtime?.servesBeside?.(found), false, mode);
    assert.equal(runtime?.owns(found), false, mode);
  }
  const nftables = await loadRuntime("nftables", defaultSections());
  assert.equal(nftables?.servesBeside?.({ ...found, mode: "iptables", backend: "nft" }), true);
});

Deno.test("frontends that lead to endpoints are told, but for node ports", async () => {
  const { kernel } = await leftBehind();
  const served = await leftovers.served?.(kernel, signal) ?? [];
  const texts = served.map(({ ip, port, protocol }) => `${ip} ${port} ${protocol}`);
  for (const each of ["172.30.0.11 80 TCP", "172.30.0.10 53 UDP", "172.30.0.19 80 SCTP"]) {
    assert.ok(texts.includes(each), each);
  }
  await assert.rejects(async () => await leftovers.served?.(kernel, AbortSignal.abort()));
  assert.ok(!texts.some((text) => /^(172\.30\.0\.16|192\.)/.test(text)));
});

Deno.test("servers in ranges of somebody else stay", async () => {
  const { kernel } = await leftBehind();
  const removal = leftovers.removalBut?.(["172.30.0.11/32"]);
  assert.ok(removal);
  const plan = await removal.plan(kernel, signal);
  await removal.apply(kernel, plan, signal);
  assert.deepEqual(
    kernel.ipvs.read().map(({ server }) => server.address),
    ["192.0.2.10", addresses.IPv4.node(1), "172.30.0.11"],
  );
});

Deno.test("chains that iptables mode has as well stay while its own are there", async () => {
  const harness = await leftBehind();
  const { kernel } = harness;
  // It writes the shared chains anew when it starts.
  kernel.rules.nft.edit("IPv4", [
    { kind: "add-chain", table: "nat", chain: "KUBE-NODEPORTS" },
    ...["KUBE-SERVICES", "KUBE-POSTROUTING"].map((chain) => (
      { kind: "flush-chain", table: "nat", chain } as const
    )),
    { kind: "flush-chain", table: "filter", chain: "KUBE-PROXY-FIREWALL" },
  ]);
  const plan = await leftovers.removal.plan(kernel, signal);
  assert.deepEqual(plan.kept, [{
    what:
      "chains KUBE-SERVICES, KUBE-POSTROUTING, KUBE-MARK-MASQ, KUBE-FORWARD, KUBE-PROXY-FIREWALL",
    reason: "shared with iptables mode, whose chains are there",
  }]);
  await leftovers.removal.apply(kernel, plan, signal);
  assert.deepEqual(
    new Set(await chainsOf(harness)),
    new Set([
      "DOCKER",
      "KUBE-NODEPORTS",
      "KUBE-SERVICES",
      "KUBE-POSTROUTING",
      "KUBE-MARK-MASQ",
      "KUBE-FORWARD",
      "KUBE-PROXY-FIREWALL",
    ]),
  );
  assert.deepEqual(await harness.rules("filter", "INPUT"), []);
  assert.deepEqual(await harness.rules("nat", "PREROUTING"), [
    '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
  ]);
});

Deno.test("the chain of all Services alone is no rule of iptables mode where ipvs mode is", async () => {
  const kernel = new FakeKernel({
    sysctl: new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" }),
  });
  const table = { family: "ip", name: "nat" } as const;
  const add = (name: string) =>
    kernel.tables.commit(table, [
      { kind: "add-table" },
      { kind: "add-chain", chain: { name } },
    ]);
  await add("KUBE-SERVICES");
  assert.deepEqual(await iptables.find(kernel, signal), []);
  await add("KUBE-NODEPORTS");
  assert.deepEqual((await iptables.find(kernel, signal)).map(({ objects }) => objects), [[
    "chain ip nat KUBE-NODEPORTS",
    "chain ip nat KUBE-SERVICES",
  ]]);
});

Deno.test("a link of another kind remains, and its removal is somebody else's", async () => {
  const links = new FakeLinks({
    links: [{ index: 7, name: "kube-ipvs0", kind: "bridge", up: false }],
    addresses: [fakeAddress(addresses.IPv4.node(1))],
  });
  const harness = new Harness({ parts: { links } });
  await harness.full(snapshotOf("IPv4", everyShape("IPv4")));
  const plan = await leftovers.removal.plan(harness.kernel, signal);
  assert.deepEqual(plan.remaining, [{
    what: "link kube-ipvs0",
    reason: "it is a bridge link and no dummy, so that somebody else made it; " +
      '"ip link delete kube-ipvs0" removes it',
  }]);
  const report = await leftovers.removal.apply(harness.kernel, plan, signal);
  assert.deepEqual(report.remaining, []);
  assert.ok(links.find("kube-ipvs0"));
});

Deno.test("what is refused is named with the reason, and the rest goes", async () => {
  const { kernel } = await leftBehind();
  kernel.ipvs.refuse(({ server }) => server.address === "172.30.0.11" ? Errno.EPERM : 0);
  kernel.ipset.countRules = (name) => name === "KUBE-CLUSTER-IP" ? 1 : 0;
  const plan = await leftovers.removal.plan(kernel, signal);
  const report = await leftovers.removal.apply(kernel, plan, signal);
  assert.deepEqual(report.remaining.map(({ what }) => what), [
    "virtual server -t 172.30.0.11:80",
    "set KUBE-CLUSTER-IP",
  ]);
  assert.match(report.remaining[0].reason, /not permitted/i);
  assert.match(report.remaining[1].reason, /^a rule still uses it; /);
  assert.equal(report.removed.length, plan.steps.length - 2);
});

Deno.test("a set that the kernel lets go of a moment after its rules is removed then, and no other is tried again", async () => {
  const { kernel } = await leftBehind();
  let tries = 0;
  kernel.ipset.refuse((change) => {
    const isHeld = change.kind === "destroy" && change.name === "KUBE-CLUSTER-IP" && ++tries < 3;
    return isHeld ? IpsetErrno.busy : 0;
  });
  const before = kernel.ipset.commits.length;
  const plan = await leftovers.removal.plan(kernel, signal);
  const report = await leftovers.removal.apply(kernel, plan, signal);
  assert.deepEqual([report.remaining, report.removed.length], [[], plan.steps.length]);
  const destroyed = kernel.ipset.commits.slice(before).map((changes) => changes.length);
  assert.deepEqual(destroyed.slice(1), [1, 1]);
});

Deno.test("a set of our name and another type names no server as ours, and goes too", async () => {
  const kernel = new FakeKernel();
  const set = { name: "KUBE-CLUSTER-IP", type: "hash:ip", family: "IPv4" } as const;
  kernel.ipset.edit([
    { kind: "create", set },
    { kind: "add-members", set, members: ["192.0.2.10"] },
  ]);
  kernel.ipvs.edit(theirs.map((server) => ({ kind: "add-server", server })));
  const plan = await leftovers.removal.plan(kernel, signal);
  assert.deepEqual(plan.steps.map(({ kind, name }) => `${kind} ${name}`), ["set KUBE-CLUSTER-IP"]);
  assert.deepEqual((await leftovers.removal.apply(kernel, plan, signal)).remaining, []);
});

Deno.test("without IPVS there is nothing to clean, and it says so", async () => {
  const kernel = new FakeKernel({
    ipvs: new FakeIpvs({ isLoaded: false, isInstalled: false }),
    ipset: new FakeIpset({ isLoaded: false, isInstalled: false }),
  });
  assert.deepEqual(await leftovers.find(kernel, signal), []);
  assert.deepEqual(await leftovers.removal.plan(kernel, signal), {
    steps: [],
    kept: [],
    remaining: [],
    remarks: ["the module ip_vs is not loaded"],
  });
});

Deno.test("a removal that is stopped says what it did not do", async () => {
  const { kernel } = await leftBehind();
  const plan = await leftovers.removal.plan(kernel, signal);
  const report = await leftovers.removal.apply(kernel, plan, AbortSignal.abort());
  assert.deepEqual(report.removed, []);
  assert.ok(report.remaining.length > 17);
  assert.deepEqual(new Set(report.remaining.map(({ reason }) => reason)).size, 1);
});
