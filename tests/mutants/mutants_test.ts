import assert from "node:assert/strict";
import { runMutants } from "./mutants.ts";
import { describe } from "./result.ts";

const source = `export function isLarge(size: number): boolean {
  return size >= 10;
}
export function count(list: string[]): number {
  let sum = 0;
  while (sum < list.length) sum++;
  return sum;
}
`;

/** One test knows the bound; the other one passes whatever happens. */
const good = `import { count, isLarge } from "../../lib/a.ts";
Deno.test("isLarge() begins at 10", () => {
  if (isLarge(9) || !isLarge(10) || isLarge(-1)) throw new Error("no");
});
Deno.test("count() counts", () => {
  if (count([]) !== 0 || count(["a", "b"]) !== 2) throw new Error("no");
});`;
const blind = `import { isLarge } from "../../lib/a.ts";
Deno.test("isLarge() answers", () => void isLarge(100));`;

async function project(test: string): Promise<string> {
  const root = `${await Deno.makeTempDir({ prefix: "kube-proxy-mutants-test-" })}/`;
  const files = {
    "deno.json": '{ "nodeModulesDir": "auto" }',
    "main.ts": "",
    "cmd/.keep": "",
    "scripts/.keep": "",
    "tests/cmd/.keep": "",
    "tests/cmd/a_test.ts": "",
    "lib/a.ts": source,
    "tests/lib/a_test.ts": test,
  };
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(root + path.slice(0, path.lastIndexOf("/") + 1), { recursive: true });
    await Deno.writeTextFile(root + path, text);
  }
  await new Deno.Command("git", { args: ["init", "--quiet"], cwd: root }).output();
  return root;
}

async function survivors(
  test: string,
  { folder, patienceSeconds = 10, signal = new AbortController().signal }: {
    readonly folder?: string;
    readonly patienceSeconds?: number;
    readonly signal?: AbortSignal;
  } = {},
): Promise<string[]> {
  const root = await project(test);
  try {
    const { killed, survived } = await runMutants({
      root,
      wanted: { rooms: ["lib/"], seed: 1, count: 99, floor: 0, jobs: 2, tests: "unit" },
      patienceSeconds,
      signal,
      ...folder === undefined ? {} : { folder },
      tell: () => {},
    });
    assert.equal(killed.length + survived.length, 8);
    return survived.map(describe);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("runMutants() sees what good tests notice, an endless loop too", async () => {
  assert.deepEqual(await survivors(good, { patienceSeconds: 0.5 }), []);
});

Deno.test("runMutants() names what blind tests do not notice", async () => {
  assert.deepEqual((await survivors(blind)).slice(0, 3), [
    "lib/a.ts:2: `size >= 10` -> `undefined`",
    "lib/a.ts:2: `size >= 10` -> `(size > 10)`",
    "lib/a.ts:2: `10` -> `11`",
  ]);
});

Deno.test("runMutants() judges by no tests that fail anyway", async () => {
  await assert.rejects(survivors('Deno.test("x", () => { throw new Error("broken"); });'), {
    message: /^Cannot judge mutants: the unit tests do not pass without any: [^]*broken/,
  });
});

Deno.test("runMutants() ends when told, and leaves no copy behind", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const signal = AbortSignal.timeout(500);
    await assert.rejects(survivors(good, { folder, signal }), { name: "TimeoutError" });
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
