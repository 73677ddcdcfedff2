import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import { firstLoad } from "../../../../lib/writers/iptables/render.ts";
import { groupsOf } from "../../../../lib/writers/iptables/full_plan.ts";
import { chainsOf } from "../../../../lib/writers/iptables/names.ts";
import { Harness } from "./harness.ts";
import {
  contextOf,
  endpoints,
  everyShape,
  plainFacts,
  servicePort,
  settings,
  snapshotOf,
} from "./samples.ts";

const web = servicePort({
  name: "web",
  clusterIP: "172.30.0.10",
  nodePort: 30080,
  clusterEndpoints: endpoints("IPv4", [1, 2], [2, 2]),
});
const api = servicePort({
  name: "api",
  clusterIP: "172.30.0.11",
  clusterEndpoints: endpoints("IPv4", [1, 3]),
});
const place = { table: "nat", chain: "KUBE-SERVICES" } as const;

for (const family of ipFamilies) {
  for (const backend of ["nft", "legacy"] as const) {
    Deno.test(`a first sync makes what is printed, a second one nothing, ${family} ${backend}`, async () => {
      const harness = new Harness({ family, backend });
      const snapshot = snapshotOf(family, everyShape(family));
      const report = await harness.full(snapshot);
      assert.ok(report.full && report.written > 100);
      const printed = new Harness({ family, backend });
      printed.nfacct.ensure("ct_state_invalid_dropped_pkts");
      printed.nfacct.ensure("localhost_nps_accepted_pkts");
      const changes = await firstLoad({ context: contextOf(family), services: everyShape(family) });
      await printed.xtables.commit(family, changes);
      assert.equal(await harness.dump(), await printed.dump());
      assert.equal((await harness.full(snapshot)).written, 0);
      harness.restart();
      assert.equal((await harness.full(snapshot)).written, 0);
    });
  }
}

Deno.test("a change writes what differs, in one commit, and ends as a clean start", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web, api]));
  const commits = harness.xtables.commits.length;
  const fewer = { ...web, clusterEndpoints: [web.clusterEndpoints[1]] };
  const after = { ...fewer, reachableEndpoints: fewer.clusterEndpoints };
  const snapshot = snapshotOf("IPv4", [after, api]);
  const report = await harness.some(snapshot, web);
  assert.equal(report.full, false);
  const [{ changes }, ...others] = harness.xtables.commits.slice(commits);
  assert.deepEqual(others, []);
  assert.deepEqual(changes.map(({ kind }) => kind), [
    "flush-chain",
    "append-rule",
    "append-rule",
    "flush-chain",
    "delete-chain",
  ]);
  const clean = new Harness();
  await clean.full(snapshot);
  assert.equal(await harness.dump(), await clean.dump());
});

Deno.test("every shape comes and goes, one by one, and leaves nothing behind", async () => {
  for (const family of ipFamilies) {
    const harness = new Harness({ family });
    await harness.full(snapshotOf(family, []));
    const empty = await harness.dump();
    const shapes = everyShape(family);
    for (const [index, shape] of shapes.entries()) {
      await harness.some(snapshotOf(family, shapes.slice(0, index + 1)), shape);
    }
    const clean = new Harness({ family });
    await clean.full(snapshotOf(family, shapes));
    assert.equal(await harness.dump(), await clean.dump());
    for (const [index, shape] of shapes.entries()) {
      const report = await harness.some(snapshotOf(family, shapes.slice(index + 1)), shape);
      assert.equal(report.full, false);
    }
    assert.equal(await harness.dump(), empty);
  }
});

Deno.test("a change of the settings reads the tables, and writes no more than differs", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web, api]));
  const snapshot = snapshotOf("IPv4", [web, api], { nodePortAddresses: { kind: "all" } });
  const report = await harness.some(snapshot);
  assert.equal(report.full, true);
  const clean = new Harness();
  await clean.full(snapshot);
  assert.equal(await harness.dump(), await clean.dump());
  assert.equal((await harness.some(snapshot)).written, 0);
});

