import assert from "node:assert/strict";
import {
  type Answer,
  both,
  certain,
  eitherOf,
  equals,
  isWithin,
  type KnownBits,
  masked,
  not,
  uncertain,
} from "../../../../lib/doctor/judging/known_bits.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);
/** The high half of the second byte is known. */
const half: KnownBits = { bytes: bytes(1, 0x20), known: bytes(0xff, 0xf0) };

const comparisons: readonly (readonly [string, KnownBits, Uint8Array, Answer])[] = [
  ["the same", certain(bytes(1, 2)), bytes(1, 2), "yes"],
  ["another", certain(bytes(1, 2)), bytes(1, 3), "no"],
  ["its beginning", certain(bytes(1, 2)), bytes(1), "yes"],
  ["a known bit differs", half, bytes(1, 0x30), "no"],
  ["only unknown bits may differ", half, bytes(1, 0x2f), "maybe"],
  ["nothing is known", uncertain(2), bytes(1, 2), "maybe"],
  ["more is asked than there is", certain(bytes(1)), bytes(1, 0), "maybe"],
];
for (const [name, value, expected, answer] of comparisons) {
  Deno.test(`equals(): ${name}`, () => assert.equal(equals(value, expected), answer));
}

const ranges: readonly (readonly [string, KnownBits, Uint8Array, Uint8Array, Answer])[] = [
  ["inside", certain(bytes(1, 2)), bytes(1, 0), bytes(1, 5), "yes"],
  ["at its beginning", certain(bytes(1, 0)), bytes(1, 0), bytes(1, 5), "yes"],
  ["at its end", certain(bytes(1, 5)), bytes(1, 0), bytes(1, 5), "yes"],
  ["before it", certain(bytes(0, 9)), bytes(1, 0), bytes(1, 5), "no"],
  ["behind it", certain(bytes(1, 6)), bytes(1, 0), bytes(1, 5), "no"],
  ["all that it may be is inside", half, bytes(1, 0x20), bytes(1, 0x2f), "yes"],
  ["some of it is inside", half, bytes(1, 0x21), bytes(2, 0), "maybe"],
  ["none of it is inside", half, bytes(1, 0x30), bytes(2, 0), "no"],
  ["all of it is before", half, bytes(0, 0), bytes(1, 0x1f), "no"],
  [
    "a range of one, with another known end",
    { bytes: bytes(0, 1), known: bytes(0, 0xff) },
    bytes(0, 2),
    bytes(0, 2),
    "no",
  ],
  ["a range of one", half, bytes(1, 0x31), bytes(1, 0x31), "no"],
];
for (const [name, value, first, last, answer] of ranges) {
  Deno.test(`isWithin(): ${name}`, () => assert.equal(isWithin(value, first, last), answer));
}

Deno.test("masked() knows the bits that it clears", () => {
  const found = masked(uncertain(2), bytes(0xff, 0x0f), bytes(0, 0x81));
  assert.deepEqual(found, { bytes: bytes(0, 0x81), known: bytes(0, 0xf0) });
  assert.deepEqual(masked(certain(bytes(0x3c)), bytes(0x0f), bytes(0x01)), certain(bytes(0x0d)));
});

Deno.test("eitherOf() knows where both agree", () => {
  const { known } = eitherOf(certain(bytes(0x0f)), { bytes: bytes(0x0e), known: bytes(0x7f) });
  assert.deepEqual(known, bytes(0x7e));
});

Deno.test("not() and both() keep what is not known", () => {
  assert.deepEqual((["yes", "no", "maybe"] as const).map(not), ["no", "yes", "maybe"]);
  assert.equal(both("yes", "yes"), "yes");
  assert.equal(both("yes", "maybe"), "maybe");
  assert.equal(both("maybe", "no"), "no");
  assert.equal(both("no", "yes"), "no");
});
