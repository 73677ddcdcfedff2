/** Golden files: small text that people review as a diff. `deno task golden` writes them anew. */
import assert from "node:assert/strict";

const folder = new URL("../../golden/", import.meta.url);

/** Fails when the text is not what the file holds; with UPDATE_GOLDEN=1 it writes the file instead. */
export async function assertGolden(file: string, text: string): Promise<void> {
  const url = new URL(file, folder);
  if (Deno.env.get("UPDATE_GOLDEN") === "1") {
    await Deno.mkdir(new URL(".", url), { recursive: true });
    await Deno.writeTextFile(url, text);
    return;
  }
  assert.equal(text, await Deno.readTextFile(url), `${file} differs; see deno task golden`);
}
