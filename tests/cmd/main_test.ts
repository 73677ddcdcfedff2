/** How the program ends: exit codes, streams that are closed, and that no stack is ever shown. */
import assert from "node:assert/strict";
import { commandTree } from "../../cmd/commands.ts";
// Before the tests: a library that one of them loads first would be its leak.
import "../../lib/kernel/libc.ts";
import { runProgram } from "./surroundings.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Runs a shell line in which `kube-proxy` is the program, in a folder of its own. */
async function shell(line: string, directory: string) {
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: [
      "-c",
      `kube-proxy() { "${Deno.execPath()}" run -A --quiet --no-check "${root}main.ts" "$@"; }\n${line}`,
    ],
    cwd: directory,
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

const lossy = `apiVersion: kubeproxy.config.k8s.io/v1alpha2
kind: KubeProxyConfiguration
mode: nftables
minSyncPeriod: 0s
`;

const broken = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
modee: iptables
oomScoreAdj: 5000
`;

interface Row {
  readonly name: string;
  readonly line: string;
  readonly code: number;
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
}

/** Of each way to end one, and what only a process has: streams, devices. */
const processes: readonly Row[] = [
  {
    name: "--version",
    line: "kube-proxy --version",
    code: 0,
    stdout: /^Kubernetes v1\.37\.0\nkube-proxy \S+.*\n$/,
  },
  { name: "unknown command", line: "kube-proxy confg", code: 2, stderr: /did you mean "config"/ },
  {
    name: "run: invalid file",
    line: "kube-proxy --config broken.yaml",
    code: 1,
    stderr: /broken\.yaml:4:14: oomScoreAdj/,
  },
  {
    name: "write-config-to",
    line: "kube-proxy --write-config-to=out.yaml --proxy-mode=nftables && cat out.yaml",
    code: 0,
    stdout: /^# Served by .*\napiVersion: .*\/v1alpha2\n/,
    stderr: /"Wrote configuration"/,
  },
  {
    name: "write-config-to a device",
    line: "kube-proxy --write-config-to=/dev/null && test -c /dev/null",
    code: 0,
    stderr: /"Wrote configuration"/,
  },
  {
    name: "config validate: closed stdin",
    line: "kube-proxy config validate - <&-",
    code: 1,
    stdout: /there is no configuration here/,
  },
  {
    name: "whoever reads stdout goes away",
    line: "kube-proxy config schema | true; exit ${PIPESTATUS[0]}",
    code: 141,
  },
  { name: "stdout is closed", line: "kube-proxy config schema >&-; [ $? -le 141 ]", code: 0 },
  { name: "stderr is closed", line: "kube-proxy confg 2>&-", code: 2 },
  {
    name: "the disk is full",
    line: "kube-proxy config schema > /dev/full",
    code: 1,
    stderr: /^Error: .*No space left.*\n$/,
  },
];

/** The rest in this process, where a command line takes a tenth of the time. */
const rows: readonly Row[] = [
  {
    name: "--version=true",
    line: "kube-proxy --version=true",
    code: 0,
    stdout: /^Kubernetes v1\.37\.0\nkube-proxy /,
  },
  {
    name: "--version with what it does not take",
    line: "kube-proxy --version=new",
    code: 1,
    stderr: /neither true nor false/,
  },
  { name: "--help", line: "kube-proxy --help", code: 0, stdout: /Commands:[^]*Examples:/ },
  { name: "run --help", line: "kube-proxy run --help", code: 0, stdout: /--proxy-mode mode/ },
  {
    name: "unknown flag of a command",
    line: "kube-proxy config schema --nope",
    code: 2,
    stderr: /Unknown flag "--nope"/,
  },
  {
    name: "unknown flag of the bare form",
    line: "kube-proxy --nope",
    code: 1,
    stderr: /Unknown flag "--nope"/,
  },
  {
    name: "unknown flag of run",
    line: "kube-proxy run --nope",
    code: 1,
    stderr: /Unknown flag "--nope"/,
  },
  {
    name: "value of run that does not parse",
    line: "kube-proxy run -v=a",
    code: 1,
    stderr: /no whole number/,
  },
  {
    name: "value of a command that does not parse",
    line: "kube-proxy config defaults --mode=x",
    code: 2,
    stderr: /none of iptables/,
  },
  {
    name: "run: invalid flags",
    line: "kube-proxy --oom-score-adj=5000",
    code: 1,
    stderr: /"command failed" err="failed validate: .*--oom-score-adj/,
  },
  {
    name: "run: no such file",
    line: "kube-proxy --config none.yaml",
    code: 1,
    stderr: /failed complete: Cannot read .+none\.yaml.+: no such file/,
  },
  {
    name: "run: unknown gate",
    line: "kube-proxy --feature-gates=Nope=true",
    code: 1,
    stderr: /unrecognized feature gate: Nope/,
  },
  {
    name: "write-config-to, the old version",
    line: "kube-proxy --write-config-to=- --write-config-version=v1alpha1",
    code: 0,
    stdout: /^apiVersion: .*\/v1alpha1\n/,
    stderr: /"Wrote configuration"/,
  },
  {
    name: "config validate: an invalid file",
    line: "kube-proxy config validate broken.yaml",
    code: 1,
    stdout: /2 errors/,
  },
  {
    name: "config validate: a file that cannot be read",
    line: "kube-proxy config validate none.yaml",
    code: 2,
    stderr: /no such file/,
  },
  {
    name: "config convert: an invalid file",
    line: "kube-proxy config convert broken.yaml",
    code: 1,
    stderr: /oomScoreAdj/,
  },
  {
    name: "config convert: loss allowed",
    line: "kube-proxy config convert lossy.yaml",
    code: 0,
    stdout: /v1alpha1/,
    stderr: /minSyncPeriod/,
  },
  {
    name: "config convert: a file that cannot be read",
    line: "kube-proxy config convert none.yaml",
    code: 2,
    stderr: /no such file/,
  },
  {
    name: "config validate: a valid file",
    line: "kube-proxy config validate lossy.yaml",
    code: 0,
    stdout: /: valid \(v1alpha2, mode nftables\)/,
  },
  {
    name: "completion: an unknown shell",
    line: "kube-proxy completion tcsh",
    code: 2,
    stderr: /^Error: .*tcsh/,
  },
  { name: "completion", line: "kube-proxy completion bash", code: 0, stdout: /kube-proxy/ },
  {
    name: "namespaces: no name",
    line: "kube-proxy namespaces opt-out",
    code: 2,
    stderr: /^Error: Missing NAME/,
  },
  {
    name: "config convert: loss forbidden",
    line: "kube-proxy config convert lossy.yaml --fail-on-loss",
    code: 1,
    stderr: /lost/,
  },
];

type Ran = Awaited<ReturnType<typeof shell>>;

/** The command line in this process; files are those of the folder. */
async function dispatched(line: string, directory: string): Promise<Ran> {
  const [, ...args] = line.replaceAll(/\w+\.yaml/g, `${directory}/$&`).split(" ");
  const { exitCode, ...said } = await runProgram(args, commandTree);
  return { code: exitCode, ...said };
}

const groups = [
  { what: "the program", rows: processes, run: shell },
  { what: "a command line", rows, run: dispatched },
] as const;

for (const { rows, run, what } of groups) {
  Deno.test(`${what} ends with the right exit code and a sentence`, async (t) => {
    const directory = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${directory}/broken.yaml`, broken);
      await Deno.writeTextFile(`${directory}/lossy.yaml`, lossy);
      for (const { name, line, code, stdout = /^/, stderr = /^$/ } of rows) {
        await t.step(name, async () => {
          const ran = await run(line, directory);
          assert.match(ran.stderr, stderr);
          assert.match(ran.stdout, stdout);
          assert.equal(ran.code, code, ran.stderr);
          assert.doesNotMatch(ran.stderr, /^ +at .*:\d+:\d+|Stack backtrace|panicked/m);
        });
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}
