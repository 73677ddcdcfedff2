/** What is refused, missing or somebody else's: it is named, and the rest goes on. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { IpvsServer } from "../../../../lib/kernel/ipvs/ipvs.ts";
import { fakeAddress, FakeLinks } from "../../../../lib/kernel/links/fake_links.ts";
import type { SyncReport } from "../../../../lib/writers/writer.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort, snapshotOf } from "./samples.ts";

const web = servicePort({
  name: "web",
  clusterIP: addresses.IPv4.clusterIP(1),
  nodePort: 30001,
  clusterEndpoints: endpoints("IPv4", [1, 2], [9, 2]),
  nodeEndpoints: endpoints("IPv4", [1, 2]),
});
const other = servicePort({
  name: "other",
  clusterIP: addresses.IPv4.clusterIP(2),
  clusterEndpoints: endpoints("IPv4", [1, 3]),
});
const both = snapshotOf("IPv4", [web, other]);

const messages = ({ notices }: SyncReport) => notices.map(({ message }) => message);

/** A server as somebody else makes it. */
function foreign(address: string, port: number): IpvsServer {
  return { family: "IPv4", protocol: "tcp", address, port, scheduler: "wlc", flags: 0 };
}

Deno.test("a set of our name and another type fails the sync and is told with both types", async () => {
  const harness = new Harness();
  harness.kernel.ipset.edit([{
    kind: "create",
    set: { name: "KUBE-CLUSTER-IP", type: "hash:ip", family: "IPv4" },
  }]);
  await assert.rejects(harness.full(both), {
    message:
      'Cannot use the set "KUBE-CLUSTER-IP": it is a hash:ip of IPv4 and ipvs mode needs a ' +
      'hash:ip,port of IPv4; remove what uses it, then "ipset destroy KUBE-CLUSTER-IP"',
  });
  assert.deepEqual(harness.servers(), []);
});

Deno.test("a set of the other family is another set", async () => {
  const harness = new Harness();
  const set = { name: "KUBE-CLUSTER-IP", type: "hash:ip,port", family: "IPv6" } as const;
  harness.kernel.ipset.edit([{ kind: "create", set }]);
  await assert.rejects(harness.full(both), /it is a hash:ip,port of IPv6 and ipvs mode needs a/);
});

const refusals: readonly { readonly what: string; readonly refuse: (harness: Harness) => void }[] =
  [
    {
      what: "a member of a set",
      refuse: ({ kernel }) =>
        kernel.ipset.refuse((_, member) => member === "172.30.0.1,tcp:80" ? Errno.ENOMEM : 0),
    },
    {
      what: "a server",
      refuse: ({ kernel }) =>
        kernel.ipvs.refuse(({ kind, server }) =>
          kind === "add-server" && server.address === web.clusterIP ? Errno.ENOMEM : 0
        ),
    },
  ];

for (const { refuse, what } of refusals) {
  Deno.test(`${what} that is refused names its Service, keeps its frontend down, and the rest goes on`, async () => {
    const harness = new Harness();
    refuse(harness);
    const report = await harness.full(both);
    assert.deepEqual(report.notices.map(({ service }) => service), [web.key]);
    assert.match(messages(report)[0], /^Cannot program Service port "ns\/web:p80\/TCP": Cannot /);
    assert.deepEqual(harness.bound(), [other.clusterIP]);
    assert.ok(harness.servers().includes("-A -t 172.30.0.2:80 -s rr"));
    assert.ok(!harness.servers().includes("-A -t 172.30.0.1:80 -s rr"));
    const tries = harness.kernel.ipvs.commits.flat().filter(({ kind, server }) =>
      kind === "add-server" && server.port === 30001
    );
    assert.ok(tries.length <= 1, "what follows from a refusal is no reason to read again");
    const again = await harness.full(both);
    assert.deepEqual(messages(again), [], "said once");
    harness.kernel.ipset.refuse(() => 0);
    harness.kernel.ipvs.refuse(() => 0);
    assert.deepEqual(messages(await harness.full(both)), []);
    assert.deepEqual(harness.bound(), [web.clusterIP, other.clusterIP]);
    assert.equal(await harness.drifted(), false);
  });
}

