/**
 * Configurations as clusters have them, each beside a report of what the program makes of it: what
 * `config validate` says, what becomes of each field on the way to v1alpha2 and back, and how
 * `run --dry-run` ends. `UPDATE_GOLDEN=1` writes the reports.
 */
import assert from "node:assert/strict";
import { commandTree } from "../../cmd/commands.ts";
import { loadTexts } from "../../lib/config/load.ts";
import { inFolder } from "../fakes/folder.ts";
import { ProxyRun } from "./run/proxy_rig.ts";
import { type Ran, runProgram } from "./surroundings.ts";

const root = new URL("../../", import.meta.url).pathname;
const golden = `${root}tests/golden/field/`;
const names = [...Deno.readDirSync(golden)].map(({ name }) => name)
  .filter((name) => name.endsWith(".yaml")).map((name) => name.slice(0, -".yaml".length)).sort();

function config(...args: string[]): Promise<Ran> {
  return runProgram(["config", ...args], { ...commandTree });
}

Deno.test("configurations of clusters are checked, converted both ways and run, or refused with the way out", async (test) => {
  assert.equal(names.length, 27);
  for (const name of names) {
    await test.step(name, () =>
      inFolder(async (folder) => {
        await Deno.copyFile(`${golden}${name}.yaml`, `${folder}/${name}.yaml`);
        const report = (await reportOf(name, folder)).replaceAll(`${folder}/`, "");
        const path = `${golden}${name}.txt`;
        if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(path, report);
        assert.equal(report, await Deno.readTextFile(path));
      }));
  }
});

async function reportOf(name: string, folder: string): Promise<string> {
  const file = `${folder}/${name}.yaml`;
  const [there, back] = [`${folder}/there.yaml`, `${folder}/back.yaml`];
  const parts: string[] = [];
  const add = (title: string, text: string) => parts.push(`== ${title}\n${text.trimEnd()}\n`);
  const strict = await config("validate", file);
  add("config validate", strict.stdout);
  if (strict.exitCode !== 0) {
    add("config validate --lenient", (await config("validate", "--lenient", file)).stdout);
  }
  const first = await config("convert", file, "--out", there);
  add("config convert", first.stderr);
  if (first.exitCode === 0) {
    assert.equal((await config("validate", there)).exitCode, 0, "the result is valid");
    const second = await config("convert", there, "--to", "v1alpha1", "--out", back);
    add("config convert --to v1alpha1, of the result", second.stderr);
    assert.equal((await config("validate", back)).exitCode, 0, "what comes back is valid");
    await assertSameBehaviour(file, [there, back]);
  }
  const run = await dryRun(file);
  if (run) add("run --dry-run", run);
  return parts.join("\n");
}

/** What the files mean; a ConfigMap and what surrounds a document are of no interest here. */
async function assertSameBehaviour(file: string, others: readonly string[]): Promise<void> {
  const [expected, ...results] = await Promise.all([file, ...others].map(meaningOf));
  for (const result of results) assert.deepEqual(result, expected);
}

async function meaningOf(file: string): Promise<unknown> {
  const lines = (await Deno.readTextFile(file)).split("\n");
  const isManifest = lines.includes("kind: ConfigMap");
  const text = isManifest
    ? lines.filter((line) => line.startsWith("    ")).map((line) => line.slice(4)).join("\n")
    : lines.join("\n").split(/^---\n/m).find((each) => each.includes("kubeproxy.config")) ?? "";
  const start = { source: file, line: 1, column: 1 };
  const { loaded } = loadTexts([{ text, start }], { strict: false, platform: "any" });
  assert.ok(loaded, text);
  // A bindAddress that stands for all addresses changes nothing, and v1alpha2 has no field for it.
  return { ...loaded.configuration, unspecifiedBindAddress: "" };
}

/**
 * What a start on Linux complains of, and what its rules begin with. Undefined for a mode of which this
 * report says nothing but that it runs.
 */
async function dryRun(file: string): Promise<string | undefined> {
  const shop = `--manifests=${root}examples/shop`;
  const args = [`--config=${file}`, shop, "--hostname-override=shop-node", "--dry-run"];
  await using run = new ProxyRun({ commandLine: ["run", ...args] });
  const exitCode = await run.ended();
  const isRead = !run.stderr.includes("failed validate");
  if (isRead && /^mode: "?ipvs/m.test(await Deno.readTextFile(file))) {
    assert.deepEqual([exitCode, run.stdout.split("\n")[0]], [0, "# ipset restore"]);
    return undefined;
  }
  const complaints = run.complaints.map((line) => line.replace(/^(.).*?\] /, "$1 "));
  const rules = run.stdout.split("\n")[0];
  return [...complaints, ...rules ? [rules, "…"] : [], `exit code ${exitCode}`].join("\n");
}
