import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { NftOperation, NftRule } from "../../../../lib/kernel/nftables/operations.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { Harness } from "./harness.ts";
import { endpoints, everyShape, servicePort } from "./samples.ts";

const dropAll: NftRule = {
  chain: "services",
  statements: [{ kind: "verdict", verdict: { kind: "drop" } }],
};

interface Damage {
  readonly name: string;
  readonly operations: readonly NftOperation[];
}

const dispatchKey = { key: ["172.30.0.10", "tcp", 80] };

const damages: readonly Damage[] = [
  { name: "the table", operations: [{ kind: "delete-table" }] },
  {
    name: "an element",
    operations: [{ kind: "delete-elements", set: "service-ips", elements: [dispatchKey] }],
  },
  {
    name: "an element's value",
    operations: [
      { kind: "delete-elements", set: "service-ips", elements: [dispatchKey] },
      {
        kind: "add-elements",
        set: "service-ips",
        elements: [{ ...dispatchKey, value: { kind: "drop" } }],
      },
    ],
  },
  {
    name: "an element too much",
    operations: [{
      kind: "add-elements",
      set: "no-endpoint-services",
      elements: [{ key: ["172.30.9.9", "tcp", 80], value: { kind: "drop" } }],
    }],
  },
  {
    name: "an element for all that no other is for",
    operations: [{
      kind: "add-elements",
      set: "service-nodeports",
      elements: [{ key: [], value: { kind: "drop" } }],
    }],
  },
  {
    name: "a range for everybody",
    operations: [{
      kind: "add-elements",
      set: "firewall-allow-tcp",
      elements: [{ key: [] }],
    }],
  },
  { name: "a table that sleeps", operations: [{ kind: "add-table", dormant: true }] },
  {
    name: "a shared element too much",
    operations: [{
      kind: "add-elements",
      set: "cluster-ips",
      elements: [{ key: ["172.30.9.9"] }],
    }],
  },
  {
    name: "another range of allowed sources",
    operations: [
      {
        kind: "delete-elements",
        set: "firewall-allow-tcp",
        elements: [{ key: ["203.0.113.17", 80, "198.18.0.0/16"] }],
      },
      {
        kind: "add-elements",
        set: "firewall-allow-tcp",
        elements: [{ key: ["203.0.113.17", 80, "198.0.0.0/8"] }],
      },
    ],
  },
  { name: "a map's elements", operations: [{ kind: "flush-set", set: "endpoints" }] },
  { name: "a chain's rules", operations: [{ kind: "flush-chain", chain: "nat-prerouting" }] },
  { name: "a rule too much", operations: [{ kind: "add-rule", rule: dropAll }] },
  {
    name: "a hook",
    operations: [
      { kind: "flush-chain", chain: "nat-prerouting" },
      { kind: "delete-chain", chain: "nat-prerouting" },
    ],
  },
  {
    name: "a hook's priority",
    operations: [
      { kind: "flush-chain", chain: "filter-input" },
      { kind: "delete-chain", chain: "filter-input" },
      {
        kind: "add-chain",
        chain: { name: "filter-input", base: { type: "filter", hook: "input", priority: 300 } },
      },
    ],
  },
  {
    name: "chains and sets too much",
    operations: [
      { kind: "add-set", set: { name: "theirs", key: ["addr"], value: "verdict" } },
      { kind: "add-chain", chain: { name: "their-chain" } },
      {
        kind: "add-elements",
        set: "theirs",
        elements: [{ key: ["10.0.0.1"], value: { kind: "goto", chain: "their-chain" } }],
      },
    ],
  },
  {
    name: "a chain that hooks itself in",
    operations: [
      {
        kind: "add-chain",
        chain: { name: "their-hook", base: { type: "filter", hook: "forward", priority: -5 } },
      },
      { kind: "add-rule", rule: { ...dropAll, chain: "their-hook" } },
    ],
  },
  {
    name: "the rules of session affinity",
    operations: [
      { kind: "flush-chain", chain: "service-DUXOL3FA-ns/i-affinity/tcp/p" },
      { kind: "flush-chain", chain: "endpoint-M2AVWLOS-ns/i-affinity/tcp/p__10.128.1.2/8080" },
    ],
  },
];

