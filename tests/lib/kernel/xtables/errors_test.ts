import assert from "node:assert/strict";
import { describeChange } from "../../../../lib/kernel/xtables/errors.ts";
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
