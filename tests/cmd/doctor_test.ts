/** `doctor` from command line to exit code, on a machine in memory and with manifests for a cluster. */
import assert from "node:assert/strict";
import type { DoctorMachine } from "../../cmd/doctor/machine.ts";
import { createDoctorCommand, doctorCommand } from "../../cmd/doctor.ts";
import { type Clock, systemClock } from "../../lib/base/clock.ts";
import type { RehearsalAnswer, RehearsalRequest } from "../../lib/doctor/rehearsal/messages.ts";
import { checks } from "../../lib/doctor/checks.ts";
import { FakeKernel } from "../../lib/kernel/fake_kernel.ts";
import { FakeLoadedModules } from "../../lib/kernel/fake_loaded_modules.ts";
import { FakeClock } from "../fakes/fake_clock.ts";
import { inFolder } from "../fakes/folder.ts";
import { type Ran, runProgram } from "./surroundings.ts";

interface Setup {
  readonly clock?: Clock;
  readonly kernel?: FakeKernel;
  readonly modules?: FakeLoadedModules;
  /** What the proxy of this node says at its page; nobody answers when absent. */
  readonly proxyMode?: string;
  readonly rehearse?: (request: RehearsalRequest) => RehearsalAnswer;
  readonly isTerminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const shop = new URL("../../examples/shop", import.meta.url).pathname;

const report: RehearsalAnswer = {
  kind: "report",
  report: {
    families: [],
    kernelBytes: 0,
    packets: { kind: "none", because: "nobody wants any" },
    notices: [],
  },
};

async function doctor(args: readonly string[], setup: Setup = {}): Promise<Ran> {
  const { env = {}, isTerminal, kernel = new FakeKernel(), rehearse = () => report } = setup;
  const machine: DoctorMachine = {
    ask: ({ address, path }) => {
      const isAsked = address.port === 10_249 && path === "/proxyMode";
      return Promise.resolve(
        isAsked && setup.proxyMode !== undefined
          ? { kind: "page", status: 200, body: setup.proxyMode }
          : { kind: "nobody" },
      );
    },
    clock: setup.clock ?? systemClock,
    hostName: "this-host",
    modules: setup.modules ?? new FakeLoadedModules(),
    openKernel: () => kernel,
    rehearse: (request) => Promise.resolve(rehearse(request)),
  };
  const load = () => Promise.resolve(createDoctorCommand(machine));
  return await runProgram(["doctor", ...args], {
    entries: [{ words: ["doctor"], summary: "", load }],
    env,
    ...(isTerminal === undefined ? {} : { isTerminal }),
  });
}

const rehearsal = ["--only", "DRY01", "--manifests", shop];

Deno.test("doctor rehearses what the manifests want of this node", async () => {
  const requests: RehearsalRequest[] = [];
  const ran = await doctor([...rehearsal, "--node", "worker-1"], {
    rehearse: (request) => {
      requests.push(request);
      return report;
    },
  });
  assert.equal(ran.stderr, "");
  assert.match(ran.stdout, /^Node worker-1, Linux 6\.12\.0: from a mode that nothing tells/);
  assert.match(ran.stdout, /\n {2}pass {4}DRY01 {2}rehearse: /);
  assert.match(ran.stdout, /\n1 pass, 0 warn, 0 fail, 0 skip, 0 unknown\ncan move: yes\n$/);
  assert.equal(ran.exitCode, 0);
  const [{ mode, mostFrontends, sections, snapshots }, ...others] = requests;
  assert.deepEqual([mode, mostFrontends, others], ["nftables", 2_000, []]);
  assert.equal(sections.nftables.masqueradeBit, 14);
  assert.deepEqual(snapshots.map(({ family }) => family), ["IPv4", "IPv6"]);
  assert.ok(snapshots.every(({ services }) => services.size > 0));
  assert.ok(snapshots.every(({ settings }) => !settings.leftovers));
});

Deno.test("doctor rehearses beside the rules that are there, as run would sync", async () => {
  const kernel = new FakeKernel();
  await kernel.rules.nft.commit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", table: "nat", chain: "KUBE-SERVICES" },
  ]);
  const nat = { family: "ip", name: "nat" } as const;
  await kernel.tables.commit(nat, [
    { kind: "add-table" },
    { kind: "add-chain", chain: { name: "KUBE-SERVICES" } },
  ]);
  const beside: boolean[] = [];
  await doctor(rehearsal, {
    kernel,
    rehearse: ({ snapshots }) => {
      beside.push(...snapshots.map(({ settings }) => settings.leftovers));
      return report;
    },
  });
  assert.deepEqual(beside, [true, true]);
});