for (const { name, operations } of damages) {
  Deno.test(`drifted() notices and sync() repairs: ${name}`, async () => {
    const harness = await settled();
    const table = harness.nftables.dump();
    await harness.tamper(...operations);
    assert.notEqual(harness.nftables.dump(), table);
    assert.equal(await harness.drifted(), true);
    const { full, notices } = await harness.all();
    assert.ok(full);
    assert.deepEqual(notices, [{
      message: 'Repaired table "ip kube-proxy": somebody else changed it',
    }]);
    assert.equal(harness.nftables.dump(), table);
    assert.equal(await harness.drifted(), false);
  });

  Deno.test(`sync() of a new process repairs without a word: ${name}`, async () => {
    const harness = await settled();
    const table = harness.nftables.dump();
    await harness.tamper(...operations);
    harness.restart();
    assert.deepEqual((await harness.all()).notices, []);
    await harness.maintain();
    assert.equal(harness.nftables.dump(), table);
  });

  Deno.test(`sync() of a change goes through or repairs: ${name}`, async () => {
    const harness = await settled();
    await harness.tamper(...operations);
    await harness.remove("ns/a:p80/TCP", "ns/h-source-ranges:p80/TCP");
    if (await harness.drifted()) await harness.all();
    await harness.maintain();
    assert.equal(harness.table(), await harness.cleanStart());
  });
}

Deno.test("sync() makes the table anew, in one batch, when a map of ours is another kind", async () => {
  const harness = await settled();
  const table = harness.nftables.dump();
  await harness.tamper(
    { kind: "delete-table" },
    { kind: "add-table" },
    { kind: "add-set", set: { name: "service-ips", key: ["addr"] } },
  );
  const mark = harness.nftables.commits.length;
  assert.equal(await harness.drifted(), true);
  await harness.all();
  const first = harness.batchesSince(mark)[0];
  assert.equal(first[0].kind, "delete-table");
  assert.ok(first.some(({ kind }) => kind === "add-elements"));
  assert.equal(harness.nftables.dump(), table);
});

Deno.test("drifted() looks no more often than its cost allows while others write", async () => {
  const harness = await settled();
  let readings = 0;
  const { nftables } = harness;
  const read = nftables.listTable.bind(nftables);
  nftables.listTable = async (table) => {
    readings++;
    await harness.clock.advance(100);
    return await read(table);
  };
  for (let second = 0; second < 20; second++) {
    nftables.moveGeneration();
    assert.equal(await harness.drifted(), false);
    await harness.clock.advance(1000);
  }
  assert.ok(readings >= 5 && readings <= 11, `${readings} readings in 20 s`);
});

Deno.test("drifted() changes nothing, whatever waits to be deleted", async () => {
  const harness = await settled();
  await harness.remove("ns/a:p80/TCP", "ns/a:dns/UDP", "ns/i-affinity:p/TCP");
  harness.nftables.moveGeneration();
  const mark = harness.nftables.commits.length;
  assert.equal(await harness.drifted(), false);
  assert.deepEqual(harness.batchesSince(mark), []);
  await harness.maintain();
  assert.equal(harness.batchesSince(mark).length, 1);
  await harness.maintain();
  assert.equal(harness.batchesSince(mark).length, 1);
});

Deno.test("sync() counts a failure, unless the end made it one", async () => {
  let failures = 0;
  const metrics = { syncFailed: () => failures++, cleanupFailed: () => {}, skipped: () => {} };
  const harness = new Harness({ metrics });
  harness.nftables.refuse(() => Errno.EPERM);
  await assert.rejects(harness.all());
  assert.equal(failures, 1);
  await assert.rejects(harness.sync({ kind: "all" }, AbortSignal.abort()));
  assert.equal(failures, 1);
});

Deno.test("drifted() reads nothing while nobody writes", async () => {
  const harness = await settled();
  harness.nftables.listTable = () => Promise.reject(new Error("somebody read the table"));
  assert.equal(await harness.drifted(), false);
});

