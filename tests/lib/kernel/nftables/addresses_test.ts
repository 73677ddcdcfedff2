import assert from "node:assert/strict";
import {
  prefixLengthOf,
  readAddress,
  writeAddress,
  writeAddressRange,
} from "../../../../lib/kernel/nftables/addresses.ts";

/** The address as it is read back from bytes between others, which must stay as they are. */
function written(text: string, bytes: number): string {
  const into = new Uint8Array(bytes + 4).fill(0xee);
  writeAddress(text, bytes, { into, at: 2 });
  assert.deepEqual([...into.subarray(0, 2), ...into.subarray(bytes + 2)], [238, 238, 238, 238]);
  return readAddress(into, 2, bytes);
}

const good = [
  "0.0.0.0",
  "255.255.255.255",
  "10.128.0.5",
  "::",
  "::1",
  "1::",
  "fd00:10:128::5",
  "fd00:0:0:1::a",
  "1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7:0",
  "ABCD::ef",
];

for (const text of good) {
  Deno.test(`writeAddress() writes ${text}`, () => {
    assert.equal(written(text, text.includes(":") ? 16 : 4), text.toLowerCase());
  });
}

const bad: readonly (readonly [text: string, bytes: number])[] = [
  ["", 4],
  ["1.2.3", 4],
  ["1.2.3.", 4],
  ["1.2..3", 4],
  [".1.2.3", 4],
  ["1.2.3.4.5", 4],
  ["1.2.3.256", 4],
  ["1.2.3.x", 4],
  ["::1", 4],
  ["", 16],
  ["1.2.3.4", 16],
  ["1:2:3:4:5:6:7", 16],
  ["1:2:3:4:5:6:7:8:9", 16],
  ["1:2:3:4:5:6:7:8::", 16],
  ["1::2::3", 16],
  ["1:", 16],
  [":1", 16],
  ["12345::", 16],
  ["1:::2", 16],
  ["g::", 16],
  ["`::", 16],
  ["@::", 16],
];

for (const [text, bytes] of bad) {
  Deno.test(`writeAddress() refuses "${text}" for ${bytes} bytes`, () => {
    assert.throws(() => written(text, bytes), {
      name: "RangeError",
      message: `Cannot encode "${text}": it is no canonical ${
        bytes === 4 ? "IPv4" : "IPv6"
      } address or range`,
    });
  });
}

Deno.test("writeAddress() refuses a second gap behind one at the very beginning", () => {
  const target = { into: new Uint8Array(16), at: 0 };
  assert.throws(() => writeAddress("::1::2", 16, target), RangeError);
});

/** First and last address of the range. */
function range(text: string): string {
  const bytes = text.includes(":") ? 16 : 4;
  const first = { into: new Uint8Array(bytes + 1), at: 1 };
  const last = { into: new Uint8Array(bytes + 2), at: 2 };
  writeAddressRange(text, bytes, { first, last });
  return `${readAddress(first.into, 1, bytes)} ${readAddress(last.into, 2, bytes)}`;
}

const ranges: readonly (readonly [text: string, range: string])[] = [
  ["10.0.0.1", "10.0.0.1 10.0.0.1"],
  ["10.1.2.3/32", "10.1.2.3 10.1.2.3"],
  ["10.1.2.3/8", "10.0.0.0 10.255.255.255"],
  ["10.1.2.3/9", "10.0.0.0 10.127.255.255"],
  ["10.1.2.3/0", "0.0.0.0 255.255.255.255"],
  ["10.0.0.7-10.0.1.9", "10.0.0.7 10.0.1.9"],
  ["fd00::1/127", "fd00:: fd00::1"],
  ["fd00:1:2:3::/33", "fd00:1:: fd00:1:7fff:ffff:ffff:ffff:ffff:ffff"],
  ["fd00::1-fd00::2", "fd00::1 fd00::2"],
];

for (const [text, expected] of ranges) {
  Deno.test(`writeAddressRange() of ${text}`, () => assert.equal(range(text), expected));
}

for (const text of ["10.0.0.0/33", "fd00::/129", "10.0.0.0/-1", "10.0.0.0/x", "10.0.0/8", "1-2"]) {
  Deno.test(`writeAddressRange() refuses ${text}`, () => {
    assert.throws(() => range(text), /^RangeError: Cannot encode /);
  });
}

const prefixes: readonly (readonly [first: number[], last: number[], length: number])[] = [
  [[10, 0, 0, 0], [10, 255, 255, 255], 8],
  [[10, 0, 0, 0], [10, 127, 255, 255], 9],
  [[10, 0, 0, 4], [10, 0, 0, 7], 30],
  [[10, 0, 0, 4], [10, 0, 0, 4], 32],
  [[0, 0, 0, 0], [255, 255, 255, 255], 0],
  [[10, 0, 0, 4], [10, 0, 0, 6], -1],
  [[10, 0, 0, 2], [10, 0, 0, 5], -1],
  [[10, 0, 0, 0], [10, 1, 255, 254], -1],
  [[10, 0, 1, 0], [10, 1, 255, 255], -1],
  [[10, 0, 0, 0], [10, 2, 255, 255], -1],
];

for (const [first, last, length] of prefixes) {
  Deno.test(`prefixLengthOf() ${first.join(".")} to ${last.join(".")} is ${length}`, () => {
    assert.equal(prefixLengthOf(Uint8Array.from(first), Uint8Array.from(last)), length);
  });
}
