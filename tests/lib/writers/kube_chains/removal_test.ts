/** What iptables and userspace mode left, and that it goes. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { FakeLegacyTables } from "../../../../lib/kernel/xtables/fake_legacy_tables.ts";
import type { XtBackend } from "../../../../lib/kernel/xtables/xtables.ts";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { leftovers as iptables } from "../../../../lib/writers/iptables/leftovers.ts";
import { leftovers as userspace } from "../../../../lib/writers/userspace/leftovers.ts";

const { signal } = new AbortController();
const tool = () => ({});
const tools = new FakeCommands({
  "iptables-legacy-restore": tool,
  "ip6tables-legacy-restore": tool,
});
const hashed = "KUBE-SVC-ABCDEFGHIJKLMNOP";

interface Parts {
  readonly commands?: FakeCommands;
  readonly sysctl?: FakeSysctl;
  readonly nftablesRefusal?: Error;
}

/** Chains of the table nat in one engine and family. */
function kernelWith(
  backend: XtBackend,
  { chains, family = "IPv4", ...parts }: Parts & {
    readonly chains: readonly string[];
    readonly family?: IpFamily;
  },
): FakeKernel {
  const legacyTables = new FakeLegacyTables();
  if (backend === "legacy") {
    legacyTables.tables.set(`${family} nat`, { entries: 9, bytes: 2000 });
    legacyTables.chainNames.set(`${family} nat`, chains);
  }
  const kernel = new FakeKernel({ commands: tools, legacyTables, ...parts });
  kernel.rules[backend].edit(family, [
    { kind: "add-table", table: "nat" },
    ...chains.map((chain) => ({ kind: "add-chain", table: "nat", chain }) as const),
  ]);
  return kernel;
}

async function namesIn(kernel: FakeKernel, backend: XtBackend, family: IpFamily = "IPv4") {
  const { chains } = await kernel.rules[backend].read(family, ["nat"]);
  return chains.filter(({ isBuiltIn }) => !isBuiltIn).map(({ name }) => name);
}

for (const backend of ["nft", "legacy"] as const) {
  for (const family of ["IPv4", "IPv6"] as const) {
    Deno.test(`iptables mode's chains go, and others stay: ${backend}, ${family}`, async () => {
      const chains = [
        "KUBE-SERVICES",
        "KUBE-MARK-MASQ",
        hashed,
        "KUBE-SVC-mine",
        "KUBE-PORTALS-HOST",
        "DOCKER",
      ];
      const kernel = kernelWith(backend, { chains, family });
      const plan = await iptables.removal.plan(kernel, signal);
      assert.deepEqual(
        plan.steps.map((step) => [step.backend, step.family, step.place, step.name]),
        [
          [backend, family, "table nat", "KUBE-MARK-MASQ"],
          [backend, family, "table nat", "KUBE-SERVICES"],
          [backend, family, "table nat", hashed],
        ],
      );
      const report = await iptables.removal.apply(kernel, plan, signal);
      assert.deepEqual(report, { removed: plan.steps, remaining: [], kept: [] });
      assert.deepEqual(await namesIn(kernel, backend, family), [
        "KUBE-SVC-mine",
        "KUBE-PORTALS-HOST",
        "DOCKER",
      ]);
      const removal = await userspace.removal.plan(kernel, signal);
      assert.deepEqual(removal.steps.map(({ name }) => name), ["KUBE-PORTALS-HOST"]);
    });
  }
}

Deno.test("what an old kubelet made alone is not touched", async () => {
  const kernel = kernelWith("nft", {
    chains: ["KUBE-MARK-MASQ", "KUBE-POSTROUTING", "KUBE-MARK-DROP"],
  });
  assert.deepEqual(await iptables.removal.plan(kernel, signal), {
    steps: [],
    kept: [],
    remaining: [],
    remarks: [],
  });
});

