import assert from "node:assert/strict";
import { decodeText, plainValue, readYaml } from "../../../lib/base/yaml.ts";

function read(text: string): unknown[] {
  return readYaml(text, { source: "a.yaml" }).map(({ root, problems }) =>
    root ? plainValue(root) : problems.map(({ message }) => message)
  );
}

/** Plain scalars and what they mean to Kubernetes. */
const scalars: [string, unknown][] = [
  ["yes", true],
  ["On", true],
  ["y", true],
  ["off", false],
  ["N", false],
  ["yEs", "yEs"],
  ["~", null],
  ["010", 8],
  ["08", 8],
  ["0x1F", 31],
  ["0b11", 3],
  ["0o17", 15],
  ["1_000", 1_000],
  ["-5", -5],
  ["1.5", 1.5],
  [".5", 0.5],
  ["1e3", 1_000],
  ["14.0", 14],
  ["1:30", "1:30"],
  ["2001-01-01", "2001-01-01"],
  ["::1", "::1"],
  ['"yes"', "yes"],
  ["!!str 5", "5"],
  ["'5'", "5"],
];

Deno.test("scalars mean what they mean to Kubernetes", async (t) => {
  for (const [text, value] of scalars) {
    await t.step(text, () => assert.deepEqual(read(`a: ${text}\n`), [{ a: value }]));
  }
});

Deno.test("merge keys fill in what is not there", () => {
  assert.deepEqual(read("a: &a {x: 1, y: 2}\nb:\n  y: 3\n  <<: *a\n"), [
    { a: { x: 1, y: 2 }, b: { y: 3, x: 1 } },
  ]);
});

Deno.test("merge keys take several mappings, of which the first wins, and nothing else", () => {
  assert.deepEqual(read("a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc: {<<: [*a, *b], z: 4}\n"), [
    { a: { x: 1 }, b: { x: 2, y: 3 }, c: { z: 4, x: 1, y: 3 } },
  ]);
  assert.deepEqual(read('a: {"<<": 1}\n'), [{ a: { "<<": 1 } }]);
  assert.deepEqual(read("a: {<<: 1}\n"), [['"<<" needs a mapping']]);
});

Deno.test("tags are heeded where the value goes with them", () => {
  const rows: readonly (readonly [string, unknown])[] = [
    ["!!str ~", "~"],
    ["!!null ~", null],
    ["!!bool on", true],
    ["!!int 0x10", 16],
    ["!!float 1.5", 1.5],
    ['! "5"', "5"],
    ["! yes", "yes"],
    ["!<tag:yaml.org,2002:int> 5", 5],
  ];
  for (const [text, value] of rows) assert.deepEqual(read(`a: ${text}\n`), [{ a: value }], text);
  for (const text of ["!!null x", "!!bool 1", "!!int x", "!!float yes", "!!binary x"]) {
    assert.equal(typeof read(`a: ${text}\n`)[0], "object", text);
    assert.match(String((read(`a: ${text}\n`)[0] as string[])[0]), /does not fit this value/);
  }
});

Deno.test("an alias inside what it names is told, and what it stands for keeps its own place", () => {
  assert.deepEqual(read("a: &a [*a]\n"), [["the alias *a stands inside what it names"]]);
  const [{ root }] = readYaml("a: &a 1\nb: *a\n", { source: "f" });
  assert.ok(root?.kind === "mapping");
  const [first, second] = root.entries.map(({ value }) => value.place);
  assert.deepEqual([first.line, first.column, second.line, second.column], [1, 7, 2, 4]);
});

Deno.test("values without text are null, at the place where they would stand", () => {
  const [{ root }] = readYaml("a:\nb: 1\n", { source: "f" });
  assert.ok(root?.kind === "mapping");
  const [{ value }] = root.entries;
  assert.deepEqual(value, {
    kind: "scalar",
    value: null,
    text: "",
    place: { source: "f", line: 1, column: 3 },
  });
  assert.deepEqual(readYaml("# nothing\n", { source: "f" })[0]?.root?.place ?? "none", "none");
});

Deno.test("aliases may not make a text grow without end", () => {
  const text = "a: &a [1, 2, 3, 4]\nb: [*a, *a, *a]\n";
  const limits = (nodes: number) => readYaml(text, { source: "f", limits: { nodes } })[0].problems;
  assert.deepEqual(limits(30), []);
  assert.match(limits(20)[0].message, /^with its aliases this text grows beyond 20 values$/);
  assert.equal(limits(20).length, 1);
});

Deno.test("of equal keys the last counts, and the others are told", () => {
  const [{ root }] = readYaml("a: 1\nb: 2\na: 3\n", { source: "a.yaml" });
  assert.ok(root?.kind === "mapping");
  assert.deepEqual(plainValue(root), { a: 3, b: 2 });
  assert.deepEqual(root.duplicates, [{
    key: "a",
    place: { source: "a.yaml", line: 3, column: 1 },
    first: { source: "a.yaml", line: 1, column: 1 },
  }]);
});

Deno.test("places begin where the text begins in its file", () => {
  const start = { line: 10, column: 5 };
  const [{ root }] = readYaml("a:\n  b: 1\n", { source: "a.yaml", start });
  assert.ok(root?.kind === "mapping" && root.entries[0].value.kind === "mapping");
  const [inner] = root.entries[0].value.entries;
  assert.deepEqual(inner.keyPlace, { source: "a.yaml", line: 11, column: 7 });
});

Deno.test("documents are read one by one, broken ones too", () => {
  assert.deepEqual(read("a: 1\n---\n[\n---\nb: 2\n").length, 3);
  assert.deepEqual(read(""), []);
  assert.deepEqual(read("a: *b\n"), [["there is no anchor &b before the alias *b"]]);
  assert.deepEqual(read("? {a: 1}\n: 2\n"), [["a key must be a single word"]]);
  assert.deepEqual(read("a: !x 1\n"), [["the tag !x does not fit this value"]]);
});

Deno.test("limits are the caller's", () => {
  const deep = "[[[[1]]]]";
  assert.deepEqual(read(deep), [[[[[1]]]]]);
  const [{ problems }] = readYaml(deep, { source: "a", limits: { depth: 3 } });
  assert.equal(problems[0].message, "this is nested more than 3 levels deep");
});

Deno.test("a text may have as many values and pieces as the limits say, and not one more", () => {
  // Two mappings, two lists or their aliases, and four scalars; each piece is what the lexer gives.
  const text = "a: [1, 2]\nb: {c: &x 3, d: *x}\n";
  for (const [limit, most] of [["nodes", 8], ["tokens", 36]] as const) {
    const problems = (count: number) =>
      readYaml(text, { source: "a", limits: { [limit]: count } })[0].problems.length;
    assert.deepEqual([problems(most), problems(most - 1)], [0, 1], limit);
  }
});

Deno.test("decodeText() tells the character where a text is no UTF-8, whatever is before it", () => {
  for (let count = 0; count < 20; count++) {
    const bytes = Uint8Array.from([...new TextEncoder().encode("€".repeat(count)), 0xff, 0x20]);
    const problem = decodeText(bytes, "a.yaml");
    assert.ok(typeof problem !== "string");
    assert.deepEqual(problem.place, { source: "a.yaml", line: 1, column: count + 1 });
  }
});
