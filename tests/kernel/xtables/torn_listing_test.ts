/** Listing very many chains while somebody else commits all the time, which interrupts every dump. */
import assert from "node:assert/strict";
import { turnOfTheEventLoop } from "../../../lib/base/event_loop.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { WorkerTransport } from "../../../lib/kernel/nf_tables/worker_transport.ts";
import { NetlinkNftables } from "../../../lib/kernel/nftables/netlink_nftables.ts";
import type { NftOperation } from "../../../lib/kernel/nftables/operations.ts";
import { NftXtables } from "../../../lib/kernel/xtables/nft_xtables.ts";
import type { XtChange } from "../../../lib/kernel/xtables/rules.ts";
import { XtNamespace } from "./namespace.ts";

/** Their listing takes many times as long as a commit. */
const chains = 30_000;
const family = "IPv4";
const [table, theirs] = ["nat", { family: "ip", name: "theirs" }] as const;

/** A worker's thread is in the namespace in which it is started. */
function openIn({ name }: XtNamespace): Promise<WorkerTransport> {
  const opening: { promise?: Promise<WorkerTransport> } = {};
  inNetworkNamespace(`/run/netns/${name}`, () => {
    opening.promise = WorkerTransport.open();
  });
  assert.ok(opening.promise);
  return opening.promise;
}

/** Commits until the reading is done; what it gave, and how often the ruleset moved meanwhile. */
async function whileCommitting<T>(
  reading: Promise<T>,
  commit: (index: number) => Promise<unknown>,
): Promise<{ readonly outcome: PromiseSettledResult<T>; readonly commits: number }> {
  let isOver = false;
  const settled = Promise.allSettled([reading]).finally(() => isOver = true);
  let commits = 0;
  while (!isOver) {
    await commit(commits++);
    await turnOfTheEventLoop();
  }
  const [outcome] = await settled;
  return { outcome, commits };
}

Deno.test("a listing of many chains ends although other tables change all the time", async (test) => {
  await using namespace = await XtNamespace.create();
  const direct = namespace.transport();
  const transport = await openIn(namespace);
  try {
    const names = Array.from({ length: chains }, (_, index) => `KUBE-SVC-${index}`);
    const adding = names.map((chain): XtChange => ({ kind: "add-chain", table, chain }));
    await new NftXtables(direct).commit(family, [{ kind: "add-table", table }, ...adding]);
    const others = new NetlinkNftables(direct);
    await others.commit(theirs, [{ kind: "add-table" }]);
    const addChain = (index: number) => {
      const added: NftOperation = { kind: "add-chain", chain: { name: `chain-${index}` } };
      const gone: NftOperation = { kind: "delete-chain", chain: `chain-${index - 5}` };
      return others.commit(theirs, index < 5 ? [added] : [added, gone]);
    };
    const clear = async () => {
      await others.commit(theirs, [{ kind: "delete-table" }]);
      await others.commit(theirs, [{ kind: "add-table" }]);
    };
    await test.step("all chains are listed, each once", async () => {
      const reading = new NftXtables(transport).read(family, [table]);
      const { commits, outcome } = await whileCommitting(reading, addChain);
      assert.ok(commits > 0);
      assert.ok(outcome.status === "fulfilled");
      const listed = outcome.value.chains.filter(({ isBuiltIn }) => !isBuiltIn);
      assert.deepEqual(listed.map(({ name }) => name), names);
      await clear();
    });
    await test.step("a digest is made, and is the one of a quiet table", async () => {
      const xtables = new NftXtables(transport);
      const { commits, outcome } = await whileCommitting(xtables.digest(family, [table]), addChain);
      assert.ok(commits > 0);
      assert.ok(outcome.status === "fulfilled");
      assert.equal(outcome.value, await xtables.digest(family, [table]));
      await clear();
    });
    await test.step("chains of this table that come and go are not overlooked", async () => {
      const mine = new NftXtables(direct);
      const place = (index: number) => ({ table, chain: `MINE-${index}` }) as const;
      const reading = new NftXtables(transport).read(family, [table]);
      const { outcome } = await whileCommitting(reading, async (index) => {
        // The oldest chains go, so that the kernel leaves some out; at last it is quiet.
        if (index < 40) {
          await mine.commit(family, [{ kind: "delete-chain", table, chain: names[index] }]);
        }
        if (index < 40) await mine.commit(family, [{ kind: "add-chain", ...place(index) }]);
      });
      assert.ok(outcome.status === "fulfilled");
      const listed = new Set(outcome.value.chains.map(({ name }) => name));
      assert.deepEqual(names.slice(40).filter((name) => !listed.has(name)), []);
    });
  } finally {
    transport.close();
  }
});
