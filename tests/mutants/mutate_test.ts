import assert from "node:assert/strict";
import { mutantsOf, mutated } from "./mutate.ts";

/** A text, and all that it can become. */
const rows: readonly { name: string; text: string; becomes: readonly string[] }[] = [
  { name: "a condition", text: "if (a(b)) c;", becomes: ["if (!(a(b))) c;", "if (a(b)) ;"] },
  { name: "a choice", text: "x = a ? b : c", becomes: [";", "x = !(a) ? b : c"] },
  { name: "a loop", text: "while (a) { }", becomes: ["while (!(a)) { }"] },
  { name: "a junction", text: "let x = a && b", becomes: ["let x = ((a) || (b))"] },
  { name: "an alternative", text: "let x = a || b", becomes: ["let x = ((a) && (b))"] },
  { name: "a default", text: "let x = a ?? b", becomes: ["let x = (a)"] },
  { name: "a bound", text: "let x = a < b", becomes: ["let x = (a <= b)"] },
  { name: "another bound", text: "let x = a >= b", becomes: ["let x = (a > b)"] },
  {
    name: "no bound of a sort",
    text: "let x = a < b ? -1 : 1",
    becomes: [
      "let x = !(a < b) ? -1 : 1",
      "let x = a < b ? 1 : 1",
      "let x = a < b ? -1 : -1",
    ],
  },
  { name: "an equality", text: "let x = a === b", becomes: ["let x = (a !== b)"] },
  { name: "a tested equality, once", text: "if (a === b) {}", becomes: ["if (!(a === b)) {}"] },
  { name: "a sum", text: "let x = a + b", becomes: ["let x = (a - b)"] },
  { name: "no sum of texts", text: 'let x = "a" + b + `c`', becomes: [] },
  {
    name: "bits",
    text: "let x = a & b >>> c",
    becomes: [
      "let x = (a | b >>> c)",
      "let x = a & (b << c)",
    ],
  },
  { name: "a call", text: "a(b);", becomes: [";"] },
  { name: "an assignment", text: "a.b = c;", becomes: [";"] },
  { name: "no super call", text: "class A extends B { constructor() { super(); } }", becomes: [] },
  { name: "no proof for the compiler", text: "assertNever(a);", becomes: [] },
  {
    name: "nor one that is returned",
    text: "function f() { return assertNever(a); }",
    becomes: [],
  },
  { name: "no pause", text: "function* f() { yield; }", becomes: [] },
  { name: "what is yielded", text: "function* f() { yield a; }", becomes: ["function* f() { ; }"] },
  { name: "a throw", text: "throw a;", becomes: [";"] },
  {
    name: "ends of a loop",
    text: "for (;;) { if (a) continue; break; }",
    becomes: [
      "for (;;) { if (!(a)) continue; break; }",
      "for (;;) { if (a) ; break; }",
      "for (;;) { if (a) continue; ; }",
    ],
  },
  {
    name: "the end of a case, but of the last",
    text: "switch (a) { case b: break; default: break; }",
    becomes: ["switch (a) { case b: ; default: break; }"],
  },
  {
    name: "a result",
    text: "function f() { return a; }",
    becomes: [
      "function f() { return undefined; }",
    ],
  },
  { name: "no result that is empty", text: "function f() { return null; }", becomes: [] },
  {
    name: "an early return",
    text: "function f() { return; a }",
    becomes: [
      "function f() { ; a }",
      "function f() { return; ; }",
    ],
  },
  { name: "a small number", text: "let x = 3", becomes: ["let x = 4"] },
  { name: "a large number", text: "let x = 0x100", becomes: ["let x = 512"] },
  { name: "a fraction", text: "let x = 0.5", becomes: ["let x = 1"] },
  { name: "a large integer", text: "let x = 7n", becomes: ["let x = 8n"] },
  { name: "a negative number", text: "let x = -1", becomes: ["let x = 1"] },
  {
    name: "the sign that a comparison answers",
    text: "let x = a ? b : 1",
    becomes: [
      "let x = !(a) ? b : 1",
      "let x = a ? b : -1",
    ],
  },
  { name: "a truth", text: "let x = true", becomes: ["let x = false"] },
  { name: "no key", text: "let x = { 1: a }", becomes: [] },
  { name: "no type", text: "type A = 1 | true; let x: 2 = a as 3;", becomes: [] },
];

for (const { name, text, becomes } of rows) {
  Deno.test(`mutantsOf() changes ${name}`, () => {
    assert.deepEqual(mutantsOf("a.ts", text).map((mutant) => mutated(text, mutant)), becomes);
  });
}

Deno.test("mutantsOf() tells the line and the change", () => {
  const source = "let a;\nif (b >\n 1) {\n  call(\n    c,\n  );\n}\n";
  assert.deepEqual(mutantsOf("a.ts", source).map(({ line, change }) => `${line}: ${change}`), [
    "2: `b > 1` -> `!(b > 1)`",
    "2: `b > 1` -> `(b >= 1)`",
    "3: `1` -> `2`",
    "4: without `call( c, );`",
  ]);
  const long = mutantsOf("a.ts", `f("${"x".repeat(200)}");`)[0].change;
  assert.ok(long.length < 110 && long.includes(" … "), long);
});
