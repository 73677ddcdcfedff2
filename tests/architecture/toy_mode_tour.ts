/**
 * What a program does with the toy mode, as one line of JSON. Runs in a copy of the tree into which the
 * mode was planted (`../toy_mode_test.ts`), on a kernel in memory.
 */
import { commandTree } from "../../cmd/commands.ts";
import { dispatch } from "../../cmd/dispatch.ts";
import type { FakeKernel } from "../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../lib/kernel/fake_sysctl.ts";
import { leftoversByMode } from "../../lib/writers/registry.ts";
import { nodeKernel, withManifests } from "../cmd/run/proxy_rig.ts";
import { findViolations, readSource } from "./checker.ts";

/** What a command printed, or what the kernel held, by what was done. */
export type Tour = Readonly<Record<string, string>>;

const sysctl = "net/toy/families";
const { signal } = new AbortController();

async function command(...args: readonly string[]): Promise<string> {
  let text = "";
  const write = (part: string) => void (text += part);
  const code = await dispatch(args, commandTree, {
    stdin: { readable: new ReadableStream(), isTerminal: false },
    stdout: { write, isTerminal: false },
    stderr: { write, isTerminal: false },
    pid: 1,
    env: () => undefined,
    signal,
  });
  return `${code}\n${text}`;
}

/** Runs a proxy of one Service until it ends by itself, and tells its log. */
async function run(kernel: FakeKernel, ...args: readonly string[]): Promise<string> {
  let log = "";
  await withManifests({ kernel, args }, async (proxy) => {
    const code = await proxy.ended();
    log = `${code}\n${proxy.stderr}${proxy.stdout}`;
  });
  return log;
}

async function cleanUp(kernel: FakeKernel): Promise<string> {
  const door = await leftoversByMode.get("toymode")?.();
  if (!door?.removal) return "no door";
  const found = await door.find(kernel, signal);
  const plan = await door.removal.plan(kernel, signal);
  const { removed, remaining } = await door.removal.apply(kernel, plan, signal);
  const left = await door.find(kernel, signal);
  return `${found.length} found, ${removed.length} removed, ${remaining.length} remain, ${left.length} found again`;
}

async function violations(paths: readonly string[]): Promise<string> {
  const root = new URL("../../", import.meta.url);
  const files = paths.map(async (path) => ({
    path,
    text: await Deno.readTextFile(new URL(path, root)),
  }));
  return findViolations((await Promise.all(files)).map(readSource)).join("\n");
}

async function tour(folder: string, planted: readonly string[]): Promise<Tour> {
  const kernel = nodeKernel({ sysctl: new FakeSysctl({ [sysctl]: "" }) });
  const toy = ["--proxy-mode=toymode", "--once"];
  const file = `${folder}/toy.yaml`;
  const header = "apiVersion: kubeproxy.config.k8s.io/v1alpha2\nkind: KubeProxyConfiguration\n";
  await Deno.writeTextFile(file, `${header}mode: toymode\ntoymode: { greeting: servus }\n`);
  const split = `${folder}/split`;
  return {
    architecture: await violations(planted),
    defaults: await command("config", "defaults", "--mode", "toymode"),
    schema: await command("config", "schema"),
    validated: await command("config", "validate", file),
    converted: await command("config", "convert", file),
    split: await command("config", "convert", "--to=v1alpha2", "--split", split, file) +
      await Deno.readTextFile(`${split}/toymode.yaml`).catch(String),
    completed: await command("__complete", "run", "--proxy-mode="),
    dryRun: await run(kernel, ...toy, "--dry-run"),
    initOnly: await run(kernel, "--proxy-mode=toymode", "--init-only"),
    prepared: JSON.stringify(kernel.sysctl.values()),
    before: kernel.tables.dump(),
    once: await run(kernel, ...toy),
    after: kernel.tables.dump(),
    configured: await run(
      nodeKernel({ sysctl: new FakeSysctl({ [sysctl]: "" }) }),
      `--config=${file}`,
      "--dry-run",
    ),
    found: await run(kernel, "--proxy-mode=nftables", "--once"),
    cleanedUp: await cleanUp(kernel),
  };
}

if (import.meta.main) {
  const [folder, ...planted] = Deno.args;
  const text = JSON.stringify(await tour(folder, planted));
  await Deno.stdout.write(new TextEncoder().encode(text));
}
