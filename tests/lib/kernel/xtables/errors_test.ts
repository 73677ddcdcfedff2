import assert from "node:assert/strict";
import { describeChange, XtablesError } from "../../../../lib/kernel/xtables/errors.ts";
import type { XtChange, XtRule } from "../../../../lib/kernel/xtables/rules.ts";

const rule: XtRule = { matches: [], target: { kind: "jump", chain: "KUBE-SERVICES" } };
const place = { table: "nat", chain: "OUTPUT" } as const;

/** Each change, and how a sentence about it goes on behind "Cannot". */
const rows: readonly (readonly [XtChange, string])[] = [
  [{ kind: "add-table", table: "nat" }, 'add iptables table "nat"'],
  [{ kind: "add-chain", ...place }, 'add chain "OUTPUT" to iptables table "nat"'],
  [{ kind: "flush-chain", ...place }, 'flush chain "OUTPUT" of iptables table "nat"'],
  [{ kind: "delete-chain", ...place }, 'delete chain "OUTPUT" of iptables table "nat"'],
  [
    { kind: "append-rule", ...place, rule },
    'add rule "-j KUBE-SERVICES" to chain "OUTPUT" of iptables table "nat"',
  ],
  [
    { kind: "insert-rule", ...place, rule },
    'add rule "-j KUBE-SERVICES" to chain "OUTPUT" of iptables table "nat"',
  ],
  [
    { kind: "delete-rule", ...place, rule },
    'delete rule "-j KUBE-SERVICES" of chain "OUTPUT" of iptables table "nat"',
  ],
];

for (const [change, says] of rows) {
  Deno.test(`describeChange() of ${change.kind} says ${says}`, () => {
    assert.equal(describeChange(change, "IPv4"), says);
    assert.equal(describeChange(change, "IPv6"), says.replace("iptables", "ip6tables"));
  });
}

const changes: readonly XtChange[] = [
  { kind: "add-chain", ...place },
  { kind: "append-rule", ...place, rule },
];

function messageOf(...failed: readonly number[]): string {
  const failures = failed.map((change) => ({
    change,
    refusal: "other" as const,
    message: "no such chain",
  }));
  return new XtablesError({ family: "IPv4", changes, failures }).message;
}

Deno.test("XtablesError names the first change that was refused, and counts the others", () => {
  const one = 'Cannot add chain "OUTPUT" to iptables table "nat": no such chain';
  assert.equal(messageOf(0), one);
  assert.equal(messageOf(0, 1), `${one}; 1 more change failed`);
  assert.equal(messageOf(0, 1, 1), `${one}; 2 more changes failed`);
  assert.equal(messageOf(7), "Cannot change rules of iptables: no such chain");
});