Deno.test("doctor -o json tells programs the same", async () => {
  const ran = await doctor([...rehearsal, "-o", "json"], { proxyMode: "ipvs" });
  const { checks, verdict, ...rest } = JSON.parse(ran.stdout);
  assert.deepEqual({ ...rest, rehearsal: undefined }, {
    schemaVersion: 1,
    node: "this-host",
    kernel: "6.12.0",
    from: "ipvs",
    to: "nftables",
    rehearsal: undefined,
  });
  assert.deepEqual(rest.rehearsal.packets, { kind: "none", because: "nobody wants any" });
  assert.deepEqual(verdict, { canMove: true, changes: 0, because: [] });
  assert.deepEqual(checks.map(({ id }: { readonly id: string }) => id), ["DRY01"]);
});

const froms: readonly (readonly [string, readonly string[], Setup, string])[] = [
  [
    "the proxy that runs",
    [],
    { proxyMode: "iptables" },
    "iptables (answers at http://127.0.0.1:10249",
  ],
  ["--from wins", ["--from", "ipvs"], { proxyMode: "iptables" }, "ipvs to nftables of this"],
  ["upstream", ["--to-proxy", "upstream", "--from", "ipvs"], {}, "ipvs to nftables of stock"],
];

for (const [name, args, setup, says] of froms) {
  Deno.test(`doctor says where the node comes from and whose mode it judges: ${name}`, async () => {
    const { stdout } = await doctor([...rehearsal, ...args], setup);
    assert.ok(stdout.replaceAll("\n", " ").includes(`: from ${says}`), stdout);
  });
}

