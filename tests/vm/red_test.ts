/** Whatever goes wrong in a guest is red outside, for each of the ways it can. */
import assert from "node:assert/strict";
import { Drive } from "./drive.ts";
import { provideTools, runGuest } from "./guest.ts";
import { complaintOf, type Verdict } from "./verdict.ts";

const red = (name: string) => `tests/vm/red/${name}.ts`;

Deno.test("a guest test that fails, hangs or panics is red, with what was seen", async () => {
  const tools = await provideTools();
  await using drive = await Drive.create();
  const run = (names: readonly string[], limitSeconds: number) =>
    runGuest({ tools, drive, kernel: "6.12", tests: names.map(red), limitSeconds });

  // All at once: the one that hangs needs no processor.
  const [failing, panicking, hanging] = await Promise.all([
    run(["passes", "fails"], 240),
    run(["passes", "panics"], 240),
    run(["hangs", "passes"], 45),
  ]);
  assert.equal(describe(failing.get(red("passes"))), "passed");
  assert.match(describe(failing.get(red("fails"))), /exit code 1:[^]*what a guest test saw/);
  assert.equal(describe(panicking.get(red("passes"))), "passed");
  assert.match(describe(panicking.get(red("panics"))), /its kernel may have panicked/);
  assert.match(describe(panicking.get(red("panics"))), /Kernel panic - not syncing: sysrq/);

  assert.match(describe(hanging.get(red("hangs"))), /stopped after 45 s/);
  assert.match(describe(hanging.get(red("passes"))), /stopped after 45 s/);
});

function describe(verdict: Verdict | undefined): string {
  assert.ok(verdict);
  return complaintOf(verdict) ?? "passed";
}
