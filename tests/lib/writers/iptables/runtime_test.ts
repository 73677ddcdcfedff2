/** What the mode tells the rest of the program: its engine, its pace, whether it can work, what it prepares. */
import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../../lib/base/metrics.ts";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
import type { NodePortAddresses } from "../../../../lib/snapshot/snapshot.ts";
import type { Leftover } from "../../../../lib/writers/leftovers.ts";
import { chooseBackend } from "../../../../lib/writers/kube_chains/backend.ts";
import type { IptablesSettings } from "../../../../lib/writers/iptables/config.ts";
import { createRuntime } from "../../../../lib/writers/iptables/mod.ts";
import { FakeLogger } from "../../../fakes/fake_logger.ts";
import { everyShape, settings, snapshotOf } from "./samples.ts";

const plain: IptablesSettings = { masqueradeBit: 14, localhostNodePorts: true, backend: "auto" };
const signal = new AbortController().signal;

/** kubelet made its chains in an engine. */
async function hint(kernel: FakeKernel, backend: "nft" | "legacy", chain: string): Promise<void> {
  if (backend === "legacy") {
    kernel.legacyTables.tables.set("IPv6 mangle", { entries: 6, bytes: 900 });
    kernel.legacyTables.chainNames.set("IPv6 mangle", ["X", chain]);
    return;
  }
  await kernel.tables.commit({ family: "ip", name: "mangle" }, [
    { kind: "add-table" },
    { kind: "add-chain", chain: { name: chain } },
  ]);
}

Deno.test("the engine is the one in which kubelet left its hint, nft first", async () => {
  const none = new FakeKernel();
  assert.deepEqual(await chooseBackend(none, "auto"), {
    backend: "nft",
    reason: "kubelet left no hint",
  });
  for (const chain of ["KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"]) {
    const legacy = new FakeKernel();
    await hint(legacy, "legacy", chain);
    const reason = `kubelet made ${chain} there`;
    assert.deepEqual(await chooseBackend(legacy, "auto"), { backend: "legacy", reason });
    await hint(legacy, "nft", chain);
    assert.deepEqual(await chooseBackend(legacy, "auto"), { backend: "nft", reason });
  }
  const unsupported = new NetlinkError({ op: "open", errno: Errno.EPROTONOSUPPORT });
  const old = new FakeKernel({ nftablesRefusal: unsupported });
  assert.deepEqual(await chooseBackend(old, "auto"), {
    backend: "legacy",
    reason: "this kernel has no nf_tables",
  });
  const forbidden = new NetlinkError({ op: "open", errno: Errno.EPERM });
  await assert.rejects(chooseBackend(new FakeKernel({ nftablesRefusal: forbidden }), "auto"));
  const told = new FakeKernel();
  await hint(told, "nft", "KUBE-IPTABLES-HINT");
  assert.equal((await chooseBackend(told, "legacy")).backend, "legacy");
});

Deno.test("an engine that others left is said once, and kept", async () => {
  const kernel = new FakeKernel();
  const warnings = (logger: FakeLogger) => logger.lines.filter((line) => /^warning/.test(line));
  const logger = new FakeLogger();
  const runtime = createRuntime(plain);
  await using writer = await runtime.createWriter({ family: "IPv4", kernel, logger });
  await writer.maintain(signal);
  assert.deepEqual(warnings(logger), []);
  await hint(kernel, "legacy", "KUBE-IPTABLES-HINT");
  await writer.maintain(signal);
  await writer.maintain(signal);
  assert.deepEqual(warnings(logger), [
    "warning The node's other software went over to iptables' legacy backend (kubelet made " +
    "KUBE-IPTABLES-HINT there); restart the proxy to follow, and remove the rules in the nft backend",
  ]);
  const told = createRuntime({ ...plain, backend: "nft" });
  const quiet = new FakeLogger();
  await using stays = await told.createWriter({ family: "IPv4", kernel, logger: quiet });
  await stays.maintain(signal);
  assert.deepEqual(warnings(quiet), []);
});

Deno.test("others get twice the time of a commit, and the older engine syncs once a second", async () => {
  const kernel = new FakeKernel();
  const context = { kernel, syncPeriodMs: 30_000 };
  const nft = await createRuntime({ ...plain, backend: "nft" }).pace(context);
  assert.deepEqual(nft.rest, { times: 2.4, leastMs: 10, mostMs: 1_000 });
  assert.equal(nft.minSyncPeriodMs, 0);
  const legacy = await createRuntime({ ...plain, backend: "legacy" }).pace(context);
  assert.equal(legacy.minSyncPeriodMs, 1_000);
});

