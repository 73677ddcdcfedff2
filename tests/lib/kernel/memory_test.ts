/** What is asked of the C library and the engine for memory that nobody uses. */
import assert from "node:assert/strict";
import {
  collectGarbage,
  keepLittleFreeMemory,
  returnFreeMemory,
} from "../../../lib/kernel/memory.ts";
import { replacingLibc } from "../../fakes/recorded_kernel.ts";

Deno.test("keepLittleFreeMemory() bounds what is kept, before returnFreeMemory() gives the rest back", async () => {
  const calls: string[] = [];
  await replacingLibc({
    mallopt: (option, value) => calls.push(`mallopt ${option} ${value}`),
    malloc_trim: (pad) => calls.push(`malloc_trim ${pad}`),
  }, () => {
    keepLittleFreeMemory();
    returnFreeMemory();
  });
  // M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_ARENA_MAX.
  assert.deepEqual(calls, [
    "mallopt -3 131072",
    "mallopt -1 131072",
    "mallopt -8 2",
    "malloc_trim 0",
  ]);
});

Deno.test("collectGarbage() asks for the last resort, where the engine can be asked", () => {
  const asked: unknown[] = [];
  const engine = globalThis as { gc?: (options: unknown) => void };
  const before = engine.gc;
  try {
    engine.gc = (options) => asked.push(options);
    collectGarbage();
    delete engine.gc;
    collectGarbage();
  } finally {
    if (before) engine.gc = before;
  }
  assert.deepEqual(asked, [{ type: "major", execution: "sync", flavor: "last-resort" }]);
});