Deno.test("maintain() removes what is not needed, though somebody was faster with a part of it", async () => {
  const harness = new Harness();
  const web = (pods: number) =>
    servicePort({
      name: "web",
      clusterIP: "172.30.0.1",
      nodePort: 30001,
      clusterEndpoints: endpoints(
        "IPv4",
        ...Array.from({ length: pods }, (_, i) => [9, i + 1] as const),
      ),
    });
  await harness.put(web(2));
  await harness.put(web(3));
  await harness.tamper(
    { kind: "flush-chain", chain: "pick-2" },
    { kind: "delete-chain", chain: "pick-2" },
  );
  assert.equal(await harness.drifted(), false);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("maintain() has patience with a kernel that holds on to a chain, and counts", async () => {
  let refused = 0;
  const metrics = {
    skipped: () => {},
    syncFailed: () => assert.fail("no sync failed"),
    cleanupFailed: () => refused++,
  };
  const harness = new Harness({ metrics });
  await harness.put(...everyShape("IPv4"));
  harness.nftables.refuse(({ kind }) => kind === "delete-chain" ? Errno.EBUSY : undefined);
  await harness.remove("ns/a:p80/TCP", "ns/a:dns/UDP", "ns/i-affinity:p/TCP");
  for (let look = 0; look < 3; look++) {
    await harness.maintain();
    assert.equal(refused, look + 1);
    assert.equal(await harness.drifted(), false);
  }
  assert.deepEqual((await harness.all()).notices, []);
  assert.equal(await harness.drifted(), false);
  const before = refused;
  harness.nftables.refuse(() => undefined);
  await harness.maintain();
  assert.equal(refused, before);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() wakes a sleeping table only when everything in it is right", async () => {
  const harness = await settled();
  await harness.tamper(
    { kind: "add-table", dormant: true },
    { kind: "flush-chain", chain: "services" },
    { kind: "delete-elements", set: "service-ips", elements: [dispatchKey] },
  );
  harness.restart();
  const mark = harness.nftables.commits.length;
  assert.deepEqual((await harness.all()).notices, []);
  const kinds = harness.batchesSince(mark).map((batch) => batch.map(({ kind }) => kind));
  assert.deepEqual(kinds.at(-1), ["add-table"]);
  assert.ok(kinds.length > 1);
  assert.ok(!kinds.slice(0, -1).flat().includes("add-table"));
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() says whose table it is that it may not change, and changes it when it may", async () => {
  const harness = await settled();
  harness.nftables.giveTo(4711);
  assert.equal(await harness.drifted(), true);
  for (const attempt of [() => harness.all(), () => harness.remove("ns/a:p80/TCP")]) {
    await assert.rejects(attempt(), {
      message: 'Cannot change table "ip kube-proxy": it belongs to another program (netlink port ' +
        "4711, as a rule the number of its process), and the kernel lets nobody else change it; " +
        "end that program",
    });
  }
  harness.nftables.giveTo(undefined);
  assert.deepEqual((await harness.all()).notices, []);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() does not fail over a chain that it cannot remove, and removes all others", async () => {
  const held: string[] = [];
  const harness = new Harness({
    metrics: {
      skipped: () => {},
      syncFailed: () => assert.fail("no sync failed"),
      cleanupFailed: () => held.push(""),
    },
  });
  await harness.put(...everyShape("IPv4"));
  const strange = ["held", "other"].flatMap((name): NftOperation[] => [
    { kind: "add-chain", chain: { name } },
    { kind: "add-rule", rule: { ...dropAll, chain: name } },
  ]);
  await harness.tamper(...strange);
  harness.nftables.refuse((operation) =>
    "chain" in operation && operation.chain === "held" ? Errno.EOPNOTSUPP : undefined
  );
  assert.equal(await harness.drifted(), true);
  assert.deepEqual((await harness.all()).notices.length, 1);
  assert.ok(held.length > 0);
  const chains = (await harness.nftables.listTable(tableOf("IPv4")))?.chains ?? [];
  const names = chains.map(({ name }) => name);
  assert.deepEqual([names.includes("held"), names.includes("other")], [true, false]);
  assert.equal(await harness.drifted(), false, "what cannot go is not looked for again and again");
  harness.nftables.refuse(() => undefined);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("other tables are left alone, whatever is in them", async () => {
  const harness = await settled();
  const theirs = { family: "ip", name: "theirs" } as const;
  await harness.nftables.commit(theirs, [
    { kind: "add-table" },
    {
      kind: "add-chain",
      chain: {
        name: "nat-prerouting",
        base: { type: "nat", hook: "prerouting", priority: -101 },
      },
    },
  ]);
  const before = harness.nftables.dump();
  assert.equal(await harness.drifted(), false);
  await harness.all();
  assert.equal(harness.nftables.dump(), before);
});

for (const [name, errno] of Object.entries({ EINTR: Errno.EINTR, ENOBUFS: Errno.ENOBUFS })) {
  Deno.test(`sync() reads and repairs after ${name}`, async () => {
    const harness = await settled();
    harness.nftables.failNextBatch(errno);
    const report = await harness.remove("ns/a:p80/TCP");
    assert.ok(report.full);
    assert.match(report.notices.map(({ message }) => message).join(), /^Repaired table /);
    assert.equal(harness.table(), await harness.cleanStart());
  });
}

Deno.test("sync() of a change hands on what is no answer of the kernel", async () => {
  const harness = await settled();
  const commit = harness.nftables.commit.bind(harness.nftables);
  harness.nftables.commit = () => {
    harness.nftables.commit = commit;
    return Promise.reject(new TypeError("a fault of ours"));
  };
  await assert.rejects(harness.remove("ns/a:p80/TCP"), /a fault of ours/);
  assert.ok((await harness.all()).full);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() without the right to write says so and changes nothing", async () => {
  const harness = await settled();
  const table = harness.nftables.dump();
  harness.nftables.refuse(() => Errno.EPERM);
  await assert.rejects(harness.remove("ns/a:p80/TCP"), /operation not permitted/);
  assert.equal(harness.nftables.dump(), table);
  harness.nftables.refuse(() => undefined);
  await harness.put(servicePort({ name: "new", clusterIP: "172.30.0.99" }));
  assert.equal(harness.table(), await harness.cleanStart());
});

async function settled(): Promise<Harness> {
  const harness = new Harness();
  await harness.put(...everyShape("IPv4"));
  return harness;
}
