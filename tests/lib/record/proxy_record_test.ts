import assert from "node:assert/strict";
import { formatRecord, isOf, parseRecord } from "../../../lib/record/proxy_record.ts";
import { exampleRecord } from "../../fakes/proxy_records.ts";

Deno.test("a record is read as it was written, and says which version its form has", () => {
  const text = formatRecord(exampleRecord);
  assert.deepEqual(parseRecord(text), exampleRecord);
  assert.deepEqual(Object.keys(JSON.parse(text)), [
    "schemaVersion",
    "mode",
    "backend",
    "version",
    "bootId",
    "namespace",
    "process",
    "sysctls",
  ]);
  const { cookie: _, ...namespace } = exampleRecord.namespace;
  const old = { ...exampleRecord, namespace };
  assert.deepEqual(parseRecord(formatRecord(old)), old, "of a kernel without cookies");
  const first = { ...exampleRecord, process: { ...exampleRecord.process, pid: 1 } };
  assert.deepEqual(parseRecord(formatRecord(first)), first, "of a container");
});

Deno.test("a field that a later version adds is no fault", () => {
  const text = formatRecord(exampleRecord).replace("{", '{ "colour": "blue",');
  assert.deepEqual(parseRecord(text), exampleRecord);
});

const entry = { setting: "net/ipv4/conf/all/route_localnet", before: "0", after: "1" };
const broken: readonly { readonly what: string; readonly text: string; readonly says: string }[] = [
  { what: "half a file", text: '{ "schemaVersion": 1', says: "it is not JSON" },
  { what: "a list", text: "[]", says: "it is not an object" },
  { what: "null", text: "null", says: "it is not an object" },
  {
    what: "a later form",
    text: '{ "schemaVersion": 2 }',
    says: "its schemaVersion is 2, and this program reads 1",
  },
  changed({ mode: 7 }, "mode is not a line of text"),
  changed({ backend: "" }, "backend is not a line of text"),
  changed({ version: "a\nb" }, "version is not a line of text"),
  changed({ bootId: undefined }, "bootId is not a line of text"),
  changed({ namespace: 4026531840 }, "namespace is not an object"),
  changed({ namespace: { inode: "1" } }, "inode is not a number"),
  changed({ namespace: { inode: 1, cookie: 2 } }, "cookie is not a line of text"),
  changed({ process: { pid: -1, startedAt: "x" } }, "pid is not a number"),
  changed({ process: { pid: 0, startedAt: "x" } }, "pid is not a number"),
  changed({ process: { pid: 1.5, startedAt: "x" } }, "pid is not a number"),
  changed({ process: { pid: 1 } }, "startedAt is not a line of text"),
  changed({ sysctls: {} }, "sysctls is not a list"),
  changed({ sysctls: ["x"] }, "an entry of sysctls is not an object"),
  changed({ sysctls: [{ ...entry, before: "0\n1" }] }, "before is not a line of text"),
  changed({ sysctls: [{ ...entry, after: 1 }] }, "after is not a line of text"),
  changed(
    { sysctls: [{ ...entry, setting: "net/../kernel/core_pattern" }] },
    '"net/../kernel/core_pattern" is no setting of a network namespace',
  ),
  changed(
    { sysctls: [{ ...entry, setting: "kernel/core_pattern" }] },
    '"kernel/core_pattern" is no setting of a network namespace',
  ),
];

for (const { says, text, what } of broken) {
  Deno.test(`a record with ${what} is refused: ${says}`, () => {
    assert.throws(() => parseRecord(text), new RangeError(says));
  });
}

Deno.test("a record is of this start of the machine and of this namespace alone", () => {
  const { bootId, namespace } = exampleRecord;
  const { inode } = namespace;
  assert.ok(isOf(exampleRecord, { bootId, namespace }));
  assert.ok(!isOf(exampleRecord, { bootId: "another", namespace }));
  assert.ok(!isOf(exampleRecord, { bootId, namespace: { ...namespace, inode: inode + 1 } }));
  assert.ok(!isOf(exampleRecord, { bootId, namespace: { inode, cookie: "another" } }));
  assert.ok(!isOf(exampleRecord, { bootId, namespace: { inode } }));
});

function changed(fields: object, says: string) {
  const text = JSON.stringify({ schemaVersion: 1, ...exampleRecord, ...fields });
  return { what: JSON.stringify(fields), text, says };
}