Deno.test("a change makes up for what the one before was refused", async () => {
  for (const { refuse } of refusals) {
    const harness = new Harness();
    await harness.full(snapshotOf("IPv4", [other]));
    refuse(harness);
    assert.equal((await harness.some(both, web)).notices.length, 1);
    harness.kernel.ipset.refuse(() => 0);
    harness.kernel.ipvs.refuse(() => 0);
    const report = await harness.some(both, web);
    assert.deepEqual([report.full, messages(report)], [false, []]);
    assert.ok(harness.members("KUBE-CLUSTER-IP").includes("172.30.0.1,tcp:80"));
    assert.deepEqual(harness.bound(), [web.clusterIP, other.clusterIP]);
  }
});

Deno.test("what a pod sends to itself is no reason to keep a frontend down", async () => {
  const harness = new Harness();
  harness.kernel.ipset.refuse((_, member) =>
    member === "10.128.1.2,tcp:8080,10.128.1.2" ? Errno.ENOMEM : 0
  );
  const report = await harness.full(both);
  assert.deepEqual(report.notices.map(({ service }) => service), [web.key]);
  assert.deepEqual(harness.bound(), [web.clusterIP, other.clusterIP]);
});

Deno.test("an address or a destination that is refused names its Service, and the rest goes on", async () => {
  const harness = new Harness();
  harness.kernel.links.refuse(({ ip }) => ip === web.clusterIP ? Errno.ENOMEM : 0);
  harness.kernel.ipvs.refuse((change) =>
    change.kind === "add-destination" && change.destination.address === "10.128.1.3"
      ? Errno.ENOMEM
      : 0
  );
  const report = await harness.full(both);
  assert.deepEqual(report.notices.map(({ service }) => service), [other.key, web.key]);
  assert.deepEqual(harness.bound(), [other.clusterIP]);
});

Deno.test("a service port that nobody could write is named and left out, also by a change", async () => {
  const harness = new Harness();
  const broken = { ...other, port: 0 };
  const report = await harness.full(snapshotOf("IPv4", [web, broken]));
  assert.match(messages(report)[0], /ns\/other:p80\/TCP": port 0 is out of range/);
  await harness.full(both);
  const changed = await harness.some(snapshotOf("IPv4", [web, broken]), broken);
  assert.match(messages(changed)[0], /port 0 is out of range/);
  assert.deepEqual(harness.bound(), [web.clusterIP]);
});

Deno.test("servers of others are left alone; one on our frontend is taken over and said once", async () => {
  const harness = new Harness({ settings: { excludeCIDRs: ["172.30.9.0/24"] } });
  const { ipvs } = harness.kernel;
  const theirs = [foreign("192.0.2.10", 443), foreign(addresses.IPv4.node(1), 8443)];
  ipvs.edit(
    [...theirs, foreign(web.clusterIP, 80)].map((server) => ({ kind: "add-server", server })),
  );
  const first = await harness.full(both);
  assert.deepEqual(messages(first), [
    'Took over the virtual server "-t 172.30.0.1:80", which somebody else had made',
  ]);
  assert.deepEqual(first.notices.map(({ service }) => service), [web.key]);
  assert.ok(harness.servers().includes("-A -t 172.30.0.1:80 -s rr"));
  assert.deepEqual(messages(await harness.full(both)), []);
  await harness.full(snapshotOf("IPv4", []));
  assert.deepEqual(ipvs.read().map(({ server }) => server.port), [443, 8443]);
});

Deno.test("one that somebody makes on the frontend of a change is taken over too", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web]));
  harness.kernel.ipvs.edit([{ kind: "add-server", server: foreign(other.clusterIP, 80) }]);
  const report = await harness.some(both, other);
  assert.deepEqual([report.full, messages(report)], [true, [
    'Took over the virtual server "-t 172.30.0.2:80", which somebody else had made',
  ]]);
});

