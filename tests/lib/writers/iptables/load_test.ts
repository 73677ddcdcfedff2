/** Loads of many changes, which nobody keeps until their commit. */
import assert from "node:assert/strict";
import { chainsOf } from "../../../../lib/writers/iptables/names.ts";
import { leavesPerCommit, Load } from "../../../../lib/writers/iptables/load.ts";
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
    commit: ({ changes }) => noting(`kept ${changes.length}`),
    compose: () => {
      count = 0;
      return {
        get count() {
          return count;
        },
        add: ({ length }) => count += length,
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
