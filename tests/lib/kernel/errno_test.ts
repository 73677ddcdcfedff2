import assert from "node:assert/strict";
import { constants } from "node:os";
import { describeErrno, Errno } from "../../../lib/kernel/errno.ts";

Deno.test("Errno numbers errors as Linux does", () => {
  const known = new Map<string, number>(Object.entries(constants.errno));
  const compared = Object.entries(Errno).filter(([name]) => known.has(name));
  assert.ok(compared.length > 15, compared.join());
  for (const [name, number] of compared) assert.equal(number, known.get(name), name);
  assert.equal(new Set(Object.values(Errno)).size, Object.values(Errno).length);
});

Deno.test("describeErrno() names each error, and the number of one that it does not know", () => {
  for (const [name, number] of Object.entries(Errno)) {
    assert.match(describeErrno(number), new RegExp(`^(.+ \\(${name}\\)|${name})$`), name);
  }
  assert.equal(describeErrno(4_000), "errno 4000");
});
