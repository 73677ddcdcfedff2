import assert from "node:assert/strict";
import { FakeHost } from "../../../../lib/kernel/fake_host.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { Removal, RemovalPlan, RemovalStep } from "../../../../lib/writers/leftovers.ts";
import { withCounters } from "../../../../lib/writers/iptables/counter_removal.ts";

const names = ["ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts"];
const signal = new AbortController().signal;
const chain: RemovalStep = {
  action: "delete",
  backend: "nft",
  family: "IPv4",
  kind: "chain",
  place: "table nat",
  name: "KUBE-SERVICES",
};

function counter(name: string): RemovalStep {
  const rest = { backend: "nfacct", family: "IPv4", kind: "packet counter", place: "" } as const;
  return { action: "delete", ...rest, name };
}

/** A node whose counters are those of the rules, and of others. */
function node(isModuleLoaded = true): FakeKernel {
  const host = new FakeHost({ loadedModules: isModuleLoaded ? ["nfnetlink_acct"] : [] });
  const kernel = new FakeKernel({ host });
  for (const name of [...names, "theirs"]) kernel.nfacct.ensure(name);
  return kernel;
}

function removalOf(steps: readonly RemovalStep[]): Removal {
  return withCounters({
    plan: () => Promise.resolve({ steps, kept: [], remaining: [] }),
    apply: (_, plan: RemovalPlan) => Promise.resolve({ removed: plan.steps, remaining: [] }),
  });
}

Deno.test("counters go after the chains, and others' stay", async () => {
  const kernel = node();
  const removal = removalOf([chain]);
  const plan = await removal.plan(kernel, signal);
  assert.deepEqual(plan.steps, [chain, ...names.map(counter)]);
  assert.equal(kernel.nfacct.counters.size, 3, "a plan changes nothing");
  const report = await removal.apply(kernel, plan, signal);
  assert.deepEqual(report, { removed: plan.steps, remaining: [], kept: [] });
  assert.deepEqual([...kernel.nfacct.counters.keys()], ["theirs"]);
});

Deno.test("counters that a killed cleanup left go without chains, where their module is loaded", async () => {
  const kernel = node();
  const plan = await removalOf([]).plan(kernel, signal);
  assert.deepEqual(plan.steps, names.map(counter));
  const report = await removalOf([]).apply(kernel, plan, signal);
  assert.deepEqual(report.removed, plan.steps);
  assert.deepEqual((await removalOf([]).plan(kernel, signal)).steps, []);
  assert.deepEqual((await removalOf([]).plan(node(false), signal)).steps, [], "nothing is loaded");
  assert.equal((await removalOf([chain]).plan(node(false), signal)).steps.length, 3);
});

Deno.test("a counter that a rule still counts into stays, and does not count as remaining", async () => {
  const kernel = node();
  kernel.nfacct.used.add(names[0]);
  const plan = await removalOf([]).plan(kernel, signal);
  const report = await removalOf([]).apply(kernel, plan, signal);
  const what = "packet counter ct_state_invalid_dropped_pkts";
  const kept = [{ what, reason: "a rule that is not kube-proxy's counts into it" }];
  assert.deepEqual(report, { removed: [counter(names[1])], remaining: [], kept });
});

Deno.test("a counter goes although the kernel frees the rule that counted into it a moment later", async () => {
  const kernel = node();
  kernel.nfacct.used.add(names[0]);
  const plan = await removalOf([]).plan(kernel, signal);
  setTimeout(() => kernel.nfacct.used.delete(names[0]), 5);
  const report = await removalOf([]).apply(kernel, plan, signal);
  assert.deepEqual(report.removed, [counter(names[1]), counter(names[0])]);
  assert.deepEqual(report.kept, []);
});

Deno.test("counters that cannot be removed remain, with the reason", async () => {
  const kernel = node();
  const plan = await removalOf([]).plan(kernel, signal);
  const stopped = await removalOf([]).apply(kernel, plan, AbortSignal.abort());
  assert.deepEqual(stopped.remaining[0], {
    what: "packet counter ct_state_invalid_dropped_pkts",
    reason: "stopped before it was removed",
  });
  kernel.nfacct.isMissing = true;
  const { remaining } = await removalOf([]).apply(kernel, plan, signal);
  assert.match(remaining[1].reason, /Cannot ask for counters: .*EINVAL/);
  assert.deepEqual((await removalOf([chain]).plan(kernel, signal)).steps, [chain]);
});