Deno.test("chains of endpoints go without comments beyond a thousand endpoints", async () => {
  const harness = new Harness();
  const many = { ...web, endpointCount: 999 };
  await harness.full(snapshotOf("IPv4", [many, api]));
  assert.match(await harness.dump(), /ns\/web:p80 -> /);
  const more = { ...many, endpointCount: 1_000 };
  const report = await harness.some(snapshotOf("IPv4", [more, api]), more);
  assert.equal(report.full, true);
  assert.doesNotMatch(await harness.dump(), / -> /);
  await harness.some(snapshotOf("IPv4", [many, api]), many);
  assert.match(await harness.dump(), /ns\/web:p80 -> /);
});

Deno.test("beside ipvs mode's link, what comes in meets refusals of cluster IPs too, until its leftovers are gone", async () => {
  const dead = servicePort({ name: "dead", clusterIP: "172.30.0.12", internal: "reject" });
  const jump =
    /filter KUBE-EXTERNAL-SERVICES\n(?: .*\n)* {2}.*last rule in this chain" -j KUBE-SERVICES/;
  let isThere = true;
  const harness = new Harness({ facts: { ...plainFacts, hasIpvsLink: () => isThere } });
  const beside = snapshotOf("IPv4", [dead], { leftovers: true });
  await harness.full(beside);
  assert.match(await harness.dump(), jump);
  assert.equal((await harness.full(beside)).written, 0);
  isThere = false;
  await harness.full(beside);
  assert.doesNotMatch(await harness.dump(), jump);
  isThere = true;
  await harness.full(snapshotOf("IPv4", [dead]));
  assert.doesNotMatch(await harness.dump(), jump);
});

Deno.test("a chain that stood aside for another mode decides again", async () => {
  const harness = new Harness();
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"));
  await harness.full(snapshot);
  const before = await harness.dump();
  const giveBack = {
    matches: [{ kind: "comment", text: "aside" }],
    target: { kind: "return" },
  } as const;
  harness.xtables.edit(
    "IPv4",
    ["nat", "filter"].map((table) => (
      { kind: "insert-rule", table, chain: "KUBE-SERVICES", rule: giveBack } as XtChange
    )),
  );
  harness.restart();
  assert.equal((await harness.full(snapshot)).written, 2);
  assert.equal(await harness.dump(), before);
});

Deno.test("node ports answer on 127.0.0.1 in IPv4 alone, where the settings have it", async () => {
  const facts = { ...plainFacts, localhostNodePorts: true, isLiberal: true };
  const cases = [
    ["IPv4", { kind: "all" }, true],
    ["IPv4", { kind: "listed", addresses: ["192.168.0.1"] }, false],
    ["IPv4", { kind: "listed", addresses: ["192.168.0.1"], loopback: ["127.0.0.1"] }, true],
    ["IPv6", { kind: "all" }, false],
  ] as const;
  for (const [family, nodePortAddresses, serves] of cases) {
    const harness = new Harness({ family, facts });
    const shape = everyShape(family).filter(({ nodePort }) => nodePort !== 0);
    await harness.full(snapshotOf(family, shape, { nodePortAddresses }));
    const dump = await harness.dump();
    assert.equal(/localhost_nps_accepted_pkts/.test(dump), serves, family);
    assert.equal(/block incoming localnet/.test(dump), serves, family);
    assert.doesNotMatch(dump, /INVALID/);
    if (nodePortAddresses.kind === "listed") {
      assert.equal(/-d 127.0.0.1\/32 .*-j KUBE-NODEPORTS/.test(dump), serves);
    }
  }
});

Deno.test("a kernel without counters has the rules without them", async () => {
  const harness = new Harness();
  harness.nfacct.isMissing = true;
  await harness.full(snapshotOf("IPv4", [web], { nodePortAddresses: { kind: "all" } }));
  assert.doesNotMatch(await harness.dump(), /nfacct/);
  assert.match(await harness.dump(), /--ctstate INVALID -j DROP/);
});

