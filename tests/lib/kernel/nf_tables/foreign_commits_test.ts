import assert from "node:assert/strict";
import { ForeignCommits } from "../../../../lib/kernel/nf_tables/foreign_commits.ts";
import { OwnCommits } from "../../../../lib/kernel/nf_tables/own_commits.ts";

/** A ruleset at generation 10, and two writers of one program that have agreed with it. */
function twoWriters() {
  const ruleset = { generation: 10 };
  const ownCommits = new OwnCommits();
  const generation = () => Promise.resolve(ruleset.generation);
  const [one, other] = [0, 1].map(() => new ForeignCommits({ generation, ownCommits }));
  for (const each of [one, other]) each.agree(10);
  const commit = (foreigners: number) => {
    const before = ruleset.generation;
    ruleset.generation += 1 + foreigners;
    return { before, after: ruleset.generation };
  };
  return { commit, one, other, ruleset };
}

const isSurelyAChange = true;

Deno.test("isMoved() is true until the generation was agreed with", async () => {
  const generation = () => Promise.resolve(3);
  const foreign = new ForeignCommits({ generation, ownCommits: new OwnCommits() });
  assert.equal(await foreign.isMoved(), true);
  foreign.agree(await foreign.generation());
  assert.equal(await foreign.isMoved(), false);
});

Deno.test("isMoved() is false for the program's own commits, of whichever writer", async () => {
  const { commit, one, other } = twoWriters();
  for (let i = 0; i < 3; i++) one.note(commit(0), { isSurelyAChange });
  other.note(commit(0), { isSurelyAChange });
  assert.deepEqual([await one.isMoved(), await other.isMoved()], [false, false]);
});

Deno.test("isMoved() is true when somebody else commits, between or beside our own", async () => {
  const between = twoWriters();
  between.ruleset.generation++;
  between.one.note(between.commit(0), { isSurelyAChange });
  assert.equal(await between.one.isMoved(), true);

  const beside = twoWriters();
  beside.one.note(beside.commit(1), { isSurelyAChange });
  assert.equal(await beside.one.isMoved(), true);
  assert.equal(await beside.other.isMoved(), true);
});

Deno.test("isMoved() is true when a commit that must change something changed nothing", async () => {
  for (const isSurelyAChange of [true, false]) {
    const { one } = twoWriters();
    one.note({ before: 10, after: 10 }, { isSurelyAChange });
    assert.equal(await one.isMoved(), isSurelyAChange);
  }
});
