import assert from "node:assert/strict";
import type { CommandEntry } from "../../cmd/command.ts";
import { runCommand, type StartProxy } from "../../cmd/run_command.ts";
import { toV1alpha1 } from "../../lib/config/write.ts";
import { formLines, refusedLines } from "../peers/flag_line_forms.ts";
import { distributionLines } from "../peers/flag_lines.ts";
import { flagFile, readRecord, withChanges } from "../peers/flag_record.ts";
import { runProgram } from "./surroundings.ts";

/** Nothing here may depend on where the files of the project are. */
function withFiles(args: readonly string[]): string[] {
  return args.map((arg) => arg.replace(/@([\w.]+)$/, (_, file) => flagFile(file)));
}

/** What this program makes of a command line, in upstream's terms. */
async function configurationOf(args: readonly string[]): Promise<unknown> {
  let configuration: unknown;
  const start: StartProxy = (options) => {
    configuration = toV1alpha1(options.configuration, { unsetMinSyncPeriod: "upstream" });
    return Promise.resolve(0);
  };
  const { stderr, exitCode } = await runProgram(args, { entries: [runEntry(start)] });
  assert.equal(exitCode, 0, stderr);
  return configuration;
}

function runEntry(start: StartProxy): CommandEntry {
  return { words: ["run"], summary: "", load: () => Promise.resolve(runCommand(start)) };
}

/** As text tells it: upstream knows an empty list from none, and nothing depends on it. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, part) => Array.isArray(part) && part.length === 0 ? null : part),
  );
}

const record = await readRecord();

Deno.test("the record is of the release this program follows, and of these command lines", () => {
  assert.equal(record.program, "Kubernetes v1.37.0");
  const lines = [...distributionLines, ...formLines, ...refusedLines];
  assert.deepEqual(record.records.map(({ name, args }) => ({ name, args })), lines);
  assert.ok(distributionLines.length + formLines.length >= 60);
});

Deno.test("a command line gives the configuration that upstream gives", async (t) => {
  for (const { name, args, changed } of record.records) {
    if (!changed) continue;
    // Cleaning up is another thing than running.
    const ran = args.filter((arg) => arg !== "--cleanup");
    await t.step(name, async () => {
      assert.deepEqual(
        plain(await configurationOf(withFiles(ran))),
        plain(withChanges(record.base, changed)),
      );
    });
  }
});

Deno.test("a command line that upstream refuses is refused in one sentence", async (t) => {
  const never: StartProxy = () => assert.fail("the proxy was started");
  for (const { name, args, exitCode } of record.records) {
    if (exitCode === 0) continue;
    await t.step(name, async () => {
      // As it was recorded: --write-config-to leaves ports alone.
      const asRecorded = ["--write-config-to=-", ...withFiles(args)];
      const ran = await runProgram(asRecorded, { entries: [runEntry(never)] });
      assert.equal(ran.exitCode, exitCode, ran.stderr);
      assert.equal(ran.stdout, "");
      const [sentence, ...others] = ran.stderr.trimEnd().split("\n").toReversed();
      assert.match(
        sentence,
        /^(Error: |E\d{4} .+ "command failed" err="|\{.+"command failed","err":")/,
      );
      assert.deepEqual(others.filter((line) => !line.includes("deprecated")), []);
      assert.doesNotMatch(ran.stderr, /\bat .*\.ts/);
    });
  }
});

Deno.test("the periods nobody gave are unset", async (t) => {
  const rows: readonly { name: string; args: string[]; minSyncPeriodMs: number | undefined }[] = [
    { name: "no flag", args: [], minSyncPeriodMs: undefined },
    { name: "nftables", args: ["--proxy-mode=nftables"], minSyncPeriodMs: undefined },
    { name: "given as zero", args: ["--iptables-min-sync-period=0"], minSyncPeriodMs: 0 },
    {
      name: "given as upstream's default",
      args: ["--iptables-min-sync-period=1s"],
      minSyncPeriodMs: 1000,
    },
    { name: "ipvs has upstream's default", args: ["--proxy-mode=ipvs"], minSyncPeriodMs: 1000 },
    {
      name: "ipvs given as zero",
      args: ["--proxy-mode=ipvs", "--ipvs-min-sync-period=0"],
      minSyncPeriodMs: 0,
    },
  ];
  for (const { name, args, minSyncPeriodMs } of rows) {
    await t.step(name, async () => {
      const start: StartProxy = ({ configuration }) => {
        assert.equal(configuration.minSyncPeriodMs, minSyncPeriodMs);
        return Promise.resolve(0);
      };
      const { exitCode, stderr } = await runProgram(args, { entries: [runEntry(start)] });
      assert.equal(exitCode, 0, stderr);
    });
  }
});