Deno.test("what others put into our chains goes, what they have elsewhere stays", async () => {
  const harness = new Harness();
  const snapshot = snapshotOf("IPv4", [web, api]);
  await harness.full(snapshot);
  const right = await harness.dump();
  const accept = { matches: [], target: { kind: "accept" } } as const;
  const theirs: readonly XtChange[] = [
    { kind: "add-chain", table: "nat", chain: "CNI-1" },
    { kind: "append-rule", table: "nat", chain: "CNI-1", rule: accept },
    { kind: "append-rule", table: "filter", chain: "FORWARD", rule: accept },
    { kind: "add-chain", table: "nat", chain: "KUBE-SVC-mine" },
  ];
  harness.xtables.edit("IPv4", theirs);
  const withTheirs = await harness.dump();
  assert.equal((await harness.full(snapshot)).written, 0);
  harness.xtables.edit("IPv4", [
    { kind: "insert-rule", ...place, rule: accept },
    { kind: "append-rule", table: "nat", chain: "KUBE-POSTROUTING", rule: accept },
    { kind: "flush-chain", table: "nat", chain: chainsOf(web).cluster },
    { kind: "flush-chain", table: "filter", chain: "FORWARD" },
    { kind: "append-rule", table: "filter", chain: "FORWARD", rule: accept },
    { kind: "add-chain", table: "nat", chain: "KUBE-SEP-AAAAAAAAAAAAAAAA" },
  ]);
  await harness.full(snapshot);
  assert.equal(await harness.dump(), withTheirs);
  assert.notEqual(withTheirs, right);
});

Deno.test("a rule that stands behind the dispatch of node ports is put right", async () => {
  const harness = new Harness();
  const snapshot = snapshotOf("IPv4", [web, api]);
  await harness.full(snapshot);
  const order = async () =>
    (await (await harness.xtables.read("IPv4", ["nat"])).rules("nat", ["KUBE-SERVICES"]))
      .get("KUBE-SERVICES")?.map(({ key }) => key) ?? [];
  const [first] = (await (await harness.xtables.read("IPv4", ["nat"]))
    .rules("nat", ["KUBE-SERVICES"])).get("KUBE-SERVICES") ?? [];
  assert.ok(first.rule);
  harness.xtables.edit("IPv4", [
    { kind: "delete-rule", ...place, rule: first.rule },
    { kind: "append-rule", ...place, rule: first.rule },
  ]);
  await harness.full(snapshot);
  assert.match((await order()).at(-1) ?? "", /must be the last rule/);
  assert.equal((await order()).length, 3);
});

Deno.test("a Service that the kernel refuses costs itself only", async () => {
  const harness = new Harness();
  harness.xtables.refuse((change) =>
    "chain" in change && change.chain === chainsOf(web).cluster
      ? { refusal: "unsupported", message: "no such match" }
      : undefined
  );
  const report = await harness.full(snapshotOf("IPv4", [web, api]));
  assert.deepEqual(report.notices.map(({ service }) => service), [web.key]);
  assert.match(report.notices[0].message, /ns\/web:p80\/TCP.*no such match/);
  const alone = new Harness();
  await alone.full(snapshotOf("IPv4", [api]));
  assert.equal(await harness.dump(), await alone.dump());
});

Deno.test("a Service that cannot be expressed costs itself only, also as a change", async () => {
  const harness = new Harness();
  const bad = { ...api, externalIPs: ["fd00::1"] };
  const snapshot = snapshotOf("IPv4", [web, bad]);
  const [notice] = (await harness.full(snapshot)).notices;
  assert.equal(notice.service, bad.key);
  const good = snapshotOf("IPv4", [web, api]);
  await harness.some(good, api);
  const report = await harness.some(snapshot, bad);
  assert.equal(report.full, false);
  assert.equal(report.notices[0].service, bad.key);
  const alone = new Harness();
  await alone.full(snapshotOf("IPv4", [web]));
  assert.equal(await harness.dump(), await alone.dump());
});

