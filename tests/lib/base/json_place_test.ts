import assert from "node:assert/strict";
import { placeInJson, placeOfOffset } from "../../../lib/base/json_place.ts";

const text = `{
  "a": [1, {"b": "x\\"},{", "c": true}, []],
  "empty": {},
  "spec": {"port": 1,
           "port": 80}
}`;

const rows: readonly (readonly [readonly (string | number)[], string])[] = [
  [[], "1:1"],
  [["a"], "2:8"],
  [["a", 0], "2:9"],
  [["a", 1], "2:12"],
  [["a", 1, "b"], "2:18"],
  [["a", 1, "c"], "2:33"],
  [["a", 2], "2:40"],
  [["a", 2, 0], "2:40"],
  [["a", 3], "2:8"],
  [["a", "b"], "2:8"],
  [["empty"], "3:12"],
  [["empty", "x"], "3:12"],
  [["spec", "port"], "5:20"],
  [["spec", "nothing", "below"], "4:11"],
];

for (const [path, expected] of rows) {
  Deno.test(`placeInJson() finds /${path.join("/")}`, () => {
    const { line, column } = placeInJson(text, path);
    assert.equal(`${line}:${column}`, expected);
  });
}

Deno.test("placeInJson() passes the space before the text", () => {
  assert.deepEqual(placeInJson('\n  {"a": 1}', []), { line: 2, column: 3 });
  assert.deepEqual(placeInJson('\n  {"a": 1}', ["a"]), { line: 2, column: 9 });
});

Deno.test("placeOfOffset() counts the end of a line to that line", () => {
  const places = [0, 1, 2, 3, 4].map((offset) => placeOfOffset("ab\n\nc", offset));
  assert.deepEqual(places.map(({ column, line }) => `${line}:${column}`), [
    "1:1",
    "1:2",
    "1:3",
    "2:1",
    "3:1",
  ]);
});
