import assert from "node:assert/strict";
import type { RemovalPlan, RemovalStep } from "../../../lib/writers/leftovers.ts";
import { outcomesJson, outcomeText, planText } from "../../../cmd/cleanup/report.ts";

function chains(count: number, place: string): RemovalStep[] {
  return Array.from({ length: count }, (_, index) => ({
    action: "delete" as const,
    backend: "nft",
    family: "IPv4" as const,
    kind: "chain",
    place,
    name: `KUBE-SVC-${index}`,
  }));
}

const plan: RemovalPlan = {
  steps: [...chains(1200, "table nat"), ...chains(1, "table filter")],
  kept: [{ what: "chain KUBE-MARK-MASQ", reason: "shared" }],
  remaining: [{ what: "legacy", reason: "no tool" }],
};

Deno.test("planText() counts many of a kind in one place and names few", () => {
  assert.equal(
    planText("iptables", plan, { dryRun: false, each: false }),
    "iptables mode: 1,201 things to remove\n" +
      "  delete 1,200 chains of table nat (nft, IPv4)\n" +
      "  delete chain KUBE-SVC-0 of table filter (nft, IPv4)\n" +
      "  keep chain KUBE-MARK-MASQ: shared\n",
  );
  const each = planText("iptables", plan, { dryRun: true, each: true }).split("\n");
  assert.equal(each.length, 1 + 1201 + 1 + 1);
  assert.equal(each[0], "iptables mode: 1,201 things would be removed");
});

Deno.test("outcomeText() says what was removed and what remains", () => {
  const { remaining, steps: removed } = plan;
  const outcome = { mode: "iptables", plan, report: { removed, remaining } };
  assert.equal(
    outcomeText(outcome, { dryRun: false }),
    "iptables mode: removed 1,201 things\niptables mode: legacy remains: no tool\n",
  );
  assert.equal(
    outcomeText({ ...outcome, report: { removed: [], remaining } }, { dryRun: true }),
    "iptables mode: nothing was changed (dry run)\niptables mode: legacy remains: no tool\n",
  );
});

Deno.test("what was planned and turned out to be needed is said to be kept", () => {
  const kept = [{ what: "packet counter x", reason: "a rule counts into it" }];
  const report = { removed: plan.steps, remaining: [], kept };
  const outcome = { mode: "iptables", plan: { ...plan, remaining: [] }, report };
  assert.equal(
    outcomeText(outcome, { dryRun: false }),
    "iptables mode: removed 1,201 things\n" +
      "iptables mode: kept packet counter x: a rule counts into it\n",
  );
  assert.deepEqual(JSON.parse(outcomesJson([outcome], false)).modes[0].kept, [
    { what: "chain KUBE-MARK-MASQ", reason: "shared" },
    ...kept,
  ]);
});
