/**
 * Records what upstream's kube-proxy makes of the command lines: the configuration it writes, or
 * that it refuses. Nothing but `--write-config-to` is asked of it, so nothing on the machine changes.
 *
 *   deno run -A tests/peers/record_flags.ts PATH-OF-UPSTREAM'S-KUBE-PROXY
 */
import { parse } from "yaml";
import { formLines, refusedLines } from "./flag_line_forms.ts";
import { distributionLines, type FlagLine } from "./flag_lines.ts";
import {
  changesFrom,
  type FlagDump,
  flagFile,
  type FlagRecord,
  type RecordedFlags,
  recordPath,
  type Values,
} from "./flag_record.ts";

async function run(binary: string, args: readonly string[]): Promise<Deno.CommandOutput> {
  const command = new Deno.Command(binary, { args: [...args], stdout: "piped", stderr: "piped" });
  return await command.output();
}

type Answer = Omit<FlagRecord, "changed"> & { readonly configuration?: Values };

async function record(binary: string, { name, args }: FlagLine): Promise<Answer> {
  const target = await Deno.makeTempFile();
  try {
    const { code, stderr } = await run(binary, [
      `--write-config-to=${target}`,
      ...args.map((arg) => arg.replace(/@([\w.]+)$/, (_, file) => flagFile(file))),
    ]);
    const written: Values = parse(await Deno.readTextFile(target));
    const last = new TextDecoder().decode(stderr).trimEnd().split("\n").at(-1) ?? "";
    return code === 0
      ? { name, args, exitCode: code, configuration: written }
      : { name, args, exitCode: code, said: last.replace(/^E\d{4} [^\]]*\] /, "") };
  } finally {
    await Deno.remove(target);
  }
}

/** Every flag and its value, as the program logs them with these arguments. */
async function dump(binary: string, args: readonly string[]): Promise<FlagDump> {
  const { stderr } = await run(binary, ["-v=1", "--write-config-to=/dev/null", ...args]);
  const lines = new TextDecoder().decode(stderr).matchAll(/FLAG: (--\S+=".*")$/gm);
  return { args, flags: [...lines].map(([, flag]) => flag) };
}

/** All that upstream makes of the command lines. */
export async function recordFlags(binary: string): Promise<RecordedFlags> {
  const { stdout } = await run(binary, ["--version"]);
  const { configuration: base } = await record(binary, { name: "nothing", args: [] });
  if (!base) throw new Error("Cannot record: upstream refuses to run without flags");
  const records: FlagRecord[] = [];
  for (const line of [...distributionLines, ...formLines, ...refusedLines]) {
    const { configuration, ...rest } = await record(binary, line);
    records.push(
      configuration ? { ...rest, changed: changesFrom(base, configuration) } : rest,
    );
  }
  return {
    program: new TextDecoder().decode(stdout).trim(),
    date: new Date().toISOString().slice(0, 10),
    dumps: [await dump(binary, []), await dump(binary, dumpedArguments)],
    base,
    records,
  };
}

const dumpedArguments: readonly string[] = [
  "--proxy-mode=nftables",
  "--nodeport-addresses=primary,192.168.0.0/16",
  "--feature-gates=NFTablesNetlink=false,ComponentFlagz=true",
  "--cluster-cidr=10.128.0.0/14,fd00:10:128::/48",
  "--vmodule=a=1,b=2",
  "--iptables-sync-period=90s",
  "--kube-api-qps=0.5",
  "--hostname-override=Node-A",
];

/** One line for each command line: what a reader compares. */
function asText({ records, ...head }: RecordedFlags): string {
  const rows = records.map((each) => `  ${JSON.stringify(each)}`).join(",\n");
  return `${JSON.stringify(head, null, 1).replace(/\n}$/, "")},\n "records": [\n${rows}\n ]\n}\n`;
}

if (import.meta.main) {
  const [binary] = Deno.args;
  if (!binary) throw new Error("Cannot record: the path of upstream's kube-proxy is missing");
  await Deno.writeTextFile(recordPath, asText(await recordFlags(binary)));
}
