import assert from "node:assert/strict";
import { FakeXtables } from "../../../../lib/kernel/xtables/fake.ts";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import type { ServicePortKey } from "../../../../lib/snapshot/snapshot.ts";
import { Applied } from "../../../../lib/writers/iptables/applied.ts";
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
  readonly rounds: Rounds;
  readonly stop = new AbortController();
  isUnmoved = true;
  /** What each question for chains took, and how many were asked for. */
  questionMs = 0;
  asked = 0;
  /** Chains whose rules were read. */
  readonly read: string[] = [];
  onQuestion: () => void = () => undefined;

  constructor() {
    const live = this.xtables.live!;
    const watched = {
      backend: "nft" as const,
      stamp: () => this.xtables.stamp(),
      read: this.xtables.read.bind(this.xtables),
      commit: this.xtables.commit.bind(this.xtables),
      live: (family: "IPv4" | "IPv6") => {
        const rules = live(family);
        return {
          rules: rules.rules,
          digests: (...[table, names]: Parameters<typeof rules.digests>) => {
            this.asked += names.length;
            this.clock.pass(this.questionMs);
            this.onQuestion();
            return rules.digests(table, names);
          },
          differing: (...[table, wanted]: Parameters<typeof rules.differing>) => {
            this.read.push(...wanted.keys());
            return rules.differing(table, wanted);
          },
        };
      },
    };
    this.rounds = new Rounds({ family: "IPv4", xtables: watched, clock: this.clock });
    this.xtables.edit("IPv4", [
      { kind: "add-table", table: "nat" },
      ...chains.map((chain): XtChange => ({ kind: "add-chain", table: "nat", chain })),
    ]);
  }

  edit(change: XtChange): void {
    this.xtables.edit("IPv4", [change]);
  }

  look(): Promise<boolean> {
    const options = { signal: this.stop.signal, isUnmoved: () => Promise.resolve(this.isUnmoved) };
    return this.rounds.isDifferent(applied, options);
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

/** One that has learnt what there is. */
async function learnt(): Promise<Harness> {
  const harness = new Harness();
  assert.equal(await harness.lookFor(60), undefined);
  assert.deepEqual(harness.read, [], "nothing is read to learn it");
  harness.asked = 0;
  return harness;
}

Deno.test("rounds learn each chain once, a few at a time, and rest while nobody writes", async () => {
  const harness = new Harness();
  await harness.look();
  const first = harness.asked;
  assert.ok(first >= chains.length / 12 && first <= chains.length / 6, String(first));
  assert.equal(await harness.lookFor(60), undefined);
  const all = harness.asked;
  assert.ok(all >= chains.length && all < chains.length + 50, String(all));
  assert.equal(await harness.lookFor(60), undefined);
  assert.equal(harness.asked, all);
  harness.rounds.changed("nat KUBE-SEP-7");
  assert.equal(await harness.lookFor(60), undefined);
  assert.equal(harness.asked, all + 1, "what we wrote is learnt again");
});

Deno.test("a round reads what is not known alone, and finds it in any chain", async () => {
  for (const chain of [chains[0], chains[1_500], chains[2_999]]) {
    const harness = await learnt();
    harness.edit(intrusion(chain));
    harness.rounds.moved();
    assert.ok(await harness.lookFor(60) !== undefined);
    assert.deepEqual(harness.read, [chain]);
  }
});

Deno.test("what moves during a round is looked at in one more", async () => {
  const harness = await learnt();
  harness.rounds.moved();
  await harness.look();
  // Chains are looked at from the last to the first.
  harness.edit(intrusion(chains[2_999]));
  harness.rounds.moved();
  assert.ok(await harness.lookFor(60) !== undefined);
  const other = await learnt();
  other.rounds.moved();
  assert.equal(await other.lookFor(60), undefined);
  const once = other.asked;
  assert.equal(await other.lookFor(60), undefined);
  assert.equal(other.asked, once, "and in none where nothing did");
});

Deno.test("nothing is learnt while others write: then rules are read", async () => {
  const harness = new Harness();
  harness.isUnmoved = false;
  harness.edit(intrusion(chains[2_999]));
  assert.equal(await harness.look(), false);
  harness.rounds.moved();
  // The shared chains, which are missing here and last in a round, would be found later.
  assert.equal(await harness.lookFor(60), 0);
  const late = await learnt();
  for (const chain of chains) late.rounds.changed(`nat ${chain}`);
  await late.look();
  late.edit(intrusion(chains[0]));
  late.rounds.moved();
  assert.ok(await late.lookFor(120) !== undefined, "others wrote while it learnt");
});

Deno.test("a round takes a small share of the time, and a minute at most where nothing is read", async () => {
  for (const [questionMs, mostSeconds] of [[0, 30], [20, 45], [500, 60]] as const) {
    const harness = await learnt();
    harness.questionMs = questionMs;
    harness.edit(intrusion(chains[0]));
    harness.rounds.moved();
    const seconds = await harness.lookFor(120);
    assert.ok(seconds !== undefined && seconds <= mostSeconds, `${questionMs} ms: ${seconds} s`);
    assert.ok(seconds > 20, "not all at once");
  }
  const reading = new Harness();
  reading.questionMs = 500;
  reading.rounds.moved();
  await reading.look();
  const { asked } = reading;
  assert.equal(await reading.lookFor(20), undefined);
  assert.equal(reading.asked, asked, "reading goes on later");
});

Deno.test("a look makes room for whoever wants to write, and goes on behind that", async () => {
  const harness = await learnt();
  harness.rounds.moved();
  harness.edit(intrusion(chains[0]));
  harness.onQuestion = () => harness.stop.abort();
  await harness.look();
  assert.equal(harness.asked, 200);
  harness.clock.pass(10_000);
  await harness.look();
  assert.equal(harness.asked, 200);
});

Deno.test("what agrees stays known; a comparison reads what is not known, or wanted otherwise", async () => {
  const harness = await learnt();
  harness.rounds.agree();
  assert.equal(await harness.lookFor(60), undefined);
  assert.equal(harness.asked, 0);
  harness.edit(intrusion(chains[5]));
  const reading = await harness.xtables.read("IPv4", ["nat"]);
  const read: string[] = [];
  const watched = {
    ...reading,
    differing: (...[table, wanted]: Parameters<typeof reading.differing>) => {
      read.push(...wanted.keys());
      return reading.differing(table, wanted);
    },
  };
  const wanted = new Map(chains.slice(0, 10).map((chain) => [chain, []]));
  const over = harness.rounds.over(watched, (chain) => chain !== chains[7]);
  assert.deepEqual(await over.differing("nat", wanted), [chains[5]]);
  assert.deepEqual(read, [chains[5], chains[7]]);
});
