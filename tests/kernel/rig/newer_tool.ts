/** Tools newer than this machine's: see scripts/newer-tool. */

/** The path of a program that runs the tool; undefined where it cannot be had, with the reason printed. */
export async function newerTool(tool: "nft" | "iptables"): Promise<string | undefined> {
  const command = new Deno.Command("scripts/newer-tool", { args: [tool] });
  const { stderr, stdout, success } = await command.output();
  if (success) return new TextDecoder().decode(stdout).trim();
  await Deno.stderr.write(stderr);
  return undefined;
}

/** What the program says of itself, as a number that grows with the version. */
export async function versionOf(argv: readonly string[]): Promise<number> {
  const { stdout } = await new Deno.Command(argv[0], { args: [...argv.slice(1), "--version"] })
    .output();
  const [, major, minor, patch] = /v(\d+)\.(\d+)\.(\d+)/.exec(new TextDecoder().decode(stdout)) ??
    [];
  return Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch);
}
