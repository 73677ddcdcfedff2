import assert from "node:assert/strict";
import { formatDuration, parseDuration } from "../../../lib/base/duration.ts";

/** Text, milliseconds, and how Go prints them. */
const durations: [string, number, string][] = [
  ["0", 0, "0s"],
  ["0s", 0, "0s"],
  ["5s", 5_000, "5s"],
  ["1h15m", 4_500_000, "1h15m0s"],
  ["1.1s", 1_100, "1.1s"],
  [".5s", 500, "500ms"],
  ["1.s", 1_000, "1s"],
  ["-1m", -60_000, "-1m0s"],
  ["+1m", 60_000, "1m0s"],
  ["100ns", 0.0001, "100ns"],
  ["3us", 0.003, "3\u00b5s"],
  ["3\u03bcs", 0.003, "3\u00b5s"],
  ["1h1ns", 3_600_000.000001, "1h0m0.000000001s"],
  ["0.1ns", 0, "0s"],
  ["3\u00b5s", 0.003, "3\u00b5s"],
  ["999ns", 0.000999, "999ns"],
  ["1000ns", 0.001, "1\u00b5s"],
  ["1500ns", 0.0015, "1.5\u00b5s"],
  ["1000us", 1, "1ms"],
  ["1500us", 1.5, "1.5ms"],
  ["1000ms", 1_000, "1s"],
  ["59.5s", 59_500, "59.5s"],
  ["60s", 60_000, "1m0s"],
  ["3599s", 3_599_000, "59m59s"],
  ["60m", 3_600_000, "1h0m0s"],
  ["25h", 90_000_000, "25h0m0s"],
  ["-1.5h", -5_400_000, "-1h30m0s"],
  ["-5ms", -5, "-5ms"],
];

Deno.test("durations are read and written as Go does", async (t) => {
  for (const [text, milliseconds, printed] of durations) {
    await t.step(text, () => {
      assert.equal(parseDuration(text), milliseconds);
      assert.equal(formatDuration(milliseconds), printed);
    });
  }
});

Deno.test("parseDuration() refuses what Go refuses", () => {
  for (const text of ["", "5", "s", ".s", "1d", "1s ", " 1s", "1 s", "1e3s", "--1s", "2562048h"]) {
    assert.equal(parseDuration(text), undefined, text);
  }
});