Deno.test("what ipvs mode needs stays while kube-ipvs0 is there", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  const ofIpvs = ["KUBE-SERVICES", "KUBE-MARK-MASQ", "KUBE-LOAD-BALANCER"];
  const kernel = kernelWith("nft", { chains: [...ofIpvs, hashed], sysctl });
  const plan = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(plan.steps.map(({ name }) => name), [hashed]);
  assert.match(plan.kept[0].what, /KUBE-SERVICES, KUBE-POSTROUTING, KUBE-MARK-MASQ/);
  assert.match(plan.kept[0].reason, /shared with ipvs mode/);
  const { remaining } = await iptables.removal.apply(kernel, plan, signal);
  assert.deepEqual(remaining, []);
  assert.deepEqual(await namesIn(kernel, "nft"), ofIpvs);
  const again = await iptables.removal.plan(kernel, signal);
  assert.deepEqual([again.steps, again.kept], [[], []]);
});

Deno.test("what was left in the older tables goes whole where ipvs mode serves in nft", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  const chains = ["KUBE-SERVICES", "KUBE-MARK-MASQ", hashed];
  const kernel = kernelWith("legacy", { chains, sysctl });
  const ofIpvs = ["KUBE-SERVICES", "KUBE-LOAD-BALANCER"];
  kernel.rules.nft.edit("IPv4", [
    { kind: "add-table", table: "nat" },
    ...ofIpvs.map((chain) => ({ kind: "add-chain", table: "nat", chain }) as const),
  ]);
  const plan = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(
    plan.steps.map(({ backend, name }) => `${backend} ${name}`).sort(),
    chains.map((name) => `legacy ${name}`).sort(),
  );
  await iptables.removal.apply(kernel, plan, signal);
  assert.deepEqual(await namesIn(kernel, "legacy"), []);
  assert.deepEqual(await namesIn(kernel, "nft"), ofIpvs);
});

Deno.test("what was left in nft goes whole where ipvs mode serves in the older tables", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  const chains = ["KUBE-SERVICES", "KUBE-MARK-MASQ", hashed];
  const kernel = kernelWith("nft", { chains, sysctl });
  const plan = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(plan.steps.map(({ name }) => name).sort(), chains.toSorted());
  assert.deepEqual(plan.kept, []);
});

Deno.test("without the tool of the older tables what is there remains, with what to install", async () => {
  const kernel = kernelWith("legacy", {
    chains: ["KUBE-SERVICES", hashed],
    commands: new FakeCommands(),
  });
  const plan = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(plan.steps, []);
  assert.deepEqual(plan.remaining, [{
    what: "2 chains and rules in the legacy backend of iptables",
    reason:
      '"iptables-legacy-restore" is not installed; install the package iptables, or run this in an image that has it',
  }]);
  const empty = kernelWith("legacy", { chains: ["DOCKER"], commands: new FakeCommands() });
  assert.deepEqual((await iptables.removal.plan(empty, signal)).remaining, []);
});

Deno.test("without nf_tables the older tables are cleaned all the same", async () => {
  const nftablesRefusal = new NetlinkError({ op: "open a socket", errno: Errno.EPROTONOSUPPORT });
  const kernel = kernelWith("legacy", { chains: ["KUBE-SERVICES"], nftablesRefusal });
  const plan = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(plan.remarks, ["this kernel has no nf_tables, or its module is not loaded"]);
  assert.deepEqual((await iptables.removal.apply(kernel, plan, signal)).removed, plan.steps);
  assert.deepEqual(await namesIn(kernel, "legacy"), []);
  const refused = new NetlinkError({ op: "open a socket", errno: Errno.EPERM });
  const { remaining } = await iptables.removal.plan(
    kernelWith("legacy", { chains: ["KUBE-SERVICES"], nftablesRefusal: refused }),
    signal,
  );
  assert.deepEqual(remaining.map(({ what }) => what), [
    "whatever it left in the nft backend of iptables",
    "whatever it left in the nft backend of ip6tables",
  ]);
});

