import assert from "node:assert/strict";

Deno.test("watches go on and follow opt-out after the garbage was collected", async () => {
  const script = new URL("./garbage_collection.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--quiet", "--v8-flags=--expose-gc", script],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
  assert.ok(success, text);
  assert.match(text, /2 passed/);
});
