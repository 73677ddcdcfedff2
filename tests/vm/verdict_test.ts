import assert from "node:assert/strict";
import { complaintOf, verdictsOf } from "./verdict.ts";

const nonce = "guest-1";
const record = (console: string) => ({ nonce, tests: ["a.ts", "b.ts"], console });

Deno.test("a test passed when its own mark says so, whatever ends a line", () => {
  const console = "boot\r\nguest-1 begins a.ts\r\nok\r\nguest-1 ends a.ts 0 7\r\n" +
    "guest-1 begins b.ts\r\nguest-1 ends b.ts 0 12\r\n[ 9.1] reboot: Power down\r\n";
  assert.deepEqual([...verdictsOf(record(console))], [
    ["a.ts", { kind: "passed", seconds: 7, output: "ok" }],
    ["b.ts", { kind: "passed", seconds: 12, output: "" }],
  ]);
});

Deno.test("a test that fails says its code and what it printed, and the next one counts for itself", () => {
  const console = "guest-1 begins a.ts\nexpected 1, saw 2\nguest-1 ends a.ts 3 7\n" +
    "guest-1 begins b.ts\nguest-1 ends b.ts 0 1\n";
  const verdicts = verdictsOf(record(console));
  assert.deepEqual(verdicts.get("a.ts"), {
    kind: "failed",
    code: 3,
    output: "guest-1 begins a.ts\nexpected 1, saw 2",
  });
  assert.deepEqual(verdicts.get("b.ts"), { kind: "passed", seconds: 1, output: "" });
});

Deno.test("a guest that is gone without a mark panicked; one that was stopped hung", () => {
  const console = "guest-1 begins a.ts\nguest-1 ends a.ts 0 7\nguest-1 begins b.ts\nKernel panic\n";
  const panic = verdictsOf(record(console));
  assert.deepEqual(panic.get("a.ts"), { kind: "passed", seconds: 7, output: "" });
  assert.deepEqual(panic.get("b.ts"), {
    kind: "panic",
    output: "guest-1 begins b.ts\nKernel panic\n",
  });
  const hang = verdictsOf({ ...record(console), stoppedAfterSeconds: 40 });
  assert.equal(hang.get("b.ts")?.kind, "hang");
  assert.equal(hang.get("a.ts")?.kind, "passed");
});

Deno.test("marks of another guest, without a beginning, or of a longer name are no marks", () => {
  for (
    const console of [
      "guest-2 begins a.ts\nguest-2 ends a.ts 0 7\n",
      "guest-1 ends a.ts 0 7\n",
      "guest-1 ends a.ts 0 7\nguest-1 begins a.ts\n",
      "guest-1 begins a.ts\nguest-1 ends a.tsx 0 7\n",
      "guest-1 begins a.ts\nguest-2 ends a.ts 0 7\n",
      "guest-1 begins a.ts\n0 7 guest-1 ends a.ts \n",
      "guest-1 begins a.ts\nguest-1 ends a.ts 0 7 guest-1 ends a.ts \n",
      "guest-1 begins a.ts\nguest-1 ends a.ts \n",
      "guest-1 begins a.ts\nguest-1 ends a.ts 0 \n",
      "",
    ]
  ) assert.equal(verdictsOf(record(console)).get("a.ts")?.kind, "panic", console);
});

Deno.test("a complaint holds what was seen, its end when that is long; a pass has none", () => {
  const lines = Array.from({ length: 500 }, (_, i) => `line ${i}`).join("\n");
  const [verdict] = verdictsOf(record(`guest-1 begins a.ts\n${lines}`)).values();
  const complaint = complaintOf(verdict) ?? "";
  assert.ok(complaint.endsWith("line 499") && !complaint.includes("line 299\n"));
  assert.match(complaintOf({ kind: "failed", code: 3, output: "x" }) ?? "", /exit code 3:\nx$/);
  assert.match(complaintOf({ kind: "hang", seconds: 9, output: "x" }) ?? "", /after 9 s:\nx$/);
  assert.equal(complaintOf({ kind: "passed", seconds: 1, output: "" }), undefined);
});
