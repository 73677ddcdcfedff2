import assert from "node:assert/strict";
import { untilRulesLetGo } from "../../../../lib/kernel/nf_tables/letting_go.ts";

const { signal } = new AbortController();

/** What each attempt was made with; `stays` says what is still in use after which of them. */
async function attempts(
  all: readonly string[],
  stays: readonly (readonly string[])[],
): Promise<{ readonly tried: readonly (readonly string[])[]; readonly left: readonly string[] }> {
  const tried: (readonly string[])[] = [];
  const left = await untilRulesLetGo(all, (waiting) => {
    tried.push(waiting);
    return stays[tried.length - 1] ?? [];
  }, signal);
  return { tried, left };
}

Deno.test("untilRulesLetGo() tries again what was still in use, and nothing once all is done", async () => {
  assert.deepEqual(await attempts(["a", "b"], [["b"]]), { tried: [["a", "b"], ["b"]], left: [] });
  assert.deepEqual(await attempts(["a"], []), { tried: [["a"]], left: [] });
});

Deno.test("untilRulesLetGo() attempts nothing where there is nothing", async () => {
  assert.deepEqual(await attempts([], []), { tried: [], left: [] });
});
