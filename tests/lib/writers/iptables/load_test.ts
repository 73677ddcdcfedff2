/** Loads of many changes, which nobody keeps until their commit. */
import assert from "node:assert/strict";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import { chainsOf } from "../../../../lib/writers/iptables/names.ts";
import { cuts, Load } from "../../../../lib/writers/iptables/load.ts";
import { Batch } from "../../../../lib/writers/iptables/batch.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { Harness } from "./harness.ts";
import { endpoints, servicePort, snapshotOf } from "./samples.ts";

function servicePorts(length: number): readonly ServicePort[] {
  return Array.from({ length }, (_, index) =>
    servicePort({
      name: `many-${index}`,
      clusterIP: `172.30.${1 + (index >> 8)}.${index & 255}`,
      clusterEndpoints: endpoints("IPv4", [1, 2], [2, 2]),
    }));
}

const { leavesPerCommit } = cuts.nft;

/** More than are kept. */
const many = servicePorts(150);

Deno.test("a load of many changes is one commit, and leaves what few at a time leave", async () => {
  const harness = new Harness();
  const report = await harness.full(snapshotOf("IPv4", many));
  const [{ changes }, ...others] = harness.xtables.commits;
  assert.deepEqual([others.length, report.written], [0, changes.length]);
  const { written } = harness.reports[0];
  const counted = changes.filter(({ kind, table }) => kind.endsWith("rule") && table === "nat");
  assert.equal(written.nat, counted.length);
  const slow = new Harness();
  await slow.full(snapshotOf("IPv4", []));
  for (const each of many) await slow.some(snapshotOf("IPv4", many), each);
  assert.equal(await harness.dump(), await slow.dump());
  assert.equal(await harness.drifted(), false);
  assert.equal((await harness.full(snapshotOf("IPv4", many))).written, 0);
});

Deno.test("in the legacy backend all that is changed is one commit, with what goes", async () => {
  const harness = new Harness({ backend: "legacy" });
  await harness.full(snapshotOf("IPv4", many));
  harness.restart();
  const { written } = await harness.full(snapshotOf("IPv4", many.slice(1)));
  const { changes } = harness.xtables.commits[1];
  assert.deepEqual([harness.xtables.commits.length, changes.length], [2, written]);
  const kinds = new Set(changes.map(({ kind }) => kind));
  assert.deepEqual([...kinds].sort(), ["delete-chain", "delete-rule", "flush-chain"]);
  const alone = new Harness({ backend: "legacy" });
  await alone.full(snapshotOf("IPv4", many.slice(1)));
  assert.equal(await harness.dump(), await alone.dump());
  harness.restart();
  assert.equal((await harness.full(snapshotOf("IPv4", many.slice(1)))).written, 0);
  assert.equal(harness.xtables.commits.length, 2);
});

Deno.test("in the legacy backend the first new chain goes out before the next Service is looked at", async () => {
  const harness = new Harness({ backend: "legacy" });
  const added: number[] = [];
  const { compose } = harness.xtables;
  Object.defineProperty(harness.xtables, "compose", {
    value: (...asked: Parameters<NonNullable<typeof compose>>) => {
      const composition = compose?.(...asked);
      assert.ok(composition);
      const add = composition.add.bind(composition);
      return Object.assign(composition, {
        add: (changes: readonly XtChange[]) => (added.push(changes.length), add(changes)),
      });
    },
  });
  await harness.full(snapshotOf("IPv4", many));
  assert.ok(added.length > many.length && Math.max(...added.slice(0, -1)) < 50, added.join());
});

Deno.test("what a load put together is given up where it does not come to its end", async () => {
  let given = 0;
  const load = new Load({
    cut: cuts.legacy,
    commit: () => Promise.reject(new Error("nothing is kept here")),
    compose: () => ({
      count: 0,
      takes: () => true,
      add: () => {},
      abandon: () => Promise.resolve(void given++),
      commit: () => Promise.reject(new Error("commits go another way here")),
    }),
    commitComposed: () => Promise.resolve(),
    composing: () => {},
  });
  assert.equal(await load.take(batchOf(1)), undefined);
  assert.equal(await load.take(batchOf(1)), undefined);
  await load.settled();
  assert.equal(given, 1);
  await load.finish();
  await load.settled();
  assert.equal(given, 1);
});

Deno.test("a load through a small socket has commits as large as any other's", async () => {
  const harness = new Harness({ isSocketSmall: true });
  await harness.full(snapshotOf("IPv4", servicePorts(900)));
  const sizes = harness.xtables.commits.map(({ changes }) => changes.length);
  const last = sizes.pop();
  assert.ok(last !== undefined && last > 0);
  assert.ok(sizes.length > 0 && sizes.every((size) => size >= leavesPerCommit), sizes.join());
});

Deno.test("what is refused in a load of many changes is found, and costs itself only", async () => {
  const harness = new Harness();
  const [bad, ...good] = many;
  harness.xtables.refuse((change) =>
    "chain" in change && change.chain === chainsOf(bad).cluster
      ? { refusal: "unsupported", message: "no such match" }
      : undefined
  );
  const { notices } = await harness.full(snapshotOf("IPv4", many));
  assert.deepEqual(notices.map(({ service }) => service), [bad.key]);
  assert.match(notices[0].message, /no such match/);
  const alone = new Harness();
  await alone.full(snapshotOf("IPv4", good));
  assert.equal(await harness.dump(), await alone.dump());
});

Deno.test("a load is committed in its order, one commit at a time, and ends with what was refused", async () => {
  const log: string[] = [];
  let underWay = 0;
  const noting = async (name: string) => {
    assert.equal(underWay++, 0);
    await new Promise((resolve) => setTimeout(resolve));
    underWay--;
    log.push(name);
    if (name === "kept 7") throw new Error("refused");
  };
  let count = 0;
  const load = new Load({
    cut: cuts.nft,
    commit: ({ changes }) => noting(`kept ${changes.length}`),
    compose: () => {
      count = 0;
      return {
        get count() {
          return count;
        },
        takes: (changes) => changes.every(({ kind }) => kind !== "delete-rule"),
        add: ({ length }) => count += length,
        abandon: () => Promise.resolve(),
        commit: () => Promise.reject(new Error("commits go another way here")),
      };
    },
    commitComposed: (composition, { changes }) =>
      noting(`composed ${composition.count} ${changes}`),
    composing: () => {},
  });
  assert.equal(await load.take(batchOf(leavesPerCommit - 1)), undefined);
  assert.equal(await load.take(batchOf(2)), undefined);
  assert.equal(await load.take(batchOf(3)), undefined);
  assert.equal(await load.take(batchOf(400)), undefined);
  const withHandle = batchOf(7);
  withHandle.add({ kind: "delete-rule", table: "nat", chain: "A", rule: { matches: [] } });
  assert.equal(await load.take(withHandle), undefined);
  assert.equal(await load.take(batchOf(6)), undefined);
  assert.equal(await load.finish(), undefined);
  assert.deepEqual(log, [`composed 4001 4001`, "kept 3", "composed 400 400", "kept 8", "kept 6"]);
  await load.take(batchOf(7));
  const failed = await load.take(batchOf(1)) ?? await load.finish();
  assert.equal(failed?.batch?.changes.length, 7);
  assert.equal(log.at(-1), "kept 7");
});

function batchOf(length: number): Batch {
  const batch = new Batch();
  for (let i = 0; i < length; i++) batch.add({ kind: "add-chain", table: "nat", chain: `C${i}` });
  return batch;
}
