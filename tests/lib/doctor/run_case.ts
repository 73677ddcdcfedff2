import type { Check, Move } from "../../../lib/doctor/check.ts";
import { type CheckResult, runChecks } from "../../../lib/doctor/run_checks.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import type { CheckCase } from "./check_cases.ts";
import { FactsInMemory } from "./facts_in_memory.ts";

const usual: Move = { from: "ipvs", fromGiven: false, to: "nftables", toProxy: "this" };

/** What the check says of the case. */
export async function runCase(check: Check, { facts, move }: CheckCase): Promise<CheckResult> {
  const [result] = await runChecks([check], {
    facts: new FactsInMemory(facts),
    move: { ...usual, ...move },
    clock: new FakeClock(),
    signal: new AbortController().signal,
  });
  return result;
}
