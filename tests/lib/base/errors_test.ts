import assert from "node:assert/strict";
import { describeError, describeStack, isBrokenPipe } from "../../../lib/base/errors.ts";

const rows: readonly { name: string; error: unknown; expected: string }[] = [
  { name: "a message", error: new Error("Cannot do x: y"), expected: "Cannot do x: y" },
  { name: "a full stop", error: new Error("It broke. "), expected: "It broke" },
  { name: "several lines", error: new Error("one\n  two"), expected: "one two" },
  {
    name: "the number of the system's error",
    error: new Error("No such file or directory (os error 2): open 'x'"),
    expected: "No such file or directory: open 'x'",
  },
  { name: "no message", error: new RangeError(), expected: "RangeError" },
  { name: "a text", error: "broken", expected: "broken" },
  { name: "a value", error: { code: 7 }, expected: '{"code":7}' },
  { name: "nothing", error: undefined, expected: "undefined" },
  { name: "an empty text", error: "", expected: "unknown error" },
  {
    name: "several causes",
    error: new AggregateError([new Error("a."), new Error("b")], "Cannot stop"),
    expected: "Cannot stop: a; b",
  },
  { name: "causes alone", error: new AggregateError([new Error("a"), "b"]), expected: "a; b" },
  { name: "no causes", error: new AggregateError([], "Cannot stop"), expected: "Cannot stop" },
  { name: "a value without text", error: Symbol("a"), expected: "Symbol(a)" },
];

Deno.test("describeError() makes one sentence of anything", async (t) => {
  for (const { name, error, expected } of rows) {
    await t.step(name, () => assert.equal(describeError(error), expected));
  }
});

Deno.test("isBrokenPipe() knows that nobody reads any more", () => {
  assert.equal(isBrokenPipe(new Deno.errors.BrokenPipe("x")), true);
  assert.equal(isBrokenPipe(new Deno.errors.BadResource("x")), true);
  assert.equal(isBrokenPipe(new Deno.errors.NotFound("x")), false);
});

Deno.test("describeStack() follows causes, and ends where they go in a circle", () => {
  const error = new Error("outer");
  error.cause = new Error("inner", { cause: error });
  assert.match(describeStack(error), /^Error: outer\n[^]*caused by: Error: inner\n/);
});
