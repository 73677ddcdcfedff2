import assert from "node:assert/strict";
import { readSource } from "../architecture/checker.ts";
import { Reach } from "./reach.ts";

const files = Object.entries({
  "lib/a.ts": "",
  "lib/b.ts": 'import "./a.ts";',
  "lib/c.ts": 'import type { A } from "./b.ts";',
  "lib/alone.ts": "",
  "tests/lib/a_test.ts": 'import "../../lib/a.ts";',
  "tests/lib/quick_test.ts": 'import "../../lib/a.ts";',
  "tests/lib/b_test.ts": 'import "../../lib/b.ts";',
  "tests/lib/rig.ts": 'new URL("../../lib/c.ts", import.meta.url);',
  "tests/lib/far_test.ts": 'import "./rig.ts";',
  "tests/lib/lazy_test.ts": 'await import("../../lib/b.ts");',
}).map(([path, text]) => readSource({ path, text }));

Deno.test("Reach gives a file's own test first, then the quick ones, then those further off", () => {
  const costs: Record<string, number> = { "tests/lib/a_test.ts": 9, "tests/lib/b_test.ts": 2 };
  const reach = new Reach(files, (test) => costs[test] ?? 1);
  assert.deepEqual(reach.ringsOf("lib/a.ts"), [
    ["tests/lib/a_test.ts", "tests/lib/quick_test.ts"],
    ["tests/lib/lazy_test.ts", "tests/lib/b_test.ts"],
    ["tests/lib/far_test.ts"],
  ]);
  assert.deepEqual(reach.ringsOf("lib/alone.ts"), []);
});
