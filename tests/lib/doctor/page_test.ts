import assert from "node:assert/strict";
import { checks } from "../../../lib/doctor/checks.ts";
import { doctorPage } from "./page.ts";

const url = new URL("../../../docs/doctor.md", import.meta.url);

Deno.test("docs/doctor.md is what the list of checks says", async () => {
  const page = doctorPage();
  if (Deno.env.get("UPDATE_GOLDEN") === "1") return await Deno.writeTextFile(url, page);
  assert.equal(page, await Deno.readTextFile(url), "docs/doctor.md differs; see deno task golden");
});

Deno.test("docs/doctor.md says of each check how it was shown", () => {
  const page = doctorPage();
  for (const { id } of checks) {
    assert.match(page, new RegExp(`^\\| ${id} \\|.*\\| (table|namespace|VM) \\|$`, "m"), id);
  }
});
