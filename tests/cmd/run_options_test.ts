import assert from "node:assert/strict";
import type { CommandEntry } from "../../cmd/command.ts";
import { runCommand, type StartProxy } from "../../cmd/run_command.ts";
import type { RunOptions } from "../../cmd/run_options.ts";
import { type Ran, runProgram } from "./surroundings.ts";

interface Started extends Ran {
  /** Undefined where the proxy was not started. */
  readonly options: RunOptions | undefined;
}

async function start(args: readonly string[]): Promise<Started> {
  let options: RunOptions | undefined;
  const proxy: StartProxy = (given) => {
    options = given;
    return Promise.resolve(0);
  };
  const run: CommandEntry = {
    words: ["run"],
    summary: "",
    load: () => Promise.resolve(runCommand(proxy)),
  };
  return { ...await runProgram(args, { entries: [run] }), options };
}

/** Runs with files in a folder of their own; `@name` in an argument stands for one of them. */
async function withFiles(
  files: Readonly<Record<string, string>>,
  use: (start: (args: readonly string[]) => Promise<Started>) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${directory}/${name}`, text);
    }
    await use((args) => start(args.map((arg) => arg.replaceAll("@", `${directory}/`))));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const head = (kind: string) => `apiVersion: kubeproxy.config.k8s.io/v1alpha2\nkind: ${kind}\n`;
const shared = `${head("KubeProxyConfiguration")}mode: nftables\nsyncPeriod: 1m\n`;
const instance = `${head("KubeProxyInstanceConfiguration")}hostnameOverride: node-a\n`;

const plain: readonly { name: string; args: string; expected: Partial<RunOptions> }[] = [
  {
    name: "nothing given",
    args: "",
    expected: {
      modeIsDefault: true,
      configFiles: [],
      manifests: [],
      once: false,
      dryRun: false,
      initOnly: false,
      namespaceOptOut: true,
      namespaceOptOutDelayMs: 1_000,
      reportedVersion: "v1.37.0",
      writeConfig: undefined,
    },
  },
  { name: "a mode", args: "--proxy-mode=iptables", expected: { modeIsDefault: false } },
  { name: "once, dry", args: "--once --dry-run", expected: { once: true, dryRun: true } },
  { name: "init-only", args: "--init-only", expected: { initOnly: true } },
  {
    name: "opting out is off",
    args: "--namespace-opt-out=false",
    expected: { namespaceOptOut: false },
  },
  {
    name: "opting out at once",
    args: "--namespace-opt-out-delay=0",
    expected: { namespaceOptOutDelayMs: 0 },
  },
  {
    name: "an apiserver",
    args: "--master=https://192.168.0.2",
    expected: { master: "https://192.168.0.2" },
  },
  {
    name: "a version to report",
    args: "--version=v1.37.0-x",
    expected: { reportedVersion: "v1.37.0-x" },
  },
];

Deno.test("run takes flags that set no field", async (t) => {
  for (const { name, args, expected } of plain) {
    await t.step(name, async () => {
      const { options, stderr } = await start(args.split(" ").filter((arg) => arg !== ""));
      assert.ok(options, stderr);
      assert.deepEqual({ ...options, ...expected }, options);
    });
  }
});

Deno.test("the default mode depends on where objects come from", async (t) => {
  await t.step("an apiserver: iptables, as upstream", async () => {
    assert.equal((await start([])).options?.configuration.mode, "iptables");
  });
  await t.step("manifests: nftables", async () => {
    assert.equal((await start(["--manifests=x"])).options?.configuration.mode, "nftables");
  });
});

Deno.test("files are the configuration, and few flags hold beside them", async () => {
  await withFiles({ "shared.yaml": shared, "instance.yaml": instance }, async (start) => {
    const both = ["--config=@shared.yaml", "--config", "@instance.yaml"];
    const { options, stderr } = await start([
      ...both,
      "--proxy-mode=ipvs",
      "--hostname-override=NODE-B",
      "--iptables-backend=nft",
      "-v2",
    ]);
    assert.ok(options, stderr);
    const { configuration, configFiles } = options;
    assert.deepEqual(
      [configuration.mode, configuration.syncPeriodMs, configuration.hostnameOverride],
      ["nftables", 60_000, "node-b"],
    );
    assert.deepEqual([configuration.iptables.backend, configuration.logging.verbosity], ["nft", 2]);
    assert.deepEqual(configFiles.map(({ path }) => path.split("/").at(-1)), [
      "shared.yaml",
      "instance.yaml",
    ]);
    assert.match(stderr, /"Flags have no effect beside --config" flags="--proxy-mode"\n/);
  });
});

Deno.test("run says what is going away", async (t) => {
  await t.step("flags that a file has a field for, in one line", async () => {
    const { stderr } = await start(["--proxy-mode=nftables", "--masquerade-all"]);
    const line = stderr.split("\n").find((each) => each.includes("Flags are deprecated")) ?? "";
    assert.match(line, /flags="--masquerade-all --proxy-mode"/);
    assert.ok(
      line.includes(String.raw`{\"linux\":{\"masqueradeAll\":true},\"mode\":\"nftables\"}`),
    );
  });
  await t.step("flags that are gone from help", async () => {
    const { stderr } = await start(["--healthz-port=0"]);
    assert.match(
      stderr,
      /^Flag --healthz-port has been deprecated, .+--healthz-bind-address instead\n/,
    );
  });
  await t.step("gates", async () => {
    const { stderr } = await start(["--feature-gates=KubeProxyIPVS=true"]);
    assert.match(
      stderr,
      /"Warning: setting deprecated feature gate.+" featureGate="KubeProxyIPVS" value=true\n/,
    );
  });
  await t.step("nothing, where nothing is", async () => {
    assert.equal((await start(["--hostname-override=a", "--once"])).stderr, "");
  });
});

Deno.test("run dumps its flags from verbosity 1 on", async () => {
  assert.match((await start(["-v1"])).stderr, /\] FLAG: --bind-address="0\.0\.0\.0"\n/);
  assert.doesNotMatch((await start(["-v0"])).stderr, /FLAG/);
});

Deno.test("run logs as it is told", async (t) => {
  await t.step("in JSON", async () => {
    const { stderr } = await start(["--logging-format=json", "--masquerade-all"]);
    const { msg, v } = JSON.parse(stderr);
    assert.deepEqual([msg, v], [
      "Flags are deprecated where a configuration file has a field for them",
      0,
    ]);
  });
  await t.step("with informational records on stdout", async () => {
    const gate = "--feature-gates=LoggingAlphaOptions=true";
    const { stdout, stderr } = await start([gate, "--log-text-split-stream"]);
    assert.match(stdout, /^I.*"Flags are deprecated/);
    assert.equal(stderr, "");
  });
});

Deno.test("every problem of the command line is told at once, by its flag", async () => {
  const { exitCode, options, stderr } = await start([
    "--oom-score-adj=5000",
    "--conntrack-udp-timeout=-1s",
    "--feature-gates=Nope=true",
  ]);
  assert.deepEqual([exitCode, options], [1, undefined]);
  for (const part of ["--oom-score-adj: ", "--conntrack-udp-timeout: ", "--feature-gates"]) {
    assert.ok(stderr.includes(`command line: ${part}`), stderr);
  }
});
