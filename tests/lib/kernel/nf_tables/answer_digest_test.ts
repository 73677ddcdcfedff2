import assert from "node:assert/strict";
import {
  AnswerDigest,
  type DigestOptions,
} from "../../../../lib/kernel/nf_tables/answer_digest.ts";

type Attributes = readonly (readonly [type: number, value: readonly number[]])[];

/** `struct nfgenmsg` and attributes, padded as the kernel does. */
function payloadOf(attributes: Attributes, header: readonly number[] = [2, 0, 0, 0]): Uint8Array {
  return Uint8Array.from([
    ...header,
    ...attributes.flatMap(([type, value]) => {
      const length = value.length + 4;
      const padding = Array.from({ length: -length & 3 }, () => 0);
      return [length & 0xff, length >> 8, type & 0xff, type >> 8, ...value, ...padding];
    }),
  ]);
}

function digestOf(options: DigestOptions, ...payloads: readonly Uint8Array[]): number {
  const digest = new AnswerDigest(options);
  for (const payload of payloads) digest.add(payload);
  return digest.value;
}

const text = (value: string) => [...new TextEncoder().encode(`${value}\0`)];
const options = { attributes: [1, 3] };
const nat = payloadOf([[1, text("nat")], [2, [9]], [3, [0, 0, 0, 7]]]);
const before = digestOf(options, nat);

Deno.test("AnswerDigest moves with the attributes it is made of, and with nothing else", () => {
  assert.ok(Number.isSafeInteger(before) && before > 0);
  assert.equal(digestOf(options, nat), before);
  const same = payloadOf([[1, text("nat")], [2, [8, 8]], [3, [0, 0, 0, 7]]], [2, 0, 5, 6]);
  assert.equal(digestOf(options, same), before, "the generation and another attribute");
  const changes: readonly Attributes[] = [
    [[1, text("raw")], [3, [0, 0, 0, 7]]],
    [[1, text("nat")], [3, [0, 0, 0, 8]]],
    [[1, text("nat")], [3, [1, 0, 0, 7]]],
    [[1, text("nat")]],
    [[1, text("nat")], [3, [0, 0, 0, 7]], [3, [0, 0, 0, 7]]],
  ];
  for (const change of changes) assert.notEqual(digestOf(options, payloadOf(change)), before);
});

Deno.test("AnswerDigest looks into expressions, and not at what was counted", () => {
  const bytes = (attributes: Attributes) => [...payloadOf(attributes, [])];
  const expression = (name: string, data: readonly number[]) =>
    [1, bytes([[1, text(name)], [2, data]])] as const;
  const digest = (...expressions: Attributes) =>
    digestOf(
      { attributes: [3, 4], expressions: 4 },
      payloadOf([[3, [7]], [4, bytes(expressions)]]),
    );
  const jump = expression("immediate", [1, 2, 3, 4, 5]);
  const one = digest(expression("counter", [0, 0, 0, 1]), jump);
  assert.equal(digest(expression("counter", [0, 0, 9, 9]), jump), one);
  assert.notEqual(digest(expression("counter", []), expression("immediate", [1, 2, 3, 4, 6])), one);
  assert.notEqual(digest(expression("counters", [0]), jump), one);
  assert.notEqual(digest(jump, jump), digest(jump));
});

Deno.test("AnswerDigest moves with the number and the order of answers", () => {
  const other = payloadOf([[1, text("raw")]]);
  const numbers = [[], [nat], [nat, nat], [nat, other], [other, nat]].map((payloads) =>
    digestOf(options, ...payloads)
  );
  assert.equal(new Set(numbers).size, numbers.length);
});

Deno.test("AnswerDigest moves in each of its halves", () => {
  const numbers = Array.from(
    { length: 200 },
    (_, byte) => digestOf(options, payloadOf([[1, text("nat")], [3, [0, 0, 0, byte]]])),
  );
  const high = new Set(numbers.map((number) => Math.floor(number / 2 ** 21)));
  const low = new Set(numbers.map((number) => number % 2 ** 21));
  assert.deepEqual([high.size, low.size], [200, 200]);
});

Deno.test("AnswerDigest leaves out answers of other tables", () => {
  const only = { attribute: 1, texts: ["nat", "filter"] };
  const others = ["raw", "nat2", "na"].map((name) => payloadOf([[1, text(name)], [3, [5]]]));
  const ours = digestOf({ ...options, only }, nat);
  assert.equal(digestOf({ ...options, only }, ...others, nat, payloadOf([[3, [1]]])), ours);
  const filter = payloadOf([[3, [1]], [1, text("filter")]]);
  assert.notEqual(digestOf({ ...options, only }, nat, filter), ours);
});

Deno.test("AnswerDigest knows the flags of a type, and refuses lengths that lead outside", () => {
  const flagged = payloadOf([[0x8001, text("nat")], [3, [0, 0, 0, 7]]]);
  assert.equal(digestOf(options, flagged), before);
  const cut = nat.slice(0, nat.length - 2);
  assert.throws(() => digestOf(options, cut), { name: "RangeError", message: /netlink attribute/ });
});

Deno.test("AnswerDigest counts the answers up to the last of some, or all where one of these is missing", () => {
  const through = { attribute: 1, texts: ["nat", "raw"] };
  const digest = (...names: readonly string[]) =>
    digestOf(
      { ...options, through },
      ...names.map((name, index) => payloadOf([[1, text(name)], [3, [index]]])),
    );
  const usual = digest("mangle", "nat", "other", "raw", "raw");
  assert.equal(digest("mangle", "nat", "other", "raw", "raw", "behind"), usual);
  assert.notEqual(digest("mangle", "nat", "other", "raw"), usual);
  assert.notEqual(digest("mangle", "nat", "others", "raw", "raw"), usual);
  assert.notEqual(digest("nat", "mangle", "other", "raw", "raw"), usual);
  assert.notEqual(digest("nat", "a"), digest("nat", "b"), "a text is missing");
  assert.notEqual(digest("a"), digest("b"), "both are");
});
