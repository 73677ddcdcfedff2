/**
 * Records what upstream's kube-proxy makes of the command lines: the configuration it writes, or
 * that it refuses. Nothing but `--write-config-to` is asked of it, so nothing on the machine changes.
 *
 *   deno run -A tests/peers/record_flags.ts PATH-OF-UPSTREAM'S-KUBE-PROXY
 */
import { parse } from "yaml";
import { formLines, refusedLines } from "./flag_line_forms.ts";
import { distributionLines, type FlagLine } from "./flag_lines.ts";
import { flagFile, type FlagRecord, recordPath } from "./flag_record.ts";

async function run(binary: string, args: readonly string[]): Promise<Deno.CommandOutput> {
  const command = new Deno.Command(binary, { args: [...args], stdout: "piped", stderr: "piped" });
  return await command.output();
}

async function record(binary: string, { name, args }: FlagLine): Promise<FlagRecord> {
  const target = await Deno.makeTempFile();
  try {
    const { code, stderr } = await run(binary, [
      `--write-config-to=${target}`,
      ...args.map((arg) => arg.replace(/@([\w.]+)$/, (_, file) => flagFile(file))),
    ]);
    const written: unknown = parse(await Deno.readTextFile(target));
    const last = new TextDecoder().decode(stderr).trimEnd().split("\n").at(-1) ?? "";
    return code === 0
      ? { name, args, exitCode: code, configuration: written }
      : { name, args, exitCode: code, said: last.replace(/^E\d{4} [^\]]*\] /, "") };
  } finally {
    await Deno.remove(target);
  }
}

const [binary] = Deno.args;
if (!binary) throw new Error("Cannot record: the path of upstream's kube-proxy is missing");
const { stdout } = await run(binary, ["--version"]);
const records: FlagRecord[] = [];
for (const line of [...distributionLines, ...formLines, ...refusedLines]) {
  records.push(await record(binary, line));
}
const recorded = {
  program: new TextDecoder().decode(stdout).trim(),
  date: new Date().toISOString().slice(0, 10),
  records,
};
await Deno.writeTextFile(recordPath, `${JSON.stringify(recorded, null, 1)}\n`);
