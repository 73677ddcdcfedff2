import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { NftOperation, NftRule } from "../../../../lib/kernel/nftables/operations.ts";
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
      kind: "repaired",
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
    await harness.drifted();
    assert.equal(harness.nftables.dump(), table);
  });

  Deno.test(`sync() of a change goes through or repairs: ${name}`, async () => {
    const harness = await settled();
    await harness.tamper(...operations);
    await harness.remove("ns/a:p80/TCP", "ns/h-source-ranges:p80/TCP");
    if (await harness.drifted()) await harness.all();
    await harness.drifted();
    assert.equal(harness.nftables.dump(), await harness.cleanStart());
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

Deno.test("drifted() reads nothing while nobody writes", async () => {
  const harness = await settled();
  harness.nftables.listTable = () => Promise.reject(new Error("somebody read the table"));
  assert.equal(await harness.drifted(), false);
});

Deno.test("drifted() removes what is not needed, though somebody was faster with a part of it", async () => {
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
  assert.equal(await harness.drifted(), false);
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
});

Deno.test("drifted() has patience with a kernel that holds on to a chain", async () => {
  const harness = new Harness();
  await harness.put(...everyShape("IPv4"));
  harness.nftables.refuse(({ kind }) => kind === "delete-chain" ? Errno.EBUSY : undefined);
  await harness.remove("ns/a:p80/TCP", "ns/a:dns/UDP", "ns/i-affinity:p/TCP");
  for (let look = 0; look < 3; look++) assert.equal(await harness.drifted(), false);
  assert.deepEqual((await harness.all()).notices, []);
  assert.equal(await harness.drifted(), false);
  harness.nftables.refuse(() => undefined);
  assert.equal(await harness.drifted(), false);
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
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
    assert.deepEqual(report.notices.map(({ kind }) => kind), ["repaired"]);
    assert.equal(harness.nftables.dump(), await harness.cleanStart());
  });
}

Deno.test("sync() without the right to write says so and changes nothing", async () => {
  const harness = await settled();
  const table = harness.nftables.dump();
  harness.nftables.refuse(() => Errno.EPERM);
  await assert.rejects(harness.remove("ns/a:p80/TCP"), /operation not permitted/);
  assert.equal(harness.nftables.dump(), table);
  harness.nftables.refuse(() => undefined);
  await harness.put(servicePort({ name: "new", clusterIP: "172.30.0.99" }));
  assert.equal(harness.nftables.dump(), await harness.cleanStart());
});

async function settled(): Promise<Harness> {
  const harness = new Harness();
  await harness.put(...everyShape("IPv4"));
  return harness;
}