Deno.test("the older engine needs its tools, and names the one that is missing", async () => {
  const tools = (...names: readonly string[]) =>
    new FakeCommands(Object.fromEntries(names.map((name) => [name, () => ({})])));
  const runtime = createRuntime({ ...plain, backend: "legacy" });
  const commands = tools("ip6tables-legacy-restore", "ip6tables-legacy-save");
  const kernel = new FakeKernel({ commands });
  assert.deepEqual(await runtime.probe(kernel, "IPv6"), { kind: "supported" });
  assert.deepEqual(await runtime.probe(kernel, "IPv4"), {
    kind: "unsupported",
    reason: '"iptables-legacy-restore" is not installed; install iptables, or set ' +
      "iptables.backend to nft",
  });
});

Deno.test("probe() asks by a batch that must fail, and changes nothing", async () => {
  const kernel = new FakeKernel();
  const runtime = createRuntime({ ...plain, backend: "nft" });
  assert.deepEqual(await runtime.probe(kernel, "IPv6"), { kind: "supported" });
  assert.deepEqual(kernel.rules.nft.commits, []);
  kernel.rules.nft.refuse((change) =>
    "rule" in change && change.rule.matches.some(({ kind }) => kind === "recent-set")
      ? { refusal: "unsupported", message: 'expression "match recent": no such object' }
      : undefined
  );
  const probe = await runtime.probe(kernel, "IPv4");
  assert.equal(probe.kind, "unsupported");
  assert.match("reason" in probe ? probe.reason : "", /-m recent --set .*match recent/);
  kernel.rules.nft.failNextCommit({ refusal: "not-permitted", message: "operation not permitted" });
  assert.equal((await runtime.probe(kernel, "IPv4")).kind, "unknown");
});

Deno.test("route_localnet is set where node ports answer on 127.0.0.1, and then alone", async () => {
  const setting = "net/ipv4/conf/all/route_localnet";
  const cases: readonly (readonly [boolean, NodePortAddresses, string])[] = [
    [true, { kind: "all" }, "1"],
    [false, { kind: "all" }, "0"],
    [true, { kind: "listed", addresses: ["192.168.0.1"] }, "0"],
    [true, { kind: "listed", addresses: [], loopback: ["127.0.0.1"] }, "1"],
  ];
  for (const [localhostNodePorts, nodePortAddresses, value] of cases) {
    const sysctl = new FakeSysctl({ [setting]: "0" });
    const logger = new FakeLogger();
    await createRuntime({ ...plain, localhostNodePorts }).prepare({
      kernel: new FakeKernel({ sysctl }),
      logger,
      settings: new Map([["IPv4", { ...settings.IPv4, nodePortAddresses }]]),
    });
    assert.equal(sysctl.read(setting), value);
    assert.equal(logger.lines.length, value === "1" ? 1 : 0, "what is set is said");
  }
});

Deno.test("route_localnet that is set already is not said", async () => {
  const logger = new FakeLogger();
  await createRuntime({ ...plain, localhostNodePorts: true }).prepare({
    kernel: new FakeKernel({ sysctl: new FakeSysctl({ "net/ipv4/conf/all/route_localnet": "1" }) }),
    logger,
    settings: new Map([["IPv4", { ...settings.IPv4, nodePortAddresses: { kind: "all" } }]]),
  });
  assert.deepEqual(logger.lines, []);
});

Deno.test("the mode owns the rules of its backend, or of both before it chose one", async () => {
  const runtime = createRuntime({ ...plain, backend: "nft" });
  const found = (mode: string, backend: string) =>
    runtime.owns({ mode, backend, family: "IPv4", objects: [] });
  assert.deepEqual([found("iptables", "nft"), found("iptables", "legacy")], [true, true]);
  await runtime.pace({ kernel: new FakeKernel(), syncPeriodMs: 30_000 });
  assert.deepEqual([found("iptables", "nft"), found("iptables", "legacy")], [true, false]);
  assert.equal(found("nftables", "nft"), false);
});