Deno.test("a family that fails or is stopped is said, and the others are done", async () => {
  const kernel = kernelWith("nft", { chains: ["KUBE-SERVICES"] });
  kernel.rules.nft.edit("IPv6", [{ kind: "add-table", table: "nat" }, {
    kind: "add-chain",
    table: "nat",
    chain: hashed,
  }]);
  kernel.rules.nft.refuse((_, family) =>
    family === "IPv4" ? { refusal: "other", message: "No" } : undefined
  );
  const plan = await iptables.removal.plan(kernel, signal);
  const report = await iptables.removal.apply(kernel, plan, signal);
  assert.deepEqual(report.removed.map(({ family }) => family), ["IPv6"]);
  assert.equal(report.remaining[0].what, "1 chains and rules in the nft backend of iptables");
  assert.match(report.remaining[0].reason, /Cannot flush chain "KUBE-SERVICES" .*: No/);
  const stopped = await iptables.removal.apply(kernel, plan, AbortSignal.abort());
  assert.deepEqual(
    stopped.remaining.map(({ reason }) => reason),
    Array(2).fill("stopped before it was removed"),
  );
});

Deno.test("a cleanup that is stopped between two families says what is done, and the next one finishes", async () => {
  const kernel = kernelWith("nft", { chains: ["KUBE-SERVICES"] });
  kernel.rules.nft.edit("IPv6", [{ kind: "add-table", table: "nat" }, {
    kind: "add-chain",
    table: "nat",
    chain: hashed,
  }]);
  const plan = await iptables.removal.plan(kernel, signal);
  const stop = new AbortController();
  const { nft } = kernel.rules;
  const commit = nft.commit.bind(nft);
  nft.commit = async (...given) => {
    const receipt = await commit(...given);
    stop.abort();
    return receipt;
  };
  const report = await iptables.removal.apply(kernel, plan, stop.signal);
  assert.deepEqual(report.removed, plan.steps.filter(({ family }) => family === "IPv4"));
  assert.deepEqual(report.remaining, [{
    what: "whatever it left in the nft backend of ip6tables",
    reason: "stopped before it was removed",
  }]);
  const rest = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(rest.steps, plan.steps.filter(({ family }) => family === "IPv6"));
  nft.commit = commit;
  assert.deepEqual((await iptables.removal.apply(kernel, rest, signal)).remaining, []);
});

Deno.test("a large older table is not read to see whether there is something: the tool reads it", async () => {
  const kernel = kernelWith("legacy", { chains: ["KUBE-SERVICES", hashed] });
  const tables = kernel.legacyTables as FakeLegacyTables;
  let readings = 0;
  const chainsOf = tables.chains.bind(tables);
  tables.chains = (...given) => {
    readings++;
    return chainsOf(...given);
  };
  tables.tables.set("IPv4 nat", { entries: 400_000, bytes: 192 << 20 });
  const plan = await iptables.removal.plan(kernel, signal);
  assert.deepEqual(plan.steps.map(({ name }) => name), ["KUBE-SERVICES", hashed]);
  assert.equal(readings, 0);
  const without = kernelWith("legacy", {
    chains: ["KUBE-SERVICES", hashed],
    commands: new FakeCommands(),
  });
  (without.legacyTables as FakeLegacyTables).tables.set("IPv4 nat", {
    entries: 400_000,
    bytes: 192 << 20,
  });
  const { remaining } = await iptables.removal.plan(without, signal);
  assert.equal(remaining[0].what, "2 chains and rules in the legacy backend of iptables");
});

Deno.test("a plan is made anew where another mode came since", async () => {
  const chains = ["KUBE-SERVICES", "KUBE-MARK-MASQ", hashed];
  const plan = await iptables.removal.plan(kernelWith("nft", { chains }), signal);
  assert.equal(plan.steps.length, 3);
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  const kernel = kernelWith("nft", { chains: [...chains, "KUBE-LOAD-BALANCER"], sysctl });
  const { removed } = await iptables.removal.apply(kernel, plan, signal);
  assert.deepEqual(removed.map(({ name }) => name), [hashed]);
  const left = ["KUBE-SERVICES", "KUBE-MARK-MASQ", "KUBE-LOAD-BALANCER"];
  assert.deepEqual(await namesIn(kernel, "nft"), left);
});
