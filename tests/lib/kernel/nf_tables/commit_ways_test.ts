import assert from "node:assert/strict";
import { CommitWays } from "../../../../lib/kernel/nf_tables/commit_ways.ts";
import type { CommitResult } from "../../../../lib/kernel/nf_tables/transport.ts";

/** Notes which way each batch went, by its first byte; whoever is asked has to be answered. */
class Rig {
  readonly log: string[] = [];
  readonly #waiting: ((answer: CommitResult["kind"] | "not taken" | Error) => void)[] = [];
  readonly ways = new CommitWays({
    small: (bytes) => this.#ask("small", bytes),
    large: async (bytes) => {
      const result = await this.#ask("large", bytes);
      assert.ok(result);
      return result;
    },
  });

  /** What becomes of the batch; `told` says it for the log. */
  commit(name: number, { length = 4, series }: { length?: number; series?: number } = {}): void {
    const bytes = new Uint8Array(length);
    bytes[0] = name;
    this.ways.commit(bytes, series).then(
      ({ kind }) => this.log.push(`${name} ${kind}`),
      ({ message }) => this.log.push(`${name} failed: ${message}`),
    );
  }

  async answer(answer: CommitResult["kind"] | "not taken" | Error = "applied"): Promise<void> {
    const waiting = this.#waiting.shift();
    assert.ok(waiting, "nobody was asked");
    waiting(answer);
    await nextTurn();
  }

  /** What happened since it was asked last. */
  async settle(): Promise<readonly string[]> {
    await nextTurn();
    return this.log.splice(0);
  }

  #ask(way: string, bytes: Uint8Array<ArrayBuffer>): Promise<CommitResult | undefined> {
    this.log.push(`${bytes[0]} ${way}`);
    return new Promise((resolve, reject) => {
      this.#waiting.push((answer) => {
        if (answer instanceof Error) return reject(answer);
        if (answer === "not taken") return resolve(undefined);
        if (answer === "applied") {
          return resolve({ kind: answer, bytes, receipt: { before: 1, after: 2 }, echoes: [] });
        }
        resolve(
          answer === "refused" ? { kind: answer, bytes, refusals: [] } : {
            kind: answer,
            bytes,
          },
        );
      });
    });
  }
}

const large = 100_000;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("small batches go one after the other, large ones behind them and without waiting for each other", async () => {
  const rig = new Rig();
  rig.commit(1);
  rig.commit(2, { length: 16_384 });
  rig.commit(3, { length: 16_385 });
  rig.commit(4, { length: large });
  rig.commit(5);
  assert.deepEqual(await rig.settle(), ["1 small"]);
  rig.answer();
  assert.deepEqual(await rig.settle(), ["1 applied", "2 small"]);
  rig.answer();
  assert.deepEqual((await rig.settle()).toSorted(), ["2 applied", "3 large", "4 large", "5 large"]);
});

Deno.test("a small batch behind large ones goes with them, and past the worker again once they are back", async () => {
  const rig = new Rig();
  rig.commit(1, { length: large });
  rig.commit(2);
  assert.deepEqual(await rig.settle(), ["1 large", "2 large"]);
  await rig.answer();
  rig.commit(3);
  await rig.answer();
  await rig.answer();
  assert.deepEqual((await rig.settle()).toSorted(), [
    "1 applied",
    "2 applied",
    "3 applied",
    "3 large",
  ]);
  rig.commit(4);
  assert.deepEqual(await rig.settle(), ["4 small"]);
});

Deno.test("a small batch that its socket does not take goes to the worker before any other", async () => {
  const rig = new Rig();
  rig.commit(1);
  rig.commit(2);
  rig.commit(3, { length: large });
  await rig.settle();
  rig.answer("not taken");
  assert.deepEqual(await rig.settle(), ["1 large"]);
  rig.answer("refused");
  assert.deepEqual((await rig.settle()).toSorted(), ["1 refused", "2 small"]);
  rig.answer();
  assert.deepEqual((await rig.settle()).toSorted(), ["2 applied", "3 large"]);
});

for (
  const [what, answer, told] of [
    ["refused", "refused", "1 refused"],
    ["failed", new Error("no kernel"), "1 failed: no kernel"],
  ] as const
) {
  Deno.test(`what follows a ${what} batch of its series is not sent, whatever its size`, async () => {
    for (const length of [4, large]) {
      const rig = new Rig();
      rig.commit(1, { series: 7, length });
      rig.commit(2, { series: 7 });
      rig.commit(3, { series: 7, length: large });
      rig.commit(4, { series: 8 });
      rig.commit(5);
      await rig.settle();
      rig.answer(answer);
      const log = await rig.settle();
      assert.ok(log.includes(told), log.join());
      if (length === 4) {
        const others = ["2 skipped", "3 skipped", "4 large", "5 large"];
        assert.deepEqual(log.toSorted(), [told, ...others].toSorted());
      }
      rig.commit(6, { series: 7 });
      rig.commit(7, { series: 7, length: large });
      // The worker knows by itself what follows there.
      for (let i = 0; i < 4; i++) await rig.answer().catch(() => {});
      const rest = await rig.settle();
      assert.ok(rest.includes("6 skipped") && rest.includes("7 skipped"), rest.join());
      assert.ok(rest.includes("4 applied") && rest.includes("5 applied"), rest.join());
    }
  });
}

Deno.test("who waits until nothing is on its way is called at once, or once small batches are answered", async () => {
  const rig = new Rig();
  const calls: string[] = [];
  rig.ways.whenIdle(() => calls.push("at once"));
  assert.deepEqual(calls, ["at once"]);
  rig.commit(1);
  rig.commit(2);
  await rig.settle();
  rig.ways.whenIdle(() => calls.push("later"));
  await rig.answer(new Error("no kernel"));
  assert.deepEqual(calls, ["at once"]);
  await rig.answer();
  assert.deepEqual(calls, ["at once", "later"]);
  rig.ways.whenIdle(() => calls.push("at once again"));
  assert.deepEqual(calls, ["at once", "later", "at once again"]);
});
