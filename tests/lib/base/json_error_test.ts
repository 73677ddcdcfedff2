import assert from "node:assert/strict";
import { offsetOfUnexpectedToken } from "../../../lib/base/json_error.ts";

const rows: Readonly<Record<string, { readonly text: string; readonly at: string }>> = {
  "a comma that nothing follows": { text: '{"a": [1, 2, ]}', at: "]" },
  "a value that is missing": { text: '{\n  "a": }', at: "}" },
  "a value that is missing, deep": { text: '{"a": {"b": [{"c": "}]", "d": ,}]}}', at: ",}" },
  "a word that is none": { text: '{"a": nope}', at: "ope" },
  "quotes of the wrong kind": { text: `{"a": 'x'}`, at: "'x" },
  "strings with everything in them": { text: '{"a\\"": "[{:,\\\\", "b": @}', at: "@" },
  "text that is no JSON at all": { text: "kind: Service", at: "kind" },
};

Deno.test("offsetOfUnexpectedToken() tells the character at which JSON.parse() gives up", async (test) => {
  for (const [name, { text, at }] of Object.entries(rows)) {
    await test.step(name, () => {
      assert.throws(() => JSON.parse(text), /Unexpected token/);
      assert.equal(offsetOfUnexpectedToken(text), text.indexOf(at));
    });
  }
  // Behind a list in an object a name is missed, not a value: the engine tells such places itself.
  assert.equal(offsetOfUnexpectedToken('{"a": [1], }'), 12);
  assert.equal(offsetOfUnexpectedToken('{"a": [[], {}, null, -1.5e3, "x"]}'), 34);
});
