import assert from "node:assert/strict";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import type { XtChange } from "../../../lib/kernel/xtables/rules.ts";

const set = { name: "KUBE-CLUSTER-IP", type: "hash:ip,port", family: "IPv4" } as const;
const other = { ...set, name: "KUBE-LOOP-BACK" } as const;
const rule = {
  matches: [{ kind: "set", name: set.name, sides: ["dst", "dst"] }],
  target: { kind: "accept" },
} as const;
const place = { table: "nat", chain: "OUTPUT" } as const;
const changes: readonly XtChange[] = [
  { kind: "add-table", table: "nat" },
  { kind: "append-rule", ...place, rule },
];

for (const backend of ["nft", "legacy"] as const) {
  Deno.test(`rules of the fake pin the sets that they look into, ${backend}`, async () => {
    const kernel = new FakeKernel();
    const xtables = await kernel.xtables(backend);
    await assert.rejects(xtables.commit("IPv4", changes), {
      name: "XtablesError",
      message: /No set "KUBE-CLUSTER-IP"/,
    });
    await kernel.ipset.commit([set, other].map((each) => ({ kind: "create", set: each })));
    await xtables.commit("IPv4", changes);
    const destroy = [set, other].map(({ name }) => ({ kind: "destroy", name }) as const);
    const failures = await kernel.ipset.commit(destroy);
    assert.deepEqual(failures.map(({ change, refusal }) => [change, refusal]), [[0, "busy"]]);
    await xtables.commit("IPv4", [{ kind: "delete-rule", ...place, rule }]);
    assert.deepEqual(await kernel.ipset.commit(destroy), []);
  });
}
