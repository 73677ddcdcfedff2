import assert from "node:assert/strict";
import { ProgressLine } from "../../../cmd/run/progress_line.ts";

function written(isTerminal: boolean): string {
  let text = "";
  const line = new ProgressLine({ isTerminal, write: (more) => void (text += more) });
  line.clear();
  line.show("Reading a.yaml");
  line.show("Reading b.yaml");
  line.clear();
  line.clear();
  return text;
}

Deno.test("ProgressLine leaves an empty line behind, and nothing where there is no terminal", () => {
  const start = "\r\x1b[K";
  assert.equal(written(true), `${start}Reading a.yaml${start}Reading b.yaml${start}`);
  assert.equal(written(false), "");
});
