import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { CulpritSearch, type OwnedBatch } from "../../../../lib/kernel/nf_tables/culprit_search.ts";
import type { BatchFailure } from "../../../../lib/kernel/nf_tables/errors.ts";

const items = (...keys: string[]) => keys.map((key) => ({ key }));

/** A batch whose first operation belongs to nobody and whose others to the keys, in order. */
function batchOf(...owners: readonly string[]): OwnedBatch {
  return { owners, ownerOf: ({ operation }) => owners[operation - 1] };
}

function failure(operation: number, errno: number): BatchFailure {
  return { operation, errno, message: `errno ${errno}` };
}

const keysOf = (search: CulpritSearch<{ readonly key: string }>) =>
  search.groups.map((group) => group.map(({ key }) => key));

Deno.test("an item that the kernel names is skipped when it is refused again", () => {
  const search = new CulpritSearch([items("a", "b"), items("c")]);
  const batch = batchOf("a", "b");
  assert.equal(search.learn(batch, [failure(2, Errno.EINVAL)]), true);
  assert.deepEqual(keysOf(search), [["a", "b"], ["c"]]);
  assert.equal(search.learn(batch, [failure(2, Errno.EINVAL)]), true);
  assert.deepEqual(keysOf(search), [["a"], ["c"]]);
  assert.deepEqual([...search.skipped], [["b", `errno ${Errno.EINVAL}`]]);
});

Deno.test("what is missing only because something before was refused is nobody's fault", () => {
  const search = new CulpritSearch([items("a", "b")]);
  const failures = [failure(1, Errno.ENOENT), failure(2, Errno.EINVAL)];
  for (let i = 0; i < 2; i++) search.learn(batchOf("a", "b"), failures);
  assert.deepEqual([...search.skipped.keys()], ["b"]);
});

Deno.test("where all that was refused is missing, the first may be the cause of the rest", () => {
  const search = new CulpritSearch([items("a", "b", "c")]);
  const failures = [failure(1, Errno.ENOENT), failure(2, Errno.ENOENT)];
  for (let i = 0; i < 2; i++) search.learn(batchOf("a", "b", "c"), failures);
  assert.equal(search.skipped.size, 1);
});

Deno.test("a refusal that names nobody halves the groups of that batch until one item is left", () => {
  const search = new CulpritSearch([items("a", "b", "c"), items("d", "e")]);
  const unnamed = [failure(0, Errno.EINVAL)];
  search.learn(batchOf("a", "b", "c"), unnamed);
  assert.deepEqual(keysOf(search), [["a"], ["b", "c"], ["d", "e"]]);
  for (let i = 0; i < 2; i++) search.learn(batchOf("a"), unnamed);
  assert.deepEqual(keysOf(search), [["b", "c"], ["d", "e"]]);
});

Deno.test("what is too much for the socket halves all groups", () => {
  const search = new CulpritSearch([items("a", "b"), items("c", "d")]);
  assert.equal(search.learn(batchOf("a", "b"), [failure(-1, Errno.EMSGSIZE)]), true);
  assert.deepEqual(keysOf(search), [["a"], ["b"], ["c"], ["d"]]);
});

Deno.test("a refusal of nobody's batch is believed the third time, missing rights at once", () => {
  const search = new CulpritSearch([items("a")]);
  const refusals = [1, 2, 3].map(() => search.learn(batchOf(), [failure(0, Errno.EBUSY)]));
  assert.deepEqual(refusals, [true, true, false]);
  const other = new CulpritSearch([items("a")]);
  assert.equal(other.learn(batchOf("a"), [failure(-1, Errno.EPERM)]), false);
});

Deno.test("the search ends, whatever is refused", () => {
  const search = new CulpritSearch([Array.from({ length: 200 }, (_, i) => ({ key: `${i}` }))]);
  let attempts = 1;
  while (search.learn(batchOf(`${attempts}`), [failure(1, Errno.EINVAL)])) attempts++;
  assert.equal(attempts, 64);
});