Deno.test("doctor takes the node's settings from --config, and the mode it has", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/proxy.yaml`;
    await Deno.writeTextFile(
      path,
      "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\n" +
        "hostnameOverride: worker-1\nnftables:\n  masqueradeBit: 9\n",
    );
    const bits: (number | null)[] = [];
    const ran = await doctor([...rehearsal, "--config", path], {
      rehearse: ({ sections }) => {
        bits.push(sections.nftables.masqueradeBit);
        return report;
      },
    });
    assert.match(ran.stdout, /^Node worker-1, .*: from ipvs \(/);
    assert.deepEqual(bits, [9]);
    await Deno.writeTextFile(path, "kind: [");
    const broken = await doctor([...rehearsal, "--config", path]);
    assert.match(broken.stdout, /\n {2}unknown DRY01/);
    assert.match(broken.stdout, /\ncan move: cannot tell, because DRY01: /);
    assert.deepEqual([broken.exitCode, broken.stderr], [2, ""]);
    const absent = await doctor(["--config", `${folder}/none.yaml`]);
    assert.equal(absent.exitCode, 2);
    assert.match(absent.stderr, /^Error: Cannot check this node: .*none\.yaml/);
  });
});

const unrehearsed: readonly (readonly [string, readonly string[], string])[] = [
  ["no cluster", ["--no-cluster"], "--no-cluster is given, and no --manifests"],
  ["no probe", ["--no-probe", "--manifests", shop], "--no-probe is given"],
];

for (const [name, args, because] of unrehearsed) {
  Deno.test(`doctor with ${name} skips the rehearsal, and says so in the verdict`, async () => {
    const rehearse = () => assert.fail("it was rehearsed");
    const ran = await doctor([...args, "--only", "DRY01"], { rehearse });
    assert.match(ran.stdout, /\n {2}skip {4}DRY01/);
    assert.ok(ran.stdout.includes(because), ran.stdout);
    assert.match(ran.stdout, /\ncan move: yes, not rehearsed\n$/);
    // Nothing at all could be told.
    assert.equal(ran.exitCode, 2);
  });
}

for (const [module, says] of [["nf_tables", "from nftables ("], ["ext4", "from a mode that"]]) {
  Deno.test(`doctor --no-probe asks for rules only where that loads nothing: ${module}`, async () => {
    const kernel = new FakeKernel();
    await kernel.tables.commit({ family: "ip", name: "kube-proxy" }, [{ kind: "add-table" }]);
    const modules = new FakeLoadedModules([{ name: module, users: 1 }]);
    const args = ["--no-probe", "--no-cluster", "--only", "DRY01"];
    const { stdout } = await doctor(args, { kernel, modules });
    assert.ok(stdout.includes(`: ${says}`), stdout);
  });
}

Deno.test("doctor --no-probe reads the cluster and asks the kernel for no rules", async () => {
  const kernel = new FakeKernel();
  kernel.nftables = () => assert.fail("it was asked for rules");
  const modules = new FakeLoadedModules([{ name: "ext4", users: 1 }]);
  const args = ["--no-probe", "--manifests", shop, "--only", "DRY01,NP01"];
  const { stdout } = await doctor(args, { kernel, modules });
  assert.match(stdout, /NP01/);
});

Deno.test("doctor reads manifests beside --no-cluster", async () => {
  const ran = await doctor([...rehearsal, "--no-cluster"]);
  assert.match(ran.stdout, /\ncan move: yes\n$/);
});

Deno.test("doctor without an apiserver skips what needs one, with the reason", async () => {
  const ran = await doctor(["--only", "DRY01"]);
  assert.match(ran.stdout, /\n {2}skip {4}DRY01/);
  assert.match(ran.stdout, /Cannot find an apiserver: neither --kubeconfig nor/);
  assert.equal(ran.exitCode, 2);
});

Deno.test("doctor gives an apiserver that does not answer ten seconds, and tells why", async () => {
  await inFolder(async (folder) => {
    const kubeconfig = `${folder}/kubeconfig`;
    await Deno.writeTextFile(
      kubeconfig,
      "apiVersion: v1\nkind: Config\ncurrent-context: x\n" +
        'clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}]\n' +
        "users: [{name: x, user: {}}]\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n",
    );
    const clock = new FakeClock();
    let ran: Ran | undefined;
    const running = doctor(["--only", "DRY01", "--kubeconfig", kubeconfig], { clock })
      .then((result) => ran = result);
    while (ran === undefined && clock.monotonic() < 12_000) {
      await clock.advance(250);
      // The refusal of the real connection takes real time.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(ran, "it did not end in twelve seconds");
    await running;
    assert.match(ran.stdout, /\n {2}skip {4}DRY01/);
    assert.match(ran.stdout.replace(/\n\s+/g, " "), /127\.0\.0\.1:1.*refused/i);
    assert.equal(ran.exitCode, 2);
  });
});

const outcomes: readonly (readonly [string, RehearsalAnswer, string, number])[] = [
  ["no namespace", { kind: "no-namespace", because: "not permitted" }, "unknown DRY01", 2],
  ["a failure", { kind: "failed", because: "it broke" }, "unknown DRY01", 2],
];

for (const [name, answer, says, exitCode] of outcomes) {
  Deno.test(`doctor tells of ${name} in the rehearsal`, async () => {
    const ran = await doctor(rehearsal, { rehearse: () => answer });
    assert.ok(ran.stdout.includes(says), ran.stdout);
    assert.ok(ran.stdout.includes(answer.kind === "report" ? "" : answer.because));
    assert.equal(ran.exitCode, exitCode);
  });
}

Deno.test("doctor unloads the modules that it made the kernel load, and names them", async () => {
  const modules = new FakeLoadedModules([{ name: "ext4", users: 0 }]);
  const load = () => {
    modules.list = [{ name: "nft_ct", users: 0 }, ...modules.list];
    return report;
  };
  const ran = await doctor(rehearsal, { modules, rehearse: load });
  assert.match(ran.stdout, /\nModules that looking loaded, and that are unloaded again: nft_ct\n/);
  assert.deepEqual(modules.list.map(({ name }) => name), ["ext4"]);
  const json = await doctor([...rehearsal, "-o", "json"], { modules, rehearse: load });
  assert.match(json.stderr, /^Modules that looking loaded, and that are unloaded again: nft_ct\n$/);
});

Deno.test("doctor --explain says what a check is about, and asks nothing", async () => {
  const rehearse = () => assert.fail("it was rehearsed");
  const ran = await doctor(["--explain", "DRY01"], { rehearse });
  assert.match(ran.stdout, /^DRY01 rehearse \(rehearsal\)\n\nWhy: {3}/);
  assert.equal(ran.exitCode, 0);
});

for (const flag of ["--explain", "--only", "--skip"]) {
  Deno.test(`doctor ${flag} with a wrong id names the nearest`, async () => {
    assert.deepEqual(await doctor([flag, "DRY1"]), {
      exitCode: 2,
      stdout: "",
      stderr: `Error: Cannot use ${flag} "DRY1": there is no such check; did you mean "DRY01"?\n`,
    });
  });
}

Deno.test("doctor is painted on a terminal alone, and not with NO_COLOR", async () => {
  const on = await doctor(rehearsal, { isTerminal: true });
  assert.ok(on.stdout.includes("\x1b[32mpass\x1b[39m    DRY01"), on.stdout);
  assert.match(on.stderr, /Looking \.\.\./);
  const off = await doctor(rehearsal, { isTerminal: true, env: { NO_COLOR: "1" } });
  assert.ok(!off.stdout.includes("\x1b"), off.stdout);
  const piped = await doctor(rehearsal);
  assert.deepEqual([piped.stdout.includes("\x1b"), piped.stderr], [false, ""]);
});

Deno.test("doctor offers the ids of checks where it takes them", () => {
  const ids = checks.map(({ id }) => id);
  for (const name of ["explain", "only", "skip"]) {
    const flag = doctorCommand.flags.find((each) => each.name === name);
    assert.deepEqual(flag?.completion, { kind: "words", words: ids }, name);
  }
});
