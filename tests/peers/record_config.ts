/**
 * Asks upstream's kube-proxy what it makes of every case of `tests/lib/config/upstream_cases.ts` and
 * records its answers. Run with the path of its binary:
 *   deno run -A tests/peers/record_config.ts <kube-proxy>
 */
import { upstreamCases } from "../lib/config/upstream_cases.ts";
import { linesBeyond, type Recorded, recordedPath } from "./recorded_config.ts";

interface Answer {
  readonly output?: string;
  readonly error?: string;
}

async function ask(binary: string, folder: string, text: string): Promise<Answer> {
  const [file, written] = [`${folder}/config.yaml`, `${folder}/written.yaml`];
  await Deno.writeTextFile(file, text);
  const { code, stderr } = await new Deno.Command(binary, {
    args: ["--config", file, "--write-config-to", written],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (code === 0) return { output: await Deno.readTextFile(written) };
  const message = new TextDecoder().decode(stderr).trim().split("\n").at(-1) ?? "";
  return { error: message.replace(/^.*"command failed" err=/, "").replaceAll(folder, "") };
}

const empty = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

/** All that upstream makes of the cases. */
export async function recordConfig(binary: string): Promise<Recorded> {
  const folder = await Deno.makeTempDir();
  try {
    const { stdout } = await new Deno.Command(binary, { args: ["--version"] }).output();
    const base = await ask(binary, folder, empty);
    if (!base.output) throw new Error(`The empty configuration was refused: ${base.error}`);
    const cases: Record<string, Recorded["cases"][string]> = {};
    for (const { name, text } of upstreamCases) {
      const { output, error } = await ask(binary, folder, text);
      cases[name] = output === undefined
        ? { error: error ?? "" }
        : { changed: linesBeyond(output, base.output) };
    }
    return {
      program: new TextDecoder().decode(stdout).trim(),
      date: new Date().toISOString().slice(0, 10),
      base: base.output,
      cases,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const recorded = await recordConfig(Deno.args[0]);
  await Deno.writeTextFile(recordedPath, `${JSON.stringify(recorded, null, 1)}\n`);
}
