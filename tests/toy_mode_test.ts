/**
 * What a new mode costs: a folder with its three doors, and a row in the registry. The mode is planted
 * in a copy of the tree, and then the program there runs it, reads and writes its settings, finds its
 * rules and removes them.
 */
import assert from "node:assert/strict";
import type { Tour } from "./architecture/toy_mode_tour.ts";

const root = new URL("..", import.meta.url).pathname;
const doors = ["config.ts", "mod.ts", "leftovers.ts"];
const registry = "lib/writers/registry.ts";

/** What the copy holds; nothing else is needed to run there. */
const copied = ["lib", "cmd", "tests/architecture", "tests/cmd/run", "tests/fakes", "main.ts"];
const settings = ["deno.json", "deno.lock"];

Deno.test("a new mode is a folder with three doors and a row in the registry", async (t) => {
  const copy = await Deno.makeTempDir({ prefix: "kpt-toy-" });
  try {
    for (const path of [...copied, ...settings]) await copyTree(path, copy);
    await Deno.symlink(`${root}node_modules`, `${copy}/node_modules`);
    const added = await plant(copy);
    const tour = await visit(copy, [...added, registry]);
    for (const [name, check] of Object.entries(checks)) {
      await t.step(name, () => check(tour));
    }
    await t.step("the types of all that reads settings hold", () => typeCheck(copy));
    await t.step("no other file had to change", async () => {
      const { changed, created } = await differences(copy);
      assert.deepEqual(changed, [registry]);
      assert.deepEqual(created, added);
      assert.equal(await addedLines(copy), 2, "an import and a row");
    });
    await t.step("a file that had to change would be noticed", async () => {
      const other = "lib/config/internal.ts";
      await Deno.writeTextFile(`${copy}/${other}`, "\n", { append: true });
      assert.deepEqual((await differences(copy)).changed, [other, registry]);
    });
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});

const checks: Readonly<Record<string, (tour: Tour) => void>> = {
  "it keeps the architecture": ({ architecture }) => assert.equal(architecture, ""),
  "it is in the configuration": ({ defaults, schema, validated, completed }) => {
    assert.match(
      defaults,
      /^0\n.*\nmode: toymode\n.*\ntoymode:\n {2}# [^\n]+\n {2}greeting: hello\n/s,
    );
    assert.match(schema, /"v1alpha2\.KubeProxyToyConfiguration"/);
    assert.match(validated, /^0\n/);
    assert.match(completed, /toymode/);
  },
  "it is converted": ({ converted, split }) => {
    assert.match(converted, /^\d\n.*\nmode: toymode\n/s);
    assert.match(converted, /lost.*toymode\.greeting/);
    assert.match(split, /kind: KubeProxyToyConfiguration\n/);
  },
  "it runs": ({ dryRun, configured, once, before, after }) => {
    assert.match(dryRun, /^0\n.*IPv4 hello-1\nIPv6 hello-0\n/s);
    assert.match(configured, /IPv4 servus-1\n/);
    assert.match(once, /^0\n/);
    assert.doesNotMatch(before, /toymode/);
    assert.match(after, /table ip toymode \{.*chain hello-1.*table ip6 toymode \{.*chain hello-0/s);
  },
  "it is prepared, with --init-only too": ({ initOnly, prepared }) => {
    assert.match(initOnly, /^0\n/);
    assert.equal(prepared, '{"net/toy/families":"2"}');
  },
  "it is found": ({ found }) => {
    assert.match(found, /left rules in this kernel: toymode mode \(IPv4\): table ip toymode/);
  },
  "it is cleaned up": ({ cleanedUp }) => {
    assert.equal(cleanedUp, "2 found, 2 removed, 0 remain, 0 found again");
  },
};

/** The paths of the new files. */
async function plant(copy: string): Promise<readonly string[]> {
  const folder = "lib/writers/toymode";
  await Deno.mkdir(`${copy}/${folder}`);
  for (const door of doors) {
    await Deno.copyFile(
      `${root}tests/architecture/toymode/${door}.txt`,
      `${copy}/${folder}/${door}`,
    );
  }
  const text = await Deno.readTextFile(`${copy}/${registry}`);
  const row = "  toymode: { ...toyConfig, rules: () => import('./toymode/mod.ts'), " +
    "leftovers: () => import('./toymode/leftovers.ts') },\n";
  const planted = text
    .replace(/^import /m, 'import { toyConfig } from "./toymode/config.ts";\nimport ')
    .replace(/^const modes = \{\n/m, `$&${row}`);
  await Deno.writeTextFile(`${copy}/${registry}`, planted);
  return doors.map((door) => `${folder}/${door}`).sort();
}

async function visit(copy: string, planted: readonly string[]): Promise<Tour> {
  const folder = `${copy}/tour`;
  await Deno.mkdir(folder);
  const script = `${copy}/tests/architecture/toy_mode_tour.ts`;
  const output = await inCopy(copy, ["run", "-A", "--no-check", script, folder, ...planted]);
  await Deno.remove(folder, { recursive: true });
  return JSON.parse(output);
}

async function typeCheck(copy: string): Promise<void> {
  await inCopy(copy, ["check", "lib/config/load.ts", `lib/writers/toymode/mod.ts`]);
}

async function inCopy(copy: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [args[0], "--quiet", ...args.slice(1)],
    cwd: copy,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  assert.ok(success, decoder.decode(stderr));
  return decoder.decode(stdout);
}

/** Files of the copy that are not as in the tree, and those that only the copy has. */
async function differences(copy: string) {
  const changed: string[] = [];
  const created: string[] = [];
  for (const path of await filesBelow(copy)) {
    const original = await Deno.readTextFile(root + path).catch(() => undefined);
    if (original === undefined) created.push(path);
    else if (original !== await Deno.readTextFile(`${copy}/${path}`)) changed.push(path);
  }
  return { changed: changed.sort(), created: created.sort() };
}

async function addedLines(copy: string): Promise<number> {
  const before = (await Deno.readTextFile(root + registry)).split("\n");
  const after = (await Deno.readTextFile(`${copy}/${registry}`)).split("\n");
  const kept = after.filter((line) => before.includes(line));
  assert.deepEqual(kept, before, "no line went");
  return after.length - before.length;
}

async function filesBelow(copy: string, folder = ""): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { isDirectory, isFile, name } of Deno.readDir(`${copy}/${folder}`)) {
    if (isDirectory) paths.push(...await filesBelow(copy, `${folder}${name}/`));
    if (isFile) paths.push(folder + name);
  }
  return paths;
}

async function copyTree(path: string, copy: string): Promise<void> {
  if ((await Deno.stat(root + path)).isFile) {
    return await Deno.copyFile(root + path, `${copy}/${path}`);
  }
  await Deno.mkdir(`${copy}/${path}`, { recursive: true });
  for await (const { name } of Deno.readDir(root + path)) await copyTree(`${path}/${name}`, copy);
}
