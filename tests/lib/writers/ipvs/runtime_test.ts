/** What the mode tells the rest of the program: whether it can work, what it prepares, its pace. */
import assert from "node:assert/strict";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import { FakeHost } from "../../../../lib/kernel/fake_host.ts";
import { FakeKernel, type FakeKernelParts } from "../../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeIpset } from "../../../../lib/kernel/ipset/fake_ipset.ts";
import { FakeIpvs } from "../../../../lib/kernel/ipvs/fake_ipvs.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { ipvsConfig, type IpvsSettings } from "../../../../lib/writers/ipvs/config.ts";
import { createRuntime } from "../../../../lib/writers/ipvs/mod.ts";
import type { Leftover } from "../../../../lib/writers/leftovers.ts";
import { FakeLogger } from "../../../fakes/fake_logger.ts";
import { settings, snapshotOf } from "./samples.ts";

const plain = ipvsConfig.defaults;
const signal = new AbortController().signal;

const untouched = {
  "net/ipv4/vs/conntrack": "0",
  "net/ipv4/vs/conn_reuse_mode": "1",
  "net/ipv4/vs/expire_nodest_conn": "0",
  "net/ipv4/vs/expire_quiescent_template": "0",
  "net/ipv4/ip_forward": "0",
  "net/ipv4/conf/all/arp_ignore": "0",
  "net/ipv4/conf/all/arp_announce": "0",
};

async function prepared(overrides: Partial<IpvsSettings> = {}, parts: FakeKernelParts = {}) {
  const kernel = new FakeKernel({
    sysctl: new FakeSysctl(untouched),
    host: new FakeHost({ kernelRelease: "6.1.0-50-amd64" }),
    ...parts,
  });
  const logger = new FakeLogger();
  const runtime = createRuntime({ ...plain, ...overrides });
  await runtime.prepare({ kernel, logger, settings: new Map([["IPv4", settings.IPv4]]) });
  return { kernel, logger };
}

Deno.test("it sets what upstream sets, and no more without strictARP", async () => {
  const { kernel } = await prepared();
  assert.deepEqual(kernel.sysctl.values(), {
    "net/ipv4/conf/all/arp_announce": "0",
    "net/ipv4/conf/all/arp_ignore": "0",
    "net/ipv4/ip_forward": "1",
    "net/ipv4/vs/conn_reuse_mode": "1",
    "net/ipv4/vs/conntrack": "1",
    "net/ipv4/vs/expire_nodest_conn": "1",
    "net/ipv4/vs/expire_quiescent_template": "1",
  });
  const strict = (await prepared({ strictARP: true })).kernel.sysctl.values();
  assert.equal(strict["net/ipv4/conf/all/arp_ignore"], "1");
  assert.equal(strict["net/ipv4/conf/all/arp_announce"], "2");
});

const reuse = [
  { kernelRelease: "5.9.0", mode: "1", errors: 0 },
  { kernelRelease: "5.10.262-1", mode: "1", errors: 0 },
  { kernelRelease: "5.8.18", mode: "0", errors: 0 },
  { kernelRelease: "4.1.0", mode: "0", errors: 0 },
  { kernelRelease: "4.0.9", mode: "1", errors: 1 },
  { kernelRelease: "3.10.0-1160.el7", mode: "1", errors: 1 },
];
for (const { errors, kernelRelease, mode } of reuse) {
  Deno.test(`conn_reuse_mode on Linux ${kernelRelease}`, async () => {
    const { kernel, logger } = await prepared({}, { host: new FakeHost({ kernelRelease }) });
    assert.equal(kernel.sysctl.read("net/ipv4/vs/conn_reuse_mode"), mode);
    assert.equal(logger.lines.filter((line) => line.startsWith("error")).length, errors);
  });
}

Deno.test("timeouts that are given are set, the others stay; a refusal is only logged", async () => {
  assert.deepEqual((await prepared()).kernel.ipvs.timeouts(), { tcp: 900, tcpFin: 120, udp: 300 });
  const set = await prepared({ tcpTimeoutMs: 600_500, udpTimeoutMs: 10_000 });
  assert.deepEqual(set.kernel.ipvs.timeouts(), { tcp: 600, tcpFin: 120, udp: 10 });
  const ipvs = new FakeIpvs();
  ipvs.setTimeouts = () => {
    throw new NetlinkError({ op: "set the timeouts of IPVS", errno: Errno.EPERM });
  };
  const { logger } = await prepared({ tcpTimeoutMs: 1000 }, { ipvs });
  assert.match(logger.lines.join("\n"), /error Cannot set the timeouts of IPVS/);
});

