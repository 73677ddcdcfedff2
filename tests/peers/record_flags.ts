/**
 * Records what upstream's kube-proxy makes of the command lines: the configuration it writes, or
 * that it refuses. Nothing but `--write-config-to` is asked of it, so nothing on the machine changes.
 *
 *   deno run -A tests/peers/record_flags.ts PATH-OF-UPSTREAM'S-KUBE-PROXY
 */
import { parse } from "yaml";
import { formLines, refusedLines } from "./flag_line_forms.ts";
import { distributionLines, type FlagLine } from "./flag_lines.ts";
import { type FlagDump, flagFile, type FlagRecord, recordPath } from "./flag_record.ts";

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

/** Every flag and its value, as the program logs them with these arguments. */
async function dump(binary: string, args: readonly string[]): Promise<FlagDump> {
  const { stderr } = await run(binary, ["-v=1", "--write-config-to=/dev/null", ...args]);
  const lines = new TextDecoder().decode(stderr).matchAll(/FLAG: (--\S+=".*")$/gm);
  return { args, flags: [...lines].map(([, flag]) => flag) };
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
  dumps: [
    await dump(binary, []),
    await dump(binary, [
      "--proxy-mode=nftables",
      "--nodeport-addresses=primary,192.168.0.0/16",
      "--feature-gates=NFTablesNetlink=false,ComponentFlagz=true",
      "--cluster-cidr=10.128.0.0/14,fd00:10:128::/48",
      "--vmodule=a=1,b=2",
      "--iptables-sync-period=90s",
      "--kube-api-qps=0.5",
      "--hostname-override=Node-A",
    ]),
  ],
  records,
};
await Deno.writeTextFile(recordPath, `${JSON.stringify(recorded, null, 1)}\n`);
