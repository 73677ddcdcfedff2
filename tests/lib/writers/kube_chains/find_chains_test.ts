/** What iptables and userspace mode left, found by the names of their chains. */
import assert from "node:assert/strict";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { FakeLegacyTables } from "../../../../lib/kernel/xtables/fake_legacy_tables.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { NftTable } from "../../../../lib/kernel/nftables/operations.ts";
import { leftovers as iptables } from "../../../../lib/writers/iptables/leftovers.ts";
import { leftovers as userspace } from "../../../../lib/writers/userspace/leftovers.ts";

const { signal } = new AbortController();
const ip: NftTable = { family: "ip", name: "nat" };
const ip6: NftTable = { family: "ip6", name: "nat" };

async function kernelWith(
  ...tables: readonly (readonly [NftTable, readonly string[]])[]
): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  for (const [table, chains] of tables) {
    await kernel.tables.commit(table, [
      { kind: "add-table" },
      ...chains.map((name) => ({ kind: "add-chain", chain: { name } }) as const),
    ]);
  }
  return kernel;
}

Deno.test("find() tells families and chains of iptables mode, sorted", async () => {
  const kernel = await kernelWith(
    [ip6, ["KUBE-NODEPORTS"]],
    [ip, ["PREROUTING", "KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-SVC-ABCDEFGHIJKLMNOP"]],
  );
  assert.deepEqual(await iptables.find(kernel, signal), [
    {
      mode: "iptables",
      backend: "nft",
      family: "IPv4",
      objects: ["chain ip nat KUBE-NODEPORTS", "chain ip nat KUBE-SERVICES"],
    },
    { mode: "iptables", backend: "nft", family: "IPv6", objects: ["chain ip6 nat KUBE-NODEPORTS"] },
  ]);
  assert.deepEqual(await userspace.find(kernel, signal), []);
});

Deno.test("find() tells userspace mode by each of its chains", async () => {
  const chains = [
    "KUBE-PORTALS-CONTAINER",
    "KUBE-PORTALS-HOST",
    "KUBE-NODEPORT-CONTAINER",
    "KUBE-NODEPORT-HOST",
  ];
  for (const chain of chains) {
    const kernel = await kernelWith([ip, [chain]]);
    const [found, ...more] = await userspace.find(kernel, signal);
    assert.deepEqual([found.mode, found.objects, more], [
      "userspace",
      [`chain ip nat ${chain}`],
      [],
    ]);
    assert.deepEqual(await iptables.find(kernel, signal), []);
  }
});

/** None of these is a proxy's. */
const nothing: Readonly<Record<string, readonly (readonly [NftTable, readonly string[]])[]>> = {
  "no table": [],
  "an old kubelet's chains": [[ip, ["KUBE-MARK-MASQ", "KUBE-POSTROUTING", "KUBE-MARK-DROP"]]],
  "our names in another table": [[{ family: "ip", name: "filter" }, ["KUBE-SERVICES"]]],
  "names that only begin like ours": [[ip, ["KUBE-SERVICES-2", "KUBE-NODEPORT"]]],
};

for (const [name, tables] of Object.entries(nothing)) {
  Deno.test(`find() finds nothing: ${name}`, async () => {
    const kernel = await kernelWith(...tables);
    assert.deepEqual(await iptables.find(kernel, signal), []);
    assert.deepEqual(await userspace.find(kernel, signal), []);
  });
}

Deno.test("find() asks for no listing of a table, and for chains only where the table is", async () => {
  const asked: string[] = [];
  class Asked extends FakeNftables {
    override findChains(table: NftTable, names: readonly string[]): Promise<readonly string[]> {
      asked.push(`${table.family} ${table.name}`);
      return super.findChains(table, names);
    }
    override listTable(): never {
      throw new Error("a table was listed");
    }
  }
  const tables = new Asked();
  await tables.commit(ip, [{ kind: "add-table" }]);
  const kernel = new FakeKernel({ tables });
  await iptables.find(kernel, signal);
  assert.deepEqual(asked, ["ip nat"]);
  await assert.rejects(iptables.find(kernel, AbortSignal.abort()));
});

Deno.test("find() tells what is in the older tables, without reading a table that is empty or very large", async () => {
  const legacyTables = new FakeLegacyTables();
  const kernel = new FakeKernel({ legacyTables });
  const set = (entries: number, bytes: number, chains: readonly string[]) => {
    legacyTables.tables.set("IPv6 nat", { entries, bytes });
    legacyTables.chainNames.set("IPv6 nat", chains);
  };
  const objects = async () => [
    (await iptables.find(kernel, signal)).map((each) => [each.backend, each.family, each.objects]),
    (await userspace.find(kernel, signal)).map((each) => each.objects),
  ];
  assert.deepEqual(await objects(), [[], []]);
  set(5, 1000, ["KUBE-SERVICES"]);
  assert.deepEqual(await objects(), [[], []]);
  set(20, 4 << 20, ["DOCKER", "KUBE-MARK-MASQ"]);
  assert.deepEqual(await objects(), [[], []]);
  set(20, 5000, ["KUBE-SERVICES", "KUBE-PORTALS-HOST"]);
  assert.deepEqual(await objects(), [
    [["legacy", "IPv6", ["chain KUBE-SERVICES of table nat of ip6tables-legacy"]]],
    [["chain KUBE-PORTALS-HOST of table nat of ip6tables-legacy"]],
  ]);
  set(900, (4 << 20) + 1, []);
  assert.deepEqual((await objects())[0], [
    ["legacy", "IPv6", ["900 entries of table nat of ip6tables-legacy"]],
  ]);
  set(900_000, 190 << 20, []);
  assert.deepEqual(await objects(), [
    [["legacy", "IPv6", ["900000 entries of table nat of ip6tables-legacy"]]],
    [],
  ]);
});

Deno.test("confirm() looks into large older tables, and leaves out those that have none of the chains", async () => {
  const legacyTables = new FakeLegacyTables();
  const kernel = new FakeKernel({ legacyTables });
  const large = { entries: 900_000, bytes: 190 << 20 };
  for (const family of ["IPv4", "IPv6"]) legacyTables.tables.set(`${family} nat`, large);
  legacyTables.chainNames.set("IPv4 nat", ["DOCKER"]);
  legacyTables.chainNames.set("IPv6 nat", ["DOCKER", "KUBE-NODEPORTS"]);
  const nft = { mode: "iptables", backend: "nft", family: "IPv4", objects: ["chain"] } as const;
  const found = [nft, ...await iptables.find(kernel, signal)];
  assert.equal(found.length, 3);
  assert.deepEqual(await iptables.confirm?.(kernel, { found, signal }), [found[0], found[2]]);
  legacyTables.among = () => Promise.resolve(undefined);
  assert.deepEqual(
    await iptables.confirm?.(kernel, { found, signal }),
    found,
    "it changed meanwhile",
  );
  legacyTables.among = () => assert.fail("it is small, or gone");
  legacyTables.tables.set("IPv4 nat", { entries: 900, bytes: 4 << 20 });
  legacyTables.tables.delete("IPv6 nat");
  assert.deepEqual(await iptables.confirm?.(kernel, { found, signal }), found);
  const stopped = iptables.confirm?.(kernel, { found, signal: AbortSignal.abort() });
  await assert.rejects(stopped ?? Promise.resolve(), { name: "AbortError" });
});