Deno.test("INVALID packets are dropped unless conntrack takes all packets for what they are", async () => {
  for (const [value, drops] of [["0", true], ["1", false], [undefined, true]] as const) {
    const sysctl = new FakeSysctl(
      value === undefined ? {} : { "net/netfilter/nf_conntrack_tcp_be_liberal": value },
    );
    const kernel = new FakeKernel({ sysctl });
    const runtime = createRuntime({ ...plain, backend: "nft" });
    await using writer = await runtime.createWriter({
      family: "IPv4",
      kernel,
      logger: new FakeLogger(),
    });
    await writer.sync(snapshotOf("IPv4", []), { kind: "all" }, signal);
    const reading = await kernel.rules.nft.read("IPv4", ["filter"]);
    const rules = (await reading.rules("filter", ["KUBE-FORWARD"])).get("KUBE-FORWARD") ?? [];
    assert.equal(rules.some(({ key }) => /INVALID/.test(key)), drops, String(value));
  }
});

Deno.test("a writer of the legacy backend reads the tables before it knows what is wanted", async () => {
  const kernel = new FakeKernel();
  const asked: string[] = [];
  const read = kernel.rules.legacy.read.bind(kernel.rules.legacy);
  kernel.rules.legacy.read = (family, tables) => (asked.push(tables.join()), read(family, tables));
  const runtime = createRuntime({ ...plain, backend: "legacy" });
  const logger = new FakeLogger();
  await using writer = await runtime.createWriter({ family: "IPv4", kernel, logger });
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(asked, ["filter,nat,mangle"]);
  await writer.sync(snapshotOf("IPv4", []), { kind: "all" }, signal);
  assert.equal(asked.length, 1);
});

Deno.test("the metrics are upstream's, and show what was counted", async () => {
  const kernel = new FakeKernel();
  const runtime = createRuntime({ ...plain, backend: "nft" });
  const registry = new MetricsRegistry();
  runtime.registerMetrics(registry);
  const logger = new FakeLogger();
  await using writer = await runtime.createWriter({ family: "IPv4", kernel, logger });
  await writer.sync(snapshotOf("IPv4", everyShape("IPv4")), { kind: "all" }, signal);
  kernel.nfacct.counters.set("ct_state_invalid_dropped_pkts", { packets: 7n, bytes: 0n });
  assert.deepEqual(registry.names(), [
    "kubeproxy_iptables_ct_state_invalid_dropped_packets_total",
    "kubeproxy_iptables_localhost_nodeports_accepted_packets_total",
    "kubeproxy_sync_proxy_rules_iptables_last",
    "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total",
    "kubeproxy_sync_proxy_rules_iptables_restore_failures_total",
    "kubeproxy_sync_proxy_rules_iptables_total",
  ]);
  const page = await registry.expose();
  assert.match(page, /ct_state_invalid_dropped_packets_total 7/);
  assert.match(page, /iptables_total\{table="nat",ip_family="IPv4"\} [1-9]/);
});

Deno.test("beside leftovers it looks for ipvs mode's link", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  for (const kernel of [new FakeKernel({ sysctl }), new FakeKernel()]) {
    const runtime = createRuntime({ ...plain, backend: "nft" });
    await using writer = await runtime.createWriter({
      family: "IPv4",
      kernel,
      logger: new FakeLogger(),
    });
    await writer.sync(snapshotOf("IPv4", [], { leftovers: true }), { kind: "all" }, signal);
    const reading = await kernel.rules.nft.read("IPv4", ["filter"]);
    const chain = "KUBE-EXTERNAL-SERVICES";
    const rules = (await reading.rules("filter", [chain])).get(chain);
    assert.equal(rules?.length, kernel.sysctl === sysctl ? 1 : 0);
  }
});

Deno.test("what stands aside differs in nothing, and what differs beside ipvs mode is known", () => {
  const runtime = createRuntime({ ...plain, backend: "nft" });
  const found = (mode: string): Leftover => ({
    mode,
    backend: "legacy",
    family: "IPv4",
    objects: [],
  });
  const modes = ["iptables", "userspace", "nftables", "ipvs"];
  assert.deepEqual(
    modes.map((mode) => runtime.servesBeside?.(found(mode))),
    [true, true, true, false],
  );
  assert.deepEqual(
    modes.map((mode) => runtime.differsBeside?.(found(mode)).length),
    [0, 0, 0, 3],
  );
  assert.ok(modes.every((mode) => !runtime.outranks?.(found(mode))));
});
