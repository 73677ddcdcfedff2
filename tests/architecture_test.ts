import assert from "node:assert/strict";
import {
  findViolations,
  findViolationsTogether,
  readSource,
  type SourceFile,
} from "./architecture/checker.ts";
import { hiddenSins, innocentTexts } from "./architecture/hidden_sins.ts";
import { projectSources } from "./architecture/project_sources.ts";
import { filesOf, sharedSins } from "./architecture/shared_sins.ts";
import { longFunctions, sins } from "./architecture/sins.ts";

const root = new URL("..", import.meta.url).pathname;

Deno.test("the sources keep the architecture", async () => {
  const files = await projectSources(root);
  assert.ok(files.length > 50, `only ${files.length} files were read`);
  const read = files.map(readSource);
  assert.deepEqual([...findViolations(read), ...findViolationsTogether(read)], []);
});

Deno.test("findViolations() finds planted sins", async (t) => {
  const path = "lib/base/a.ts";
  const inBase = [...hiddenSins, ...longFunctions].map((sin) => ({ path, ...sin }));
  for (const { name, path, text, sorry } of [...sins, ...inBase]) {
    await t.step(name, () => {
      const found = findViolations([readSource({ path, text })]);
      assert.ok(
        found.some((line) => line.includes(sorry)),
        found.join("; ") || "nothing was found",
      );
    });
  }
});

Deno.test("findViolationsTogether() finds circles and what nobody imports", async (t) => {
  for (const sin of sharedSins) {
    await t.step(sin.name, () => {
      const found = findViolationsTogether(filesOf(sin).map(readSource));
      const { sorry } = sin;
      if (sorry === undefined) assert.deepEqual(found, []);
      else assert.ok(found.some((line) => line.includes(sorry)), found.join("; "));
    });
  }
});

const innocent: readonly SourceFile[] = [
  ...innocentTexts.map((text) => ({ path: "lib/base/a.ts", text })),
  { path: "lib/base/a.ts", text: `function f() {\n${"x();\n".repeat(58)}}` },
  { path: "lib/writers/registry.ts", text: 'const load = () => import("./nftables/mod.ts");' },
  { path: "lib/kernel/a.ts", text: 'Deno.readTextFileSync("/proc/self/stat");' },
];

Deno.test("findViolations() lets innocent code pass", async (t) => {
  for (const file of innocent) {
    await t.step(file.text.slice(0, 60).trim(), () => {
      assert.deepEqual(findViolations([readSource(file)]), []);
    });
  }
});
