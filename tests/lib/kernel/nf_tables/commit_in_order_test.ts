import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { systemClock } from "../../../../lib/base/clock.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { commitInOrder } from "../../../../lib/kernel/nf_tables/commit_in_order.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { refusedWith } from "./refused_with.ts";

const table = { family: "ip", name: "kube-proxy" } as const;

type Batch = readonly NftOperation[];

function chain(name: string): Batch {
  return [{ kind: "add-chain", chain: { name } }];
}

async function chainsAfter(
  batches: Iterable<Batch>,
  { nftables, signal = new AbortController().signal }: {
    readonly nftables: FakeNftables;
    readonly signal?: AbortSignal;
  },
) {
  const result = await commitInOrder(batches, {
    commit: (operations, series) =>
      operations.length > 0
        ? nftables.commit(table, operations, { series, signal }).then(() => undefined)
        : undefined,
    clock: systemClock,
    signal,
  })
    .catch((error: unknown) => ({ thrown: error }));
  const chains = (await nftables.listTable(table))?.chains.map(({ name }) => name);
  return { result, chains };
}

Deno.test("commitInOrder() commits every batch, in order, and passes over empty ones", async () => {
  const nftables = new FakeNftables();
  const batches: Batch[] = [[{ kind: "add-table" }], [], chain("b"), [], chain("a")];
  assert.deepEqual(await chainsAfter(batches, { nftables }), {
    result: undefined,
    chains: ["b", "a"],
  });
});

Deno.test("commitInOrder() tells of the batch that is refused, and sends none after it", async () => {
  const nftables = new FakeNftables();
  nftables.refuse((operation) =>
    operation.kind === "add-chain" && operation.chain.name === "bad" ? Errno.EBUSY : undefined
  );
  const bad = chain("bad");
  const batches: Batch[] = [[{ kind: "add-table" }], chain("a"), bad, chain("b"), chain("c")];
  const { chains, result } = await chainsAfter(batches, { nftables });
  assert.deepEqual(chains, ["a"]);
  assert.ok(result && "batch" in result);
  assert.equal(result.batch, bad);
  assert.ok(refusedWith(Errno.EBUSY)(result.error));
});

Deno.test("commitInOrder() that is aborted has nothing under way when it throws", async () => {
  const nftables = new FakeNftables();
  const abort = new AbortController();
  function* batches(): Generator<Batch> {
    yield [{ kind: "add-table" }];
    yield chain("a");
    abort.abort(new Error("enough"));
    yield chain("b");
  }
  const { result } = await chainsAfter(batches(), { nftables, signal: abort.signal });
  assert.match(String(result && "thrown" in result && result.thrown), /enough/);
  assert.ok(nftables.commits.every(({ operations }) => operations.length > 0));
});

Deno.test("commitInOrder() whose batches cannot be made has nothing under way when it throws", async () => {
  const nftables = new FakeNftables();
  function* batches(): Generator<Batch> {
    yield [{ kind: "add-table" }];
    yield chain("a");
    throw new Error("no more");
  }
  const { chains, result } = await chainsAfter(batches(), { nftables });
  assert.match(String(result && "thrown" in result && result.thrown), /no more/);
  assert.deepEqual(chains, ["a"]);
});

/** How many batches were made before the event loop had its turn; each takes that long. */
async function batchesBeforeTurn(milliseconds: number): Promise<number> {
  const clock = new FakeClock();
  let hadTurn = false;
  let before = 0;
  setImmediate(() => hadTurn = true);
  function* batches(): Generator<number> {
    for (let batch = 0; batch < 50; batch++) {
      if (!hadTurn) before++;
      clock.pass(milliseconds);
      yield batch;
    }
  }
  await commitInOrder(batches(), {
    commit: () => Promise.resolve(),
    clock,
    signal: new AbortController().signal,
  });
  return before;
}

Deno.test("commitInOrder() lets others work after ten milliseconds, and not before", async () => {
  assert.equal(await batchesBeforeTurn(0), 50);
  assert.equal(await batchesBeforeTurn(10), 1);
  assert.equal(await batchesBeforeTurn(4), 3);
});

Deno.test("commitInOrder() has three batches under way at most", async () => {
  let underWay = 0;
  let most = 0;
  await commitInOrder(Array(20).keys(), {
    commit: async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay--;
    },
    clock: new FakeClock(),
    signal: new AbortController().signal,
  });
  assert.equal(most, 3);
});