Deno.test("servers that an earlier run left go, but for those in excluded ranges", async () => {
  const harness = new Harness({ settings: { excludeCIDRs: ["172.30.0.2/32"] } });
  await harness.full(both);
  harness.restart();
  await harness.full(snapshotOf("IPv4", []));
  assert.deepEqual(harness.kernel.ipvs.read().map(({ server }) => server.address), ["172.30.0.2"]);
});

Deno.test("a node's address that goes takes our servers there along", async () => {
  const harness = new Harness();
  await harness.full(both);
  harness.kernel.links.setAddresses(
    harness.kernel.links.addresses().filter(({ linkName }) => linkName === "kube-ipvs0"),
  );
  await harness.full(snapshotOf("IPv4", [web, other], {
    nodePortAddresses: { kind: "listed", addresses: [] },
  }));
  assert.ok(harness.servers().every((line) => !line.includes(":30001")));
  assert.deepEqual(harness.members("KUBE-NODE-PORT-TCP"), []);
});

Deno.test("a link of our name and another kind is used, and said once", async () => {
  const links = new FakeLinks({
    links: [{ index: 7, name: "kube-ipvs0", kind: "bridge", up: false }],
    addresses: [fakeAddress(addresses.IPv4.node(1))],
  });
  const harness = new Harness({ parts: { links } });
  assert.deepEqual(messages(await harness.full(both)), [
    'Using the link "kube-ipvs0", although it is bridge and no dummy',
  ]);
  assert.deepEqual(messages(await harness.full(both)), []);
  assert.deepEqual(harness.bound(), [web.clusterIP, other.clusterIP]);
});

Deno.test("a sync that failed half way is repaired by the next one", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", []));
  const { rules } = harness.kernel;
  rules.nft.failNextCommit({ refusal: "other", message: "the way to the kernel broke" });
  await assert.rejects(harness.some(both, web, other));
  assert.equal((await harness.some(both)).full, true);
  assert.deepEqual(harness.bound(), [web.clusterIP, other.clusterIP]);
});

Deno.test("a server that cannot be removed stays named, so that the next process removes it", async () => {
  const harness = new Harness();
  const gone = servicePort({
    name: "gone",
    protocol: "SCTP",
    clusterIP: addresses.IPv4.clusterIP(3),
    externalIPs: [addresses.IPv4.external(3)],
    nodePort: 30003,
    clusterEndpoints: endpoints("IPv4", [9, 3]),
  });
  await harness.full(snapshotOf("IPv4", [web, gone]));
  const nodePort = { web: "30001", gone: "192.168.0.1,sctp:30003" };
  const frontend = { web: "172.30.0.1,tcp:80", gone: "172.30.0.3,sctp:80" };
  assert.deepEqual(harness.members("KUBE-CLUSTER-IP"), [frontend.web, frontend.gone]);

  const { ipvs } = harness.kernel;
  ipvs.refuse(({ kind, server }) =>
    kind === "delete-server" && server.port !== 80 ? Errno.ENOMEM : 0
  );
  await harness.some(snapshotOf("IPv4", []), web, gone);
  // Those that are gone are not named any more.
  assert.deepEqual(harness.members("KUBE-CLUSTER-IP"), []);
  assert.deepEqual(harness.members("KUBE-NODE-PORT-TCP"), [nodePort.web]);
  assert.deepEqual(harness.members("KUBE-NODE-PORT-SCTP-HASH"), [nodePort.gone]);

  ipvs.refuse(({ kind }) => kind === "delete-server" ? Errno.ENOMEM : 0);
  await harness.some(snapshotOf("IPv4", [gone]), gone);
  await harness.some(snapshotOf("IPv4", []), gone);
  assert.deepEqual(harness.members("KUBE-CLUSTER-IP"), [frontend.gone]);
  assert.deepEqual(harness.members("KUBE-EXTERNAL-IP"), ["198.51.100.3,sctp:80"]);
  harness.restart();
  ipvs.refuse(() => 0);
  await harness.full(snapshotOf("IPv4", []));
  assert.deepEqual(harness.servers(), []);
  assert.deepEqual(harness.members("KUBE-NODE-PORT-SCTP-HASH"), []);
});
