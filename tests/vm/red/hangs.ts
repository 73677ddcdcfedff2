/** A guest test that never ends. */
Deno.test("a guest test that hangs", async () => {
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
});