Deno.test("a module or a scheduler that is missing ends the start with the way out", async () => {
  await assert.rejects(
    prepared({}, { ipvs: new FakeIpvs({ isLoaded: false, isInstalled: false }) }),
    /the kernel module "ip_vs" is not loaded.*; run "modprobe ip_vs" on the node/,
  );
  await assert.rejects(
    prepared({}, { ipset: new FakeIpset({ isLoaded: false, isInstalled: false }) }),
    /the kernel module "ip_set" is not loaded.*; run "modprobe ip_set" on the node/,
  );
  await assert.rejects(prepared({ scheduler: "sed" }), {
    message:
      'Cannot use the scheduler "sed" of IPVS: the kernel module "ip_vs_sed" is not there; ' +
      'run "modprobe ip_vs_sed" on the node, or set ipvs.scheduler to one that is',
  });
});

Deno.test("modules are loaded, and the trial of a scheduler leaves nothing", async () => {
  const { kernel } = await prepared({ scheduler: "mh" }, {
    ipvs: new FakeIpvs({ isLoaded: false }),
    ipset: new FakeIpset({ isLoaded: false }),
  });
  assert.ok(kernel.ipset.isLoaded());
  assert.deepEqual(kernel.ipvs.read(), []);
  assert.deepEqual(kernel.ipvs.commits.flat().map(({ kind }) => kind), [
    "add-server",
    "delete-server",
  ]);
});

Deno.test("a scheduler that a server has is not tried, nor at a server of somebody else's", async () => {
  const ipvs = new FakeIpvs();
  const server = { family: "IPv4", protocol: "tcp", flags: 0, scheduler: "rr" } as const;
  const theirs = { ...server, address: "198.51.100.0", port: 20_000 };
  ipvs.edit([{ kind: "add-server", server: theirs }]);
  await prepared({ scheduler: "" }, { ipvs });
  assert.deepEqual(ipvs.commits, []);
  await prepared({ scheduler: "lc" }, { ipvs });
  assert.deepEqual(ipvs.read().map((each) => each.server), [theirs]);
});

Deno.test("it can work wherever iptables' rules can be written", async () => {
  const runtime = createRuntime(plain);
  assert.deepEqual(await runtime.probe(new FakeKernel(), "IPv6"), { kind: "supported" });
  const old = new FakeKernel({
    nftablesRefusal: new NetlinkError({ op: "open", errno: Errno.EPROTONOSUPPORT }),
    commands: new FakeCommands({}),
  });
  assert.deepEqual(await createRuntime(plain).probe(old, "IPv6"), {
    kind: "unsupported",
    reason: '"ip6tables-legacy-restore" is not installed; install iptables',
  });
});

Deno.test("everything is compared each sync period, and no sync counts as partial", async () => {
  const runtime = createRuntime(plain);
  const pace = await runtime.pace({ kernel: new FakeKernel(), syncPeriodMs: 45_000 });
  assert.deepEqual(pace, {
    minSyncPeriodMs: 0,
    gathering: { quietMs: 1, mostMs: 10 },
    fullSyncMs: 45_000,
    partialSyncs: false,
    driftCheckMs: 10_000,
    maintainMs: 5_000,
  });
});

Deno.test("a writer says once which engine has the rules", async () => {
  const kernel = new FakeKernel();
  const logger = new FakeLogger();
  const runtime = createRuntime(plain);
  for (const family of ["IPv4", "IPv6"] as const) {
    await using writer = await runtime.createWriter({ family, kernel, logger });
    await writer.sync(snapshotOf(family, []), { kind: "all" }, signal);
  }
  assert.deepEqual(logger.lines, [
    "info Writing iptables' rules to its nft backend, since kubelet left no hint backend=nft",
  ]);
  assert.equal(kernel.ipset.list().length, 34);
  assert.equal(await runtime.backend?.(kernel), "nft");
});

Deno.test("its own leftovers are none, and all others stand aside", () => {
  const runtime = createRuntime(plain);
  const found = (mode: string, backend: string): Leftover => ({
    mode,
    backend,
    family: "IPv4",
    objects: [],
  });
  assert.ok(runtime.owns(found("ipvs", "ipvs")) && runtime.owns(found("ipvs", "nft")));
  assert.ok(!runtime.owns(found("iptables", "nft")));
  assert.deepEqual([runtime.servesBeside, runtime.outranks], [undefined, undefined]);
  assert.equal(runtime.ownLink, "kube-ipvs0");
});