for (const backend of ["nft", "legacy"] as const) {
  Deno.test(`a chain that somebody else's rule leads to is emptied and kept while it is used, ${backend}`, async () => {
    const harness = new Harness({ backend });
    await harness.full(snapshotOf("IPv4", [web, api]));
    const { cluster: chain } = chainsOf(api);
    const theirs = {
      table: "nat",
      chain: "OUTPUT",
      rule: { matches: [], target: { kind: "jump", chain } },
    } as const;
    harness.xtables.edit("IPv4", [{ kind: "append-rule", ...theirs }]);
    if (backend === "legacy") {
      // Its tools name the line, and no reason.
      harness.xtables.refuse((change) =>
        change.kind === "delete-chain" && change.chain === chain
          ? { refusal: "other", message: "line 5 failed" }
          : undefined
      );
    }
    const snapshot = snapshotOf("IPv4", [web]);
    const notices = (await harness.some(snapshot, api)).notices.map(({ message }) => message);
    assert.deepEqual(notices.slice(0, 1), [
      `Cannot delete chain "${chain}" of iptables table "nat": another program's rule leads to it; ` +
      "it was emptied and stays until that rule is gone",
    ]);
    const clean = new Harness();
    await clean.full(snapshot);
    const left = (await harness.dump()).split("\n")
      .filter((line) => line !== `nat ${chain}` && line !== `  -j ${chain}`);
    assert.equal(left.join("\n"), await clean.dump());
    assert.match(await harness.dump(), new RegExp(`^nat ${chain}$`, "m"));
    assert.equal(await harness.drifted(), false);
    assert.equal((await harness.full(snapshot)).written, 0);
    // Nothing else waits for it.
    const later = await harness.some(snapshotOf("IPv4", []), web);
    assert.deepEqual([later.full, later.notices], [false, []]);
    await harness.some(snapshot, web);
    harness.xtables.refuse(() => undefined);
    harness.xtables.edit("IPv4", [{ kind: "delete-rule", ...theirs }]);
    await harness.full(snapshot);
    assert.equal(await harness.dump(), await clean.dump());
  });

  Deno.test(`a kept chain is filled again when its Service comes back, ${backend}`, async () => {
    const harness = new Harness({ backend });
    await harness.full(snapshotOf("IPv4", [web, api]));
    const right = await harness.dump();
    const jump = { kind: "jump", chain: chainsOf(api).cluster } as const;
    const rule = { matches: [], target: jump };
    harness.xtables.edit("IPv4", [{ kind: "append-rule", table: "nat", chain: "OUTPUT", rule }]);
    await harness.some(snapshotOf("IPv4", [web]), api);
    harness.xtables.edit("IPv4", [
      { kind: "append-rule", table: "nat", chain: jump.chain, rule: { matches: [] } },
    ]);
    assert.equal(await harness.drifted(), true);
    await harness.some(snapshotOf("IPv4", [web, api]), api);
    harness.xtables.edit("IPv4", [{ kind: "delete-rule", table: "nat", chain: "OUTPUT", rule }]);
    assert.equal(await harness.dump(), right);
    assert.equal(await harness.drifted(), false);
  });
}

Deno.test("rules that changed between reading and writing are read again", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web, api]));
  const chain = chainsOf(api).cluster;
  harness.xtables.edit("IPv4", [
    { kind: "flush-chain", ...place },
    { kind: "flush-chain", table: "nat", chain },
    { kind: "delete-chain", table: "nat", chain },
  ]);
  const snapshot = snapshotOf("IPv4", [web]);
  const report = await harness.some(snapshot, api);
  assert.equal(report.full, true);
  assert.deepEqual(harness.failures, [true]);
  assert.match(report.notices[0].message, /^Repaired the rules of iptables: /);
  const clean = new Harness();
  await clean.full(snapshot);
  assert.equal(await harness.dump(), await clean.dump());
});

