import assert from "node:assert/strict";
import type { Check, Finding, Move } from "../../../lib/doctor/check.ts";
import type { Facts } from "../../../lib/doctor/fact.ts";
import { runChecks } from "../../../lib/doctor/run_checks.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { checkOf, FactsInMemory, type GivenFacts, known } from "./facts_in_memory.ts";

const move: Move = { from: "ipvs", fromGiven: false, to: "nftables", toProxy: "this" };
const found = known({ mode: "ipvs", isRunning: false, where: "here" } as const);

async function run(check: Check, setup: {
  readonly facts?: GivenFacts;
  readonly move?: Partial<Move>;
} = {}) {
  const [result] = await runChecks([check], {
    facts: new FactsInMemory(setup.facts),
    move: { ...move, ...setup.move },
    clock: new FakeClock(),
    signal: new AbortController().signal,
  });
  const { check: _, ...rest } = result;
  return rest;
}

const nothing = { subject: "", evidence: [], advice: [], unfixable: false };
const finding = (level: Finding["level"], rest: Partial<Finding> = {}): Finding => ({
  level,
  subject: `${level} place`,
  evidence: [`${level} seen`],
  advice: [],
  ...rest,
});

Deno.test("a check that finds nothing passes", async () => {
  assert.deepEqual(await run(checkOf({ id: "A01" })), { ...nothing, result: "pass" });
});

Deno.test("a check is given what it needs and what it wants", async () => {
  const check = checkOf({
    id: "A01",
    needs: ["foundMode"],
    wants: ["serviceRanges"],
    judge: ({ facts, move, tried }) => [
      finding("warn", {
        evidence: [`${facts.foundMode?.mode} ${tried.serviceRanges.kind} ${move.toProxy}`],
      }),
    ],
  });
  const { evidence, result } = await run(check, { facts: { foundMode: found } });
  assert.deepEqual([result, evidence], ["warn", ["ipvs lacking this"]]);
  const absent = { kind: "absent", because: "nothing is here" } as const;
  const without = await run(check, { facts: { foundMode: absent } });
  assert.deepEqual(without.evidence, ["undefined lacking this"]);
});

Deno.test("a check whose facts are not known is not asked", async () => {
  const check = checkOf({
    id: "A01",
    needs: ["foundMode"],
    judge: () => {
      throw new Error("was asked");
    },
  });
  assert.deepEqual(await run(check), { ...nothing, result: "skip", evidence: ["no foundMode"] });
  const because = "line 3 is garbage";
  const foundMode = { kind: "unknown", because, advice: ["mount it"] } as const;
  assert.deepEqual(await run(check, { facts: { foundMode } }), {
    ...nothing,
    result: "unknown",
    evidence: [because],
    advice: ["mount it"],
  });
});

const worst: readonly {
  readonly levels: readonly Finding["level"][];
  readonly result: string;
  readonly told: readonly string[];
}[] = [
  { levels: ["pass"], result: "pass", told: ["pass seen"] },
  { levels: ["pass", "warn"], result: "warn", told: ["warn seen", "pass seen"] },
  { levels: ["warn", "untold"], result: "unknown", told: ["untold seen", "warn seen"] },
  { levels: ["untold", "fail"], result: "fail", told: ["fail seen", "untold seen"] },
];

for (const { levels, result, told } of worst) {
  Deno.test(`of ${levels.join(" and ")} the result is ${result}`, async () => {
    const ran = await run(checkOf({ id: "A01", judge: () => levels.map((each) => finding(each)) }));
    assert.deepEqual([ran.result, ran.evidence], [result, told]);
    const places = told.filter((each) => result === "pass" || !each.startsWith("pass"))
      .map((each) => each.replace("seen", "place"));
    assert.equal(ran.subject, places.join("; "));
  });
}

Deno.test("the same advice and place are told once; only a fail can be beyond mending", async () => {
  const twice = [finding("warn", { advice: ["do it"] }), finding("warn", { advice: ["do it"] })];
  const warned = await run(checkOf({ id: "A01", judge: () => twice }));
  assert.deepEqual([warned.advice, warned.subject], [["do it"], "warn place"]);
  assert.equal(warned.unfixable, false);
  const failed = [finding("fail"), finding("fail", { unfixable: true })];
  assert.equal((await run(checkOf({ id: "A01", judge: () => failed }))).unfixable, true);
});

Deno.test("a check that throws is unknown, with the error", async () => {
  const check = checkOf({
    id: "A01",
    judge: () => {
      throw new TypeError("x is undefined");
    },
  });
  assert.deepEqual(await run(check), {
    ...nothing,
    result: "unknown",
    evidence: ["x is undefined"],
  });
});

const elsewhere: readonly {
  readonly where: Check["where"];
  readonly move: Partial<Move>;
  readonly note: string | undefined;
}[] = [
  { where: { from: ["ipvs"] }, move: { from: "iptables" }, note: "only from ipvs" },
  { where: { from: ["ipvs"] }, move: { from: "ipvs" }, note: undefined },
  { where: { from: ["ipvs"] }, move: { from: undefined }, note: undefined },
  { where: { toProxy: "upstream" }, move: {}, note: "only to stock kube-proxy" },
  { where: { toProxy: "upstream" }, move: { toProxy: "upstream" }, note: undefined },
  { where: { toProxy: "this" }, move: { toProxy: "upstream" }, note: "only to this program" },
  { where: { fromGiven: true }, move: {}, note: "only with --from" },
  { where: { fromGiven: true }, move: { fromGiven: true }, note: undefined },
];

for (const { move: rest, note, where = {} } of elsewhere) {
  const name = `${JSON.stringify(where)} for ${JSON.stringify(rest)}`;
  Deno.test(`${name}: ${note ?? "it applies"}`, async () => {
    const check = checkOf({ id: "A01", where, judge: () => [finding("fail")] });
    const ran = await run(check, { move: rest });
    assert.equal(ran.result, note === undefined ? "fail" : "pass");
    if (note !== undefined) assert.deepEqual(ran.evidence, [`Does not apply: ${note}`]);
  });
}

Deno.test("checks run side by side, and one that hangs ends after its time", async () => {
  const clock = new FakeClock();
  const facts: Facts = { read: () => new Promise(() => {}) };
  const hanging = (id: string, timeoutMs?: number) =>
    checkOf({ id, needs: ["foundMode"], ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  const running = runChecks([hanging("A01"), hanging("A02", 60_000), checkOf({ id: "A03" })], {
    facts,
    move,
    clock,
    signal: new AbortController().signal,
  });
  await clock.advance(60_000);
  assert.deepEqual(
    (await running).map(({ check, evidence, result }) => [check.id, result, ...evidence]),
    [["A01", "unknown", "no answer in 32 s"], ["A02", "unknown", "no answer in 60 s"], [
      "A03",
      "pass",
    ]],
  );
  assert.equal(clock.sleepers, 0);
});

Deno.test("stopping ends all checks", async () => {
  const stop = new AbortController();
  const facts: Facts = { read: () => new Promise(() => {}) };
  const running = runChecks([checkOf({ id: "A01", needs: ["foundMode"] })], {
    facts,
    move,
    clock: new FakeClock(),
    signal: stop.signal,
  });
  stop.abort();
  assert.deepEqual((await running).map(({ evidence }) => evidence), [["stopped before it ended"]]);
});
