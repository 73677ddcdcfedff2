import assert from "node:assert/strict";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { Errno } from "../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../lib/kernel/netlink/errors.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import { isNotFound, isUncertain, NfTablesError } from "../../../lib/kernel/nf_tables/errors.ts";
import { NetlinkNftables } from "../../../lib/kernel/nftables/netlink_nftables.ts";
import type { NftOperation } from "../../../lib/kernel/nftables/operations.ts";
import { NftNamespace } from "./namespace.ts";
import { sampleOperations, table } from "../../lib/kernel/nftables/sample.ts";
import { refusedWith } from "../../lib/kernel/nf_tables/refused_with.ts";

const addTable: NftOperation = { kind: "add-table" };
const module = (path: string) => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

/** Each row's batch is refused with exactly this sentence. */
const sentences: readonly {
  name: string;
  change: readonly NftOperation[];
  is: (error: unknown) => boolean;
  message: string;
}[] = [
  {
    name: "a chain in use",
    change: [{ kind: "delete-chain", chain: "target" }],
    is: refusedWith(Errno.EBUSY),
    message: 'Cannot delete chain "target" in table "ip kube-proxy": object is in use (EBUSY)',
  },
  {
    name: "a rule that looks into a missing set",
    change: [{
      kind: "add-rule",
      rule: {
        chain: "target",
        statements: [{ kind: "match", select: ["daddr"], in: { set: "none" } }],
      },
    }],
    is: isNotFound,
    message: 'Cannot add rule to chain "target" (ip daddr @none) in table "ip kube-proxy": ' +
      'expression "lookup": no such object (ENOENT)',
  },
  {
    name: "a missing element, and what else failed",
    change: [
      { kind: "delete-elements", set: "cluster-ips", elements: [{ key: ["172.30.9.9"] }] },
      { kind: "delete-set", set: "none" },
    ],
    is: isNotFound,
    message: 'Cannot delete element 172.30.9.9 from set "cluster-ips" in table "ip kube-proxy": ' +
      "no such object (ENOENT); 1 more operations failed",
  },
];

Deno.test("a refusal names the operation and its object", async (t) => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await nftables.commit(table("ip"), sampleOperations("ip"));
  for (const { name, change, is, message } of sentences) {
    await t.step(name, async () => {
      await assert.rejects(nftables.commit(table("ip"), change), (error: Error) => {
        assert.equal(error.message, message);
        return is(error);
      });
    });
  }
});

Deno.test("a batch based on an older generation is refused and changes nothing", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const generation = await nftables.generation();
  await namespace.nft(["add", "table", "ip", "foreign"]);
  const commit = nftables.commit(table("ip"), [addTable], { generation });
  await assert.rejects(
    commit,
    (error) => refusedWith(Errno.ERESTART, -1)(error) && !isNotFound(error),
  );
  assert.equal(await nftables.listTable(table("ip")), undefined);
  await nftables.commit(table("ip"), [addTable], { generation: await nftables.generation() });
});

Deno.test("lost answers are told from success, and the next batch is not confused by them", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = inNetworkNamespace(
    namespace.path,
    () => new NetlinkNftables(new DirectTransport({ receiveBufferBytes: 4096 })),
  );
  const failing = Array.from({ length: 2000 }, (_, i) => ({
    kind: "delete-chain" as const,
    chain: `none-${i}`,
  }));
  await assert.rejects(nftables.commit(table("ip"), [addTable, ...failing]), (error) => {
    assert.ok(hasErrno(error, Errno.ENOBUFS));
    return isUncertain(error);
  });
  await nftables.commit(table("ip"), [addTable]);
  assert.ok(await nftables.listTable(table("ip")));
});

Deno.test("every one of two thousand refused operations is told", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const failing = Array.from({ length: 2000 }, (_, i) => ({
    kind: "delete-chain" as const,
    chain: `none-${i}`,
  }));
  await assert.rejects(nftables.commit(table("ip"), [addTable, ...failing]), (error) => {
    assert.ok(error instanceof NfTablesError);
    assert.deepEqual(
      error.failures.map(({ operation }) => operation),
      failing.map((_, i) => i + 1),
    );
    return true;
  });
});

Deno.test("without CAP_NET_ADMIN the refusal says what to do", async () => {
  const script = `
    import { openNftablesInThread } from ${module("lib/kernel/nftables/netlink_nftables.ts")};
    import { isNotPermitted } from ${module("lib/kernel/nf_tables/errors.ts")};
    using nftables = openNftablesInThread();
    try {
      await nftables.commit({ family: "ip", name: "x" }, [{ kind: "add-table" }]);
      console.log("committed");
    } catch (error) {
      console.log(isNotPermitted(error), error.message);
    }`;
  // In a user namespace of its own, root has no rights over this network namespace.
  const { stdout, stderr } = await new Deno.Command("unshare", {
    args: ["--user", Deno.execPath(), "run", "-A", "--no-lock", "--no-check", dataUrl(script)],
  }).output();
  assert.equal(
    new TextDecoder().decode(stdout).trim(),
    'true Cannot change table "ip x": operation not permitted (EPERM); ' +
      "run as root or with CAP_NET_ADMIN",
    new TextDecoder().decode(stderr),
  );
});

Deno.test("a process in the middle of a large commit ends within a second of SIGTERM", async () => {
  await using namespace = await NftNamespace.create();
  const script = `
    import { openNftables } from ${module("lib/kernel/nftables/netlink_nftables.ts")};
    const nftables = await openNftables();
    const set = { name: "ips", key: ["addr", "index"] };
    const length = Math.min(400_000, nftables.largestBatch / 100);
    const elements = Array.from({ length }, (_, i) => ({ key: ["172.30.0.1", i] }));
    // A commit that is soon done does not end the program either.
    setInterval(() => {}, 1000);
    Deno.addSignalListener("SIGTERM", () => Deno.exit(7));
    const committed = nftables.commit({ family: "ip", name: "x" }, [
      { kind: "add-table" },
      { kind: "add-set", set },
      { kind: "add-elements", set: "ips", elements },
    ]);
    setTimeout(() => console.log(elements.length), 0);
    await committed;`;
  const child = new Deno.Command("ip", {
    args: ["netns", "exec", namespace.name, Deno.execPath(), "run", "-A", "--no-lock"]
      .concat("--no-check", dataUrl(script)),
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const count = Number(new TextDecoder().decode(value));
  const started = performance.now();
  child.kill("SIGTERM");
  const { code } = await child.status;
  await reader.cancel();
  assert.equal(code, 7);
  assert.ok(performance.now() - started < 1000, `${performance.now() - started} ms`);
  // All or nothing: the kernel gave up the batch, or had finished it.
  using nftables = namespace.open();
  const listing = await nftables.listTable({ family: "ip", name: "x" });
  if (listing) {
    const elements = await nftables.listElements({ family: "ip", name: "x" }, listing.sets[0]);
    assert.equal(elements.length, count);
  }
});

function dataUrl(script: string): string {
  return `data:application/typescript,${encodeURIComponent(script)}`;
}