Deno.test("a change that meets a held lock is tried again, and nothing is read for it", async () => {
  const harness = new Harness({ backend: "legacy" });
  await harness.full(snapshotOf("IPv4", [web]));
  harness.xtables.failNextCommit({ refusal: "locked", message: "holding the lock" });
  const report = await harness.some(snapshotOf("IPv4", [web, api]), api);
  assert.equal(report.full, false);
  assert.deepEqual(harness.failures, []);
});

Deno.test("a held lock and a stale write are tried again, a missing right is not", async () => {
  for (const refusal of ["stale", "locked"] as const) {
    const harness = new Harness({ backend: "legacy" });
    harness.xtables.failNextCommit({ refusal, message: "not now" });
    const report = await harness.full(snapshotOf("IPv4", [web]));
    assert.ok(report.written > 0, refusal);
    assert.deepEqual(report.notices, []);
  }
  const harness = new Harness();
  harness.xtables.failNextCommit({ refusal: "not-permitted", message: "operation not permitted" });
  await assert.rejects(harness.full(snapshotOf("IPv4", [web])), {
    message: "Cannot change rules of iptables: operation not permitted; run as root or with " +
      "CAP_NET_ADMIN",
  });
  assert.deepEqual(harness.failures, [false]);
});

Deno.test("rules are counted by table as upstream counts them", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web, api], { localTraffic: settings.IPv4.localTraffic }));
  const first = harness.reports.at(-1);
  assert.ok(first);
  // Two frontends and a node port; two heads, three choices, three endpoints of two, two external.
  assert.deepEqual(first.counts, { nat: 3 + 2 + 3 + 6 + 2, filter: 0 });
  await harness.some(snapshotOf("IPv4", [web]), api);
  assert.deepEqual(harness.reports.at(-1)?.counts, { nat: 2 + 1 + 2 + 4 + 2, filter: 0 });
  assert.deepEqual(harness.reports.at(-1)?.written, { nat: 0, filter: 0 });
});

Deno.test("a sync that nobody wants any more writes nothing", async () => {
  const harness = new Harness();
  const aborted = AbortSignal.abort();
  await assert.rejects(harness.writer.sync(snapshotOf("IPv4", [web]), { kind: "all" }, aborted));
  await assert.rejects(harness.writer.drifted(aborted));
  await assert.rejects(harness.writer.maintain(aborted));
  assert.deepEqual(harness.xtables.commits, []);
  assert.deepEqual(harness.failures, []);
});

Deno.test("a restart writes what came and went meanwhile, and nothing else", async () => {
  const harness = new Harness();
  await harness.full(snapshotOf("IPv4", [web]));
  harness.restart();
  const commits = harness.xtables.commits.length;
  await harness.full(snapshotOf("IPv4", [web, api]));
  const changes = harness.xtables.commits.slice(commits).flatMap((commit) => commit.changes);
  const chains = changes.flatMap((change) => "chain" in change ? [change.chain] : []);
  const ofWeb = chainsOf(web).cluster;
  assert.ok(chains.includes("KUBE-SERVICES") && !chains.includes(ofWeb), chains.join(" "));
  const clean = new Harness();
  await clean.full(snapshotOf("IPv4", [web, api]));
  assert.equal(await harness.dump(), await clean.dump());
  harness.restart();
  await harness.full(snapshotOf("IPv4", [api]));
  const alone = new Harness();
  await alone.full(snapshotOf("IPv4", [api]));
  assert.equal(await harness.dump(), await alone.dump());
});

Deno.test("groupsOf() leaves nothing out and repeats nothing", () => {
  const groups = (count: number) => [...groupsOf(Array.from({ length: count }, (_, i) => i), 2)];
  assert.deepEqual(groups(0), []);
  assert.deepEqual(groups(2), [[0, 1]]);
  assert.deepEqual(groups(5), [[0, 1], [2, 3], [4]]);
});
