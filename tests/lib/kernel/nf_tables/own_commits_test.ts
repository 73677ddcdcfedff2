import assert from "node:assert/strict";
import { OwnCommits } from "../../../../lib/kernel/nf_tables/own_commits.ts";

Deno.test("follow() stops where somebody else wrote, and at what is forgotten", () => {
  const ownCommits = new OwnCommits();
  for (const before of [1, 2, 4]) ownCommits.note({ before, after: before + 1 });
  ownCommits.note({ before: 5, after: 5 });
  assert.equal(ownCommits.follow(1), 3);
  assert.equal(ownCommits.follow(4), 5);
  assert.equal(ownCommits.follow(9), 9);
  for (let before = 100; before < 10_100; before++) ownCommits.note({ before, after: before + 1 });
  assert.equal(ownCommits.follow(4), 4);
  assert.equal(ownCommits.follow(100), 10_100);
});
