import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import type { RemovalReport } from "../../../../lib/writers/leftovers.ts";
import { leftovers } from "../../../../lib/writers/nftables/leftovers.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { noSignal } from "./harness.ts";

const [ip, ip6] = [tableOf("IPv4"), tableOf("IPv6")];
const theirs = { family: "ip", name: "kube-proxy-of-somebody-else" } as const;

async function node(): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  for (const table of [ip6, theirs, ip]) await kernel.tables.commit(table, [{ kind: "add-table" }]);
  return kernel;
}

async function remove(kernel: FakeKernel): Promise<RemovalReport> {
  assert.ok(leftovers.removal);
  const plan = await leftovers.removal.plan(kernel, noSignal);
  return await leftovers.removal.apply(kernel, plan, noSignal);
}

function families({ removed }: RemovalReport): readonly string[] {
  return removed.map(({ family }) => family);
}

Deno.test("find() finds our tables and no other", async () => {
  const found = await leftovers.find(await node(), noSignal);
  assert.deepEqual(found, [
    { mode: "nftables", backend: "nftables", family: "IPv4", objects: ["table ip kube-proxy"] },
    { mode: "nftables", backend: "nftables", family: "IPv6", objects: ["table ip6 kube-proxy"] },
  ]);
  assert.deepEqual(await leftovers.find(new FakeKernel(), noSignal), []);
});

Deno.test("plan() says what apply() then does, and changes nothing", async () => {
  const kernel = await node();
  const plan = await leftovers.removal?.plan(kernel, noSignal);
  const step = { action: "delete", backend: "nftables", kind: "table", place: "" };
  assert.deepEqual(plan, {
    steps: [
      { ...step, family: "IPv4", name: "kube-proxy" },
      { ...step, family: "IPv6", name: "kube-proxy" },
    ],
    kept: [],
    remaining: [],
  });
  assert.equal((await kernel.tables.listTables()).length, 3);
  assert.deepEqual((await remove(kernel)).removed, plan?.steps);
});

Deno.test("apply() removes our tables and no other, and nothing the second time", async () => {
  const kernel = await node();
  const first = await remove(kernel);
  assert.deepEqual([families(first), first.remaining], [["IPv4", "IPv6"], []]);
  assert.deepEqual(await kernel.tables.listTables(), [theirs]);
  assert.deepEqual(await remove(kernel), { removed: [], remaining: [] });
});

Deno.test("apply() goes on after a failure and says what remains", async () => {
  const kernel = await node();
  kernel.tables.refuse((_, table) => table.family === "ip" ? Errno.EBUSY : undefined);
  const report = await remove(kernel);
  assert.deepEqual(families(report), ["IPv6"]);
  assert.deepEqual(report.remaining.map(({ what }) => what), ["table ip kube-proxy"]);
  assert.match(report.remaining[0].reason, /object is in use \(EBUSY\)/);
});

Deno.test("apply() tries three times where somebody is in the way, and once where it is refused", async () => {
  const triesUntil = async (errno: number, good: number) => {
    const kernel = await node();
    const commit = kernel.tables.commit.bind(kernel.tables);
    let tries = 0;
    kernel.tables.refuse(() => tries < good ? errno : undefined);
    kernel.tables.commit = (table, operations) => {
      if (table.family === "ip") tries++;
      return commit(table, operations);
    };
    return { report: await remove(kernel), tries };
  };
  const third = await triesUntil(Errno.EBUSY, 3);
  assert.deepEqual([families(third.report), third.tries], [["IPv4", "IPv6"], 3]);
  const never = await triesUntil(Errno.ERESTART, 99);
  assert.deepEqual([families(never.report), never.tries], [[], 3]);
  const refused = await triesUntil(Errno.EPERM, 2);
  assert.equal(refused.tries, 1);
});

