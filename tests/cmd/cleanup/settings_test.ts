import assert from "node:assert/strict";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import type { ModeLeftovers, RemovalReport, RemovalStep } from "../../../lib/writers/leftovers.ts";
import { removalWithSettings } from "../../../cmd/cleanup/settings.ts";

const setting = "net/ipv4/conf/all/route_localnet";
const chain: RemovalStep = {
  action: "delete",
  backend: "nft",
  family: "IPv4",
  kind: "chain",
  place: "table nat",
  name: "KUBE-SERVICES",
};
const back: RemovalStep = {
  action: "set",
  backend: "kernel",
  family: "IPv4",
  kind: "sysctl",
  place: "",
  name: "net.ipv4.conf.all.route_localnet=0",
};
const recorded = [{ setting, before: "0", after: "1" }];
const signal = new AbortController().signal;

function door(steps: readonly RemovalStep[], user?: string): ModeLeftovers {
  return {
    find: () => Promise.resolve([]),
    settings: [{ setting, family: "IPv4", value: "1", usual: "0", neededBy: () => user }],
    removal: {
      plan: () => Promise.resolve({ steps, kept: [], remaining: [] }),
      apply: (_, plan) => Promise.resolve({ removed: plan.steps, remaining: [] }),
    },
  };
}

interface Case {
  readonly what: string;
  readonly now?: string;
  readonly known?: typeof recorded;
  readonly needed?: string;
  readonly user?: string;
  readonly steps?: readonly RemovalStep[];
  readonly planned: readonly RemovalStep[];
  readonly kept?: RegExp;
  readonly remark?: RegExp;
}

const cases: readonly Case[] = [
  { what: "as the mode set it", now: "1", known: recorded, planned: [back] },
  { what: "as it was before", now: "0", known: recorded, planned: [] },
  {
    what: "as somebody else set it since then",
    now: "2",
    known: recorded,
    planned: [],
    kept:
      /^sysctl net\.ipv4\.conf\.all\.route_localnet=2: m mode set it to 1, and somebody else to 2 since then$/,
  },
  {
    what: "needed by who runs here",
    now: "1",
    known: recorded,
    needed: "x mode, which runs here, needs it",
    planned: [],
    kept: /route_localnet=1: x mode, which runs here, needs it$/,
  },
  {
    what: "needed by what others have",
    now: "1",
    known: recorded,
    user: "somebody lives by it",
    planned: [],
    kept: /route_localnet=1: somebody lives by it$/,
  },
  { what: "of no kernel here", known: recorded, planned: [] },
  {
    what: "set, and nobody wrote down by whom, beside rules",
    now: "1",
    steps: [chain],
    planned: [chain],
    remark: /^net\.ipv4\.conf\.all\.route_localnet stays 1, as m mode sets it: .*route_localnet=0"/,
  },
  { what: "set, and nobody wrote down by whom, without rules", now: "1", planned: [] },
  { what: "not set, beside rules", now: "0", steps: [chain], planned: [chain] },
];

for (const { kept, known = [], needed, now, planned, remark, steps = [], user, what } of cases) {
  Deno.test(`a setting that is ${what} is planned as it should be`, async () => {
    const sysctl = new FakeSysctl(now === undefined ? {} : { [setting]: now });
    const kernel = new FakeKernel({ sysctl });
    const knowledge = { recorded: known, neededFor: () => needed, onPutBack: () => assert.fail() };
    const plan = await removalWithSettings(door(steps, user), { mode: "m", knowledge })
      .plan(kernel, signal);
    assert.deepEqual(plan.steps, planned);
    assert.deepEqual(plan.kept.length, kept ? 1 : 0);
    for (const { reason, what } of plan.kept) assert.match(`${what}: ${reason}`, kept ?? /^$/);
    assert.deepEqual(plan.remarks?.length, remark ? 1 : 0);
    for (const each of plan.remarks ?? []) assert.match(each, remark ?? /^$/);
  });
}

async function apply(sysctl: FakeSysctl, signal: AbortSignal, change = () => {}): Promise<Applied> {
  const kernel = new FakeKernel({ sysctl });
  const forgotten: string[] = [];
  const knowledge = {
    recorded,
    neededFor: () => undefined,
    onPutBack: (settings: readonly string[]) => forgotten.push(...settings),
  };
  const removal = removalWithSettings(door([chain]), { mode: "m", knowledge });
  const plan = await removal.plan(kernel, new AbortController().signal);
  change();
  return { forgotten, report: await removal.apply(kernel, plan, signal) };
}

interface Applied {
  readonly forgotten: readonly string[];
  readonly report: RemovalReport;
}

Deno.test("a setting goes back after the rules, and is no longer on record", async () => {
  const sysctl = new FakeSysctl({ [setting]: "1" });
  const { forgotten, report } = await apply(sysctl, signal);
  assert.deepEqual(report, { removed: [chain, back], remaining: [] });
  assert.equal(sysctl.read(setting), "0");
  assert.deepEqual(forgotten, [setting]);
});

Deno.test("a setting that cannot go back remains, and stays on record", async () => {
  const sysctl = new FakeSysctl({ [setting]: "1" });
  sysctl.failWrites(setting, "read-only");
  const { forgotten, report } = await apply(sysctl, signal);
  assert.deepEqual(report.removed, [chain]);
  assert.match(report.remaining[0].reason, /read-only/);
  assert.deepEqual(forgotten, []);
});

Deno.test("a setting that somebody changed after it was read is not touched", async () => {
  const sysctl = new FakeSysctl({ [setting]: "1" });
  const { forgotten, report } = await apply(sysctl, signal, () => sysctl.write(setting, "2"));
  assert.deepEqual([report.removed, report.remaining], [[chain], []]);
  assert.equal(sysctl.read(setting), "2");
  assert.deepEqual(forgotten, []);
});

Deno.test("a setting that was not to go back when it was planned stays, whatever it is by then", async () => {
  const sysctl = new FakeSysctl({ [setting]: "2" });
  const { forgotten, report } = await apply(sysctl, signal, () => sysctl.write(setting, "1"));
  assert.deepEqual(report, { removed: [chain], remaining: [] });
  assert.deepEqual([sysctl.read(setting), forgotten], ["1", []]);
});

Deno.test("a setting stays where the cleanup is stopped before it", async () => {
  const sysctl = new FakeSysctl({ [setting]: "1" });
  const { report } = await apply(sysctl, AbortSignal.abort());
  assert.deepEqual(report.remaining, [{
    what: "sysctl net.ipv4.conf.all.route_localnet",
    reason: "stopped before it was put back",
  }]);
  assert.equal(sysctl.read(setting), "1");
});

Deno.test("what the removal of the rules kept is told", async () => {
  const kernel = new FakeKernel({ sysctl: new FakeSysctl({ [setting]: "1" }) });
  const kept = [{ what: "packet counter x", reason: "a rule counts into it" }];
  const { removal: rules, ...rest } = door([chain]);
  const apply = async (...args: Parameters<typeof rules.apply>) => ({
    ...await rules.apply(...args),
    kept,
  });
  const knowledge = { recorded, neededFor: () => undefined, onPutBack: () => {} };
  const mode = { ...rest, removal: { ...rules, apply } };
  const removal = removalWithSettings(mode, { mode: "m", knowledge });
  const report = await removal.apply(kernel, await removal.plan(kernel, signal), signal);
  assert.deepEqual(report, { removed: [chain, back], remaining: [], kept });
});
