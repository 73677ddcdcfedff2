/** What a sync makes of the kernel, in which order, and that it writes no more than what differs. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { Harness, nodeLinks } from "./harness.ts";
import { setOf } from "../../../../lib/writers/ipvs/names.ts";
import { fakeAddress } from "../../../../lib/kernel/links/fake_links.ts";
import { addresses, endpoints, everyShape, servicePort, snapshotOf } from "./samples.ts";

const web = servicePort({
  name: "web",
  clusterIP: addresses.IPv4.clusterIP(1),
  clusterEndpoints: endpoints("IPv4", [1, 2], [9, 2]),
  nodeEndpoints: endpoints("IPv4", [1, 2]),
});
const other = servicePort({
  name: "other",
  clusterIP: addresses.IPv4.clusterIP(2),
  clusterEndpoints: endpoints("IPv4", [1, 3]),
});

for (const family of ipFamilies) {
  Deno.test(`a change leads to what a first sync makes, and nothing is written twice, ${family}`, async () => {
    const all = everyShape(family);
    const fresh = new Harness({ family });
    await fresh.full(snapshotOf(family, all));
    const stepwise = new Harness({ family });
    await stepwise.full(snapshotOf(family, []));
    const known: ServicePort[] = [];
    for (const each of all) {
      known.push(each);
      const report = await stepwise.some(snapshotOf(family, known), each);
      assert.deepEqual([report.full, report.notices], [false, []]);
    }
    assert.equal(await stepwise.dump(), await fresh.dump());
    for (const again of [stepwise, fresh]) {
      assert.equal((await again.full(snapshotOf(family, all))).written, 0);
      assert.equal(await again.drifted(), false);
      again.restart();
      assert.equal((await again.full(snapshotOf(family, all))).written, 0);
    }
    for (const each of all) {
      known.splice(known.indexOf(each), 1);
      await stepwise.some(snapshotOf(family, known), each);
    }
    const empty = new Harness({ family });
    await empty.full(snapshotOf(family, []));
    assert.equal(await stepwise.dump(), await empty.dump());
    assert.deepEqual([stepwise.servers(), stepwise.bound()], [[], []]);
    await stepwise.some(snapshotOf(family, all), ...all);
    assert.equal(await stepwise.dump(), await fresh.dump());
  });
}

Deno.test("a frontend comes up from the inside out and goes the other way round", async () => {
  const harness = new Harness();
  const { kernel } = harness;
  await harness.full(snapshotOf("IPv4", []));
  const order: string[] = [];
  kernel.ipset.refuse((change) => (order.push(`set ${change.kind}`), 0));
  kernel.ipvs.refuse((change) => (order.push(`server ${change.kind}`), 0));
  kernel.links.refuse((change) => (order.push(`address ${change.kind}`), 0));
  const one = servicePort({ ...other, key: "ns/other:p80/TCP" });
  await harness.some(snapshotOf("IPv4", [one]), one);
  assert.deepEqual([...new Set(order)], [
    "set add-members",
    "server add-server",
    "server add-destination",
    "address add",
  ]);
  order.length = 0;
  await harness.some(snapshotOf("IPv4", []), one);
  assert.deepEqual([...new Set(order)], [
    "address delete",
    "server delete-server",
    "set delete-members",
  ]);
});

Deno.test("rules of iptables mode lead connections until the addresses are there", async () => {
  const harness = new Harness();
  const { kernel } = harness;
  const toService = { matches: [], target: { kind: "jump", chain: "KUBE-NODEPORTS" } } as const;
  kernel.rules.nft.edit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", table: "nat", chain: "KUBE-NODEPORTS" },
    { kind: "add-chain", table: "nat", chain: "KUBE-SERVICES" },
    { kind: "append-rule", table: "nat", chain: "KUBE-SERVICES", rule: toService },
  ]);
  const order: string[] = [];
  kernel.links.refuse((change) => (order.push(`address ${change.kind}`), 0));
  kernel.rules.nft.refuse((change) => {
    const isOld = change.kind === "flush-chain" && change.chain === "KUBE-SERVICES";
    if (isOld || (change.kind === "add-chain" && change.chain === "KUBE-POSTROUTING")) {
      order.push(`${change.kind} ${change.chain}`);
    }
    return undefined;
  });
  await harness.full(snapshotOf("IPv4", [other]));
  assert.deepEqual([...new Set(order)], [
    "add-chain KUBE-POSTROUTING",
    "address add",
    "flush-chain KUBE-SERVICES",
  ]);
  assert.ok(!(await harness.rules("nat", "KUBE-SERVICES")).includes("-j KUBE-NODEPORTS"));
  assert.equal((await harness.full(snapshotOf("IPv4", [other]))).written, 0);
  order.length = 0;
  const balanced = { ...other, loadBalancerVIPs: ["203.0.113.7"] };
  await harness.full(snapshotOf("IPv4", [balanced]));
  assert.deepEqual(order, ["flush-chain KUBE-SERVICES", "address add"], "its own rules come first");
});

Deno.test("a report counts what was sent to the kernel: sets, rules, servers, addresses", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", []));
  const { ipset, ipvs, links, rules } = harness.kernel;
  const sent = { sets: 0, servers: 0, addresses: 0, rules: 0 };
  const { commit: commitSets } = ipset;
  ipset.commit = (changes) => (sent.sets += changes.length, commitSets.call(ipset, changes));
  const { commit: commitServers } = ipvs;
  ipvs.commit = (changes) => (sent.servers += changes.length, commitServers.call(ipvs, changes));
  const { changeAddresses } = links;
  links.changeAddresses = (changes) => (
    sent.addresses += changes.length, changeAddresses.call(links, changes)
  );
  const { commit: commitRules } = rules.nft;
  rules.nft.commit = (family, changes, options) => (
    sent.rules += changes.length, commitRules.call(rules.nft, family, changes, options)
  );
  for (const services of [[other], []]) {
    Object.assign(sent, { sets: 0, servers: 0, addresses: 0, rules: 0 });
    const { written } = await harness.some(snapshotOf("IPv4", services), other);
    assert.ok(Object.values(sent).every((count) => count > 0), JSON.stringify(sent));
    assert.equal(written, Object.values(sent).reduce((sum, each) => sum + each, 0));
  }
});

Deno.test("rules that name a set are there as long as it has members", async () => {
  const harness = new Harness();
  const rule =
    '-m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" ' +
    "-m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ";
  await harness.full(snapshotOf("IPv4", []));
  const masqueraded = async () =>
    (await harness.rules("nat", "KUBE-SERVICES")).filter((each) => each.endsWith(rule));
  assert.equal((await masqueraded()).length, 0);
  await harness.some(snapshotOf("IPv4", [web]), web);
  assert.deepEqual(await masqueraded(), [`! -s 10.128.0.0/14 ${rule}`]);
  await harness.some(snapshotOf("IPv4", []), web);
  assert.equal((await masqueraded()).length, 0);
});

Deno.test("an address of two Services' ports stays until the last one goes", async () => {
  const harness = new Harness();
  const https = servicePort({
    ...web,
    name: "web",
    portName: "p443",
    key: "ns/web:p443/TCP",
    port: 443,
  });
  await harness.full(snapshotOf("IPv4", [web, https]));
  await harness.some(snapshotOf("IPv4", [https]), web);
  assert.deepEqual(harness.bound(), [web.clusterIP]);
  assert.deepEqual(harness.members("KUBE-IPVS-IPS"), [web.clusterIP]);
  assert.deepEqual(harness.members("KUBE-LOOP-BACK"), ["10.128.1.2,tcp:8080,10.128.1.2"]);
  await harness.some(snapshotOf("IPv4", []), https);
  assert.deepEqual(harness.bound(), []);
});

Deno.test("what exists is edited and never made anew", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web]));
  const pinned = { ...web, affinitySeconds: 600 };
  await harness.some(snapshotOf("IPv4", [pinned]), pinned);
  assert.deepEqual(harness.kernel.ipvs.commits.at(-1)?.map(({ kind }) => kind), ["edit-server"]);
  assert.ok(harness.servers().includes("-A -t 172.30.0.1:80 -s rr -p 600"));
});

Deno.test("of addresses that another link has, only cluster IPs go on the link of this mode", async () => {
  const frontends = servicePort({
    ...web,
    externalIPs: ["198.51.100.1", "198.51.100.2"],
    loadBalancerVIPs: ["203.0.113.1"],
  });
  const links = nodeLinks("IPv4");
  links.setAddresses([
    ...links.addresses(),
    ...["198.51.100.1", "203.0.113.1", web.clusterIP].map((ip) => fakeAddress(ip)),
  ]);
  const harness = new Harness({ parts: { links } });
  await harness.full(snapshotOf("IPv4", [frontends]));
  assert.deepEqual(harness.bound(), [web.clusterIP, "198.51.100.2"].sort());
  assert.deepEqual(harness.members("KUBE-IPVS-IPS"), [web.clusterIP, "198.51.100.2"].sort());
  assert.equal(harness.kernel.ipvs.read().length, 4);
});

Deno.test("a first sync over upstream's state writes what differs, and gives back weights", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web, other]));
  const { server } = harness.kernel.ipvs.read()[0];
  const [destination] = harness.kernel.ipvs.read()[0].destinations;
  harness.kernel.ipvs.edit([{
    kind: "edit-destination",
    server,
    destination: { ...destination, weight: 0 },
  }]);
  harness.restart();
  const { written, notices } = await harness.full(snapshotOf("IPv4", [web, other]));
  assert.deepEqual([written, notices], [1, []]);
  assert.ok(harness.servers().every((line) => !line.includes("-w 0")));
});

Deno.test("edits of others are found, and undone by the next full sync", async () => {
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"));
  const harness = new Harness();
  await harness.full(snapshot);
  const before = await harness.dump();
  const { ipset, ipvs, links, rules } = harness.kernel;
  const edits: readonly (() => void)[] = [
    () => ipvs.edit([{ kind: "delete-server", server: ipvs.read()[0].server }]),
    () => ipset.edit([{ kind: "flush", name: "KUBE-CLUSTER-IP" }]),
    () => void links.remove("kube-ipvs0"),
    () =>
      ipset.edit([{
        kind: "delete-members",
        set: setOf("clusterIP", "IPv4"),
        members: ["172.30.0.11,tcp:80"],
      }]),
    () =>
      ipset.edit([{ kind: "add-members", set: setOf("nodePortTCP", "IPv4"), members: ["31111"] }]),
    () => {
      const linkIndex = links.find("kube-ipvs0")?.index ?? 0;
      links.changeAddresses([{ kind: "add", linkIndex, ip: "172.30.7.7", prefixLength: 32 }]);
    },
    () => {
      const source = { cidr: "203.0.113.22/32" };
      const match = { kind: "ipvs", address: "203.0.113.22", protocol: "udp", port: 53 } as const;
      const rule = { source, matches: [match], target: { kind: "drop" } } as const;
      rules.nft.edit("IPv4", [{
        kind: "append-rule",
        table: "filter",
        chain: "KUBE-IPVS-OUT-FILTER",
        rule,
      }]);
    },
    () => rules.nft.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain: "KUBE-SERVICES" }]),
    () => rules.nft.edit("IPv4", [{ kind: "flush-chain", table: "nat", chain: "OUTPUT" }]),
    () =>
      rules.nft.edit("IPv4", [{
        kind: "flush-chain",
        table: "filter",
        chain: "KUBE-IPVS-OUT-FILTER",
      }]),
  ];
  for (const edit of edits) {
    await harness.clock.advance(60_000);
    assert.equal(await harness.drifted(), false);
    edit();
    assert.equal(await harness.drifted(), true);
    await harness.full(snapshot);
    assert.equal(await harness.dump(), before);
  }
});

Deno.test("external traffic goes everywhere where only internal traffic is Local", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [
    {
      ...web,
      nodePort: 30001,
      internalPolicyLocal: true,
      localEndpoints: endpoints("IPv4", [1, 2]),
    },
  ]));
  assert.deepEqual(harness.servers().filter((line) => line.startsWith("-a")), [
    "-a -t 172.30.0.1:80 -r 10.128.1.2:8080 -m -w 1",
    "-a -t 192.168.0.1:30001 -r 10.128.1.2:8080 -m -w 1",
    "-a -t 192.168.0.1:30001 -r 10.128.9.2:8080 -m -w 1",
  ]);
});

Deno.test("of two service ports that ask for one frontend the first by name has it", async () => {
  for (const known of [[web, other], [other, web]]) {
    const first = known[0];
    const harness = new Harness();
    await harness.full(snapshotOf("IPv4", [first]));
    const contested = known.map((each) => ({ ...each, externalIPs: ["198.51.100.9"] }));
    await harness.some(snapshotOf("IPv4", contested), ...contested);
    const at = () => harness.servers().filter((line) => line.startsWith("-a -t 198.51.100.9"));
    assert.deepEqual(at(), ["-a -t 198.51.100.9:80 -r 10.128.1.3:8080 -m -w 1"]);
    const left = contested.filter(({ name }) => name === "web");
    await harness.some(snapshotOf("IPv4", left), ...contested);
    assert.equal(at().length, 2);
  }
});

Deno.test("addresses that the kernel gives a link by itself are let alone", async () => {
  const harness = new Harness({ family: "IPv6" });
  await harness.full(snapshotOf("IPv6", []));
  const { links } = harness.kernel;
  const linkIndex = links.find("kube-ipvs0")?.index ?? 0;
  await links.changeAddresses([{ kind: "add", linkIndex, ip: "fe80::1", prefixLength: 64 }]);
  const vip = servicePort({ name: "vip", clusterIP: "fd00:172:30::9", externalIPs: ["fe80::1"] });
  assert.equal(await harness.drifted(), false);
  await harness.full(snapshotOf("IPv6", [vip]));
  assert.deepEqual(harness.bound(), ["fd00:172:30::9", "fe80::1"]);
  assert.deepEqual(harness.members("KUBE-6-IPVS-IPS"), ["fd00:172:30::9", "fe80::1"]);
});

Deno.test("looking for edits of others takes a twentieth of the time at most", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web]));
  const { ipvs } = harness.kernel;
  const read = ipvs.read.bind(ipvs);
  let looks = 0;
  ipvs.read = () => {
    looks++;
    harness.clock.pass(1_000);
    return read();
  };
  for (const [seconds, expected] of [[0, 1], [10, 1], [9, 1], [1, 2]] as const) {
    await harness.clock.advance(seconds * 1_000);
    assert.equal(await harness.drifted(), false);
    assert.equal(looks, expected, `${seconds} s later`);
  }
});

Deno.test("a setting that changes is written everywhere", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", everyShape("IPv4")));
  const moved = snapshotOf("IPv4", everyShape("IPv4"), {
    nodePortAddresses: { kind: "listed", addresses: [addresses.IPv4.node(2)] },
  });
  const report = await harness.some(moved);
  assert.equal(report.full, true);
  assert.ok(harness.servers().some((line) => line.includes("192.168.0.2:30011")));
  assert.ok(harness.servers().every((line) => !line.includes("192.168.0.1:30011")));
});

Deno.test("a writer that nobody wants any more changes nothing and looks at nothing", async () => {
  const harness = new Harness();
  const before = await harness.dump();
  const aborted = AbortSignal.abort(new Error("enough"));
  const work = [
    () => harness.writer.sync(snapshotOf("IPv4", [web]), { kind: "all" }, aborted),
    () => harness.writer.drifted(aborted),
    () => harness.writer.maintain(aborted),
  ];
  for (const each of work) await assert.rejects(each(), /enough/);
  assert.equal(await harness.dump(), before);
});

Deno.test("sync() of everything reads the kernel once where nobody else writes", async () => {
  const harness = new Harness();
  const { ipvs } = harness.kernel;
  const read = ipvs.read.bind(ipvs);
  let readings = 0;
  ipvs.read = () => {
    readings++;
    return read();
  };
  await harness.full(snapshotOf("IPv4", everyShape("IPv4")));
  const first = readings;
  await harness.full(snapshotOf("IPv4", everyShape("IPv4")));
  assert.deepEqual([first, readings], [1, 2]);
});

Deno.test("sync() of everything tries three times against somebody who always comes between", async () => {
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"));
  const harness = new Harness();
  await harness.full(snapshot);
  const before = await harness.dump();
  const { ipvs } = harness.kernel;
  const [{ server }] = ipvs.read();
  const destination = {
    address: "192.0.2.1",
    port: 9,
    forwarding: "masquerade",
    weight: 1,
  } as const;
  const read = ipvs.read.bind(ipvs);
  let readings = 0;
  ipvs.read = () => {
    readings++;
    ipvs.edit([{ kind: "add-destination", server, destination }]);
    const found = read();
    ipvs.edit([{ kind: "delete-destination", server, destination }]);
    return found;
  };
  await harness.full(snapshot);
  assert.equal(readings, 3);
  ipvs.read = read;
  assert.equal((await harness.some(snapshot)).full, true, "only the kernel knows what there is");
  assert.equal(await harness.dump(), before);
});

Deno.test("packets are marked with the highest bit where that is wanted", async () => {
  const harness = new Harness({ settings: { masqueradeBit: 31 } });
  await harness.full(snapshotOf("IPv4", everyShape("IPv4")));
  assert.match((await harness.rules("nat", "KUBE-MARK-MASQ")).join(), /0x80000000/);
});

Deno.test("a server has a flag of its scheduler only with mh", async () => {
  for (const [scheduler, flags] of [["rr", 0], ["mh", 0x10]] as const) {
    const harness = new Harness({ settings: { scheduler } });
    await harness.full(snapshotOf("IPv4", everyShape("IPv4")));
    const found = new Set(harness.kernel.ipvs.read().map(({ server }) => server.flags));
    assert.deepEqual([...found], [flags], scheduler);
  }
});
