import assert from "node:assert/strict";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { applyOomScore } from "../../../lib/kernel/oom_score.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";

const rows: readonly { name: string; refusals: number; score: number; said: number }[] = [
  { name: "sets the score", refusals: 0, score: -999, said: 0 },
  { name: "tries a second time", refusals: 1, score: -999, said: 0 },
  { name: "gives up after two tries, with a word at verbosity 2", refusals: 9, score: 0, said: 1 },
];

for (const { name, refusals, said, score } of rows) {
  Deno.test(`applyOomScore() ${name}`, async () => {
    const self = new FakeSelf({ oomScoreRefusals: refusals });
    const clock = new FakeClock();
    const logger = new FakeLogger();
    const done = applyOomScore(-999, { self, clock, logger });
    await clock.advance(100);
    await done;
    assert.equal(self.oomScoreAdj, score);
    assert.equal(logger.lines.filter((line) => line.startsWith("v2 ")).length, said);
  });
}