Deno.test("apply() takes a table that vanished meanwhile for removed", async () => {
  const kernel = await node();
  const commit = kernel.tables.commit.bind(kernel.tables);
  kernel.tables.commit = async (table, operations) => {
    await commit(table, [{ kind: "delete-table" }]);
    return await commit(table, operations);
  };
  const report = await remove(kernel);
  assert.deepEqual([families(report), report.remaining], [["IPv4", "IPv6"], []]);
});

Deno.test("apply() says that a table was made again", async () => {
  const kernel = await node();
  const commit = kernel.tables.commit.bind(kernel.tables);
  kernel.tables.commit = async (table, operations) => {
    await commit(table, operations);
    return await commit(table, [{ kind: "add-table" }]);
  };
  const { removed, remaining } = await remove(kernel);
  assert.deepEqual(removed, []);
  assert.deepEqual(remaining[0], { what: "table ip kube-proxy", reason: "it was made again" });
});

Deno.test("apply() that is stopped between two families says what was done", async () => {
  const kernel = await node();
  const stop = new AbortController();
  const commit = kernel.tables.commit.bind(kernel.tables);
  kernel.tables.commit = async (table, operations) => {
    stop.abort();
    return await commit(table, operations);
  };
  assert.ok(leftovers.removal);
  const plan = await leftovers.removal.plan(kernel, noSignal);
  const report = await leftovers.removal.apply(kernel, plan, stop.signal);
  assert.deepEqual(families(report), ["IPv4"]);
  assert.deepEqual(report.remaining, [
    { what: "table ip6 kube-proxy", reason: "stopped before it was removed" },
  ]);
});

Deno.test("plan() has nothing to do without nf_tables, and throws what else keeps it from looking", async () => {
  const refused = (errno: number) =>
    new FakeKernel({ nftablesRefusal: new NetlinkError({ op: "open a socket", errno }) });
  const plan = (errno: number) => leftovers.removal?.plan(refused(errno), noSignal);
  for (const errno of [Errno.EPROTONOSUPPORT, Errno.EAFNOSUPPORT, Errno.EOPNOTSUPP, Errno.EINVAL]) {
    assert.deepEqual(await plan(errno), {
      steps: [],
      kept: [],
      remaining: [],
      remarks: ["this kernel has no nf_tables, or its module is not loaded"],
    });
  }
  await assert.rejects(async () => await plan(Errno.EPERM), /EPERM/);
});

Deno.test("standAside() puts our tables of these families to sleep once, and no other", async () => {
  const kernel = await node();
  const found = await leftovers.find(kernel, noSignal);
  const options = { found: found.filter(({ family }) => family === "IPv4"), signal: noSignal };
  assert.deepEqual(await leftovers.standAside?.(kernel, options), [
    "table ip kube-proxy (flags dormant)",
  ]);
  const isAsleep = async (table: typeof ip) => (await kernel.tables.listTable(table))?.isDormant;
  assert.deepEqual([await isAsleep(ip), await isAsleep(ip6), await isAsleep(theirs)], [
    true,
    false,
    false,
  ]);
  const generation = await kernel.tables.generation();
  assert.deepEqual(await leftovers.standAside?.(kernel, options), []);
  assert.equal(await kernel.tables.generation(), generation, "nothing is written when repeated");
  assert.equal((await leftovers.find(kernel, noSignal)).length, 2, "it is still there");
  await assert.rejects(
    async () =>
      await leftovers.standAside?.(await node(), { ...options, signal: AbortSignal.abort() }),
    { name: "AbortError" },
  );
});

Deno.test("standAside() leaves a table that belongs to a proxy that lives", async () => {
  const kernel = await node();
  const listTable = kernel.tables.listTable.bind(kernel.tables);
  kernel.tables.listTable = async (table) => {
    const listing = await listTable(table);
    return listing && { ...listing, ownerPort: 4711 };
  };
  const options = { found: await leftovers.find(kernel, noSignal), signal: noSignal };
  assert.deepEqual(await leftovers.standAside?.(kernel, options), []);
  assert.equal((await kernel.tables.listTable(ip))?.isDormant, false);
});
