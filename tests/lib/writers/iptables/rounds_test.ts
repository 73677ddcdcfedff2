import assert from "node:assert/strict";
import { FakeXtables } from "../../../../lib/kernel/xtables/fake.ts";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtRules } from "../../../../lib/kernel/xtables/xtables.ts";
import type { ServicePortKey } from "../../../../lib/snapshot/snapshot.ts";
import { Applied } from "../../../../lib/writers/iptables/applied.ts";
import { FullPlan } from "../../../../lib/writers/iptables/full_plan.ts";
import { Rounds } from "../../../../lib/writers/iptables/rounds.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { contextOf } from "./samples.ts";

const comment = (text: string) => ({ matches: [{ kind: "comment", text }] }) as const;
const chains = Array.from({ length: 3_000 }, (_, i) => `KUBE-SEP-${i}`);

/** Stale chains that stay empty, since they are the simplest to have many of. */
const applied = new Applied({
  context: contextOf("IPv4"),
  services: new Map(),
  owners: new Map<string, ServicePortKey>(),
  counts: new Map(),
  kept: new Set(chains),
});

class Harness {
  readonly clock = new FakeClock();
  readonly xtables = new FakeXtables({ hasCounter: () => true });
  readonly rounds = new Rounds({ clock: this.clock });
  readonly stop = new AbortController();
  readonly live: XtRules;
  /** What each question for chains takes. */
  questionMs = 0;
  /** Chains that were compared. */
  readonly asked: string[] = [];
  onQuestion: () => void = () => undefined;

  constructor() {
    const rules = this.xtables.live?.("IPv4");
    assert.ok(rules);
    this.live = {
      rules: rules.rules,
      differing: (...[table, wanted]: Parameters<typeof rules.differing>) => {
        this.asked.push(...wanted.keys());
        this.clock.pass(this.questionMs);
        this.onQuestion();
        return rules.differing(table, wanted);
      },
    };
  }

  /** What is right, with the stale chains. */
  async fill(): Promise<this> {
    const nothing = await this.xtables.read("IPv4", []);
    const plan = new FullPlan({ context: applied.context, services: [] }, nothing, {
      leavesPerBatch: Infinity,
    });
    for await (const { changes } of plan.batches()) this.xtables.edit("IPv4", changes);
    this.xtables.edit(
      "IPv4",
      chains.map((chain): XtChange => ({ kind: "add-chain", table: "nat", chain })),
    );
    return this;
  }

  edit(change: XtChange): void {
    this.xtables.edit("IPv4", [change]);
  }

  look(): Promise<boolean> {
    const { live, stop: { signal } } = this;
    return this.rounds.isDifferent(applied, { live, signal });
  }

  /** Every two seconds; answers the seconds until something was found, or undefined. */
  async lookFor(seconds: number): Promise<number | undefined> {
    const started = this.clock.monotonic();
    for (;;) {
      if (await this.look()) return (this.clock.monotonic() - started) / 1_000;
      this.clock.pass(2_000);
      if (this.clock.monotonic() - started >= seconds * 1_000) return undefined;
    }
  }
}

/** Puts something into a chain that is to be empty. */
const intrusion = (chain: string): XtChange => ({
  kind: "append-rule",
  table: "nat",
  chain,
  rule: comment("intruder"),
});

Deno.test("rounds look at nothing unless something was lost, and then once at each chain, a few at a time", async () => {
  const harness = await new Harness().fill();
  assert.equal(await harness.lookFor(60), undefined);
  assert.equal(harness.asked.length, 0);
  harness.rounds.lost();
  await harness.look();
  const first = harness.asked.length;
  assert.ok(first >= chains.length / 12 && first <= chains.length / 6, String(first));
  assert.equal(harness.rounds.takeFinished(), false);
  assert.equal(await harness.lookFor(60), undefined);
  assert.deepEqual(new Set(chains).difference(new Set(harness.asked)), new Set());
  assert.equal(harness.asked.length, new Set(harness.asked).size);
  assert.equal(harness.rounds.takeFinished(), true);
  assert.equal(harness.rounds.takeFinished(), false, "told once");
});

Deno.test("a round finds it in any chain", async () => {
  for (const chain of [chains[0], chains[1_500], chains[2_999]]) {
    const harness = await new Harness().fill();
    harness.edit(intrusion(chain));
    harness.rounds.lost();
    assert.ok(await harness.lookFor(60) !== undefined);
    assert.equal(harness.rounds.takeFinished(), false);
  }
});

Deno.test("what is lost during a round is looked at in one more", async () => {
  const harness = await new Harness().fill();
  harness.rounds.lost();
  await harness.look();
  // Chains are looked at from the last to the first.
  harness.edit(intrusion(chains[2_999]));
  harness.rounds.lost();
  assert.ok(await harness.lookFor(90) !== undefined);
  const other = await new Harness().fill();
  other.rounds.lost();
  await other.look();
  other.rounds.agree();
  const asked = other.asked.length;
  assert.equal(await other.lookFor(60), undefined);
  assert.equal(other.asked.length, asked, "a comparison of everything ends it");
});

Deno.test("a round takes a small share of the time, and a minute at most", async () => {
  for (const [questionMs, mostSeconds] of [[0, 30], [20, 45], [500, 60]] as const) {
    const harness = await new Harness().fill();
    harness.questionMs = questionMs;
    harness.edit(intrusion(chains[0]));
    harness.rounds.lost();
    const seconds = await harness.lookFor(120);
    assert.ok(seconds !== undefined && seconds <= mostSeconds, `${questionMs} ms: ${seconds} s`);
    assert.ok(seconds > 20, "not all at once");
  }
});

Deno.test("a look makes room for whoever wants to write, and goes on behind that", async () => {
  const harness = await new Harness().fill();
  harness.rounds.lost();
  harness.onQuestion = () => harness.stop.abort();
  await harness.look();
  const asked = harness.asked.length;
  assert.ok(asked < chains.length / 6, String(asked));
  harness.clock.pass(10_000);
  await harness.look();
  assert.equal(harness.asked.length, asked);
  assert.equal(harness.rounds.takeFinished(), false);
});

Deno.test("what was lost before all was agreed with needs no round", async () => {
  const harness = await new Harness().fill();
  harness.rounds.lost();
  harness.rounds.agree();
  assert.equal(await harness.lookFor(60), undefined);
  assert.equal(harness.asked.length, 0);
});
