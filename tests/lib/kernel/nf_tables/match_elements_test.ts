import assert from "node:assert/strict";
import { ElementWords, matchElements } from "../../../../lib/kernel/nf_tables/match_elements.ts";

/** An element as a list has it: its length, its type, and words. */
function element(...words: readonly number[]): number[] {
  return [(words.length + 1) * 4 | 1 << 16, ...words];
}

function bytesOf(...elements: readonly (readonly number[])[]): Uint8Array {
  return new Uint8Array(Int32Array.from(elements.flat()).buffer);
}

function listOf(...elements: readonly (readonly number[])[]): ElementWords {
  const list = ElementWords.of(bytesOf(...elements));
  assert.ok(list);
  return list;
}

const [a, b, c] = [element(1, 2), element(3), element(4, 5, 6)];

interface Row {
  readonly name: string;
  readonly first: ElementWords;
  readonly isTwice?: boolean;
  readonly onlyFirst: readonly number[];
  readonly onlySecond: readonly number[];
}

/** What a list has that the list of a, b and c has not, and the other way round. */
const rows: readonly Row[] = [
  { name: "the same list", first: listOf(a, b, c), onlyFirst: [], onlySecond: [] },
  { name: "another order", first: listOf(c, a, b), onlyFirst: [], onlySecond: [] },
  { name: "nothing", first: listOf(), onlyFirst: [], onlySecond: [0, 1, 2] },
  { name: "an element less", first: listOf(a, c), onlyFirst: [], onlySecond: [1] },
  { name: "an element more", first: listOf(a, element(7), b, c), onlyFirst: [1], onlySecond: [] },
  {
    name: "another first word",
    first: listOf(element(9, 2), b, c),
    onlyFirst: [0],
    onlySecond: [0],
  },
  {
    name: "another last word",
    first: listOf(a, b, element(4, 5, 7)),
    onlyFirst: [2],
    onlySecond: [2],
  },
  {
    name: "words in another order",
    first: listOf(element(2, 1), b, c),
    onlyFirst: [0],
    onlySecond: [0],
  },
  {
    name: "a word that moved to the next element",
    first: listOf(element(1), element(2, 3), c),
    onlyFirst: [0, 1],
    onlySecond: [0, 1],
  },
  {
    name: "the beginning of an element",
    first: listOf(a, b, element(4, 5)),
    onlyFirst: [2],
    onlySecond: [2],
  },
  {
    name: "another type of attribute",
    first: listOf(a, [8 | 2 << 16, 3], c),
    onlyFirst: [1],
    onlySecond: [1],
  },
  {
    name: "an element twice in place of another",
    first: listOf(a, c, c),
    isTwice: true,
    onlyFirst: [],
    onlySecond: [1],
  },
];

for (const { first, isTwice = false, name, onlyFirst, onlySecond } of rows) {
  Deno.test(`matchElements(): ${name}`, () => {
    assert.deepEqual(matchElements(first, listOf(a, b, c)), {
      isTwice,
      first: onlyFirst,
      second: onlySecond,
    });
  });
}

Deno.test("matchElements() finds each of many among many that are alike", () => {
  const numbers = Array.from({ length: 5_000 }, (_, i) => i);
  const many = (...words: readonly number[]) =>
    listOf(...words.map((i) => element(i << 16, i % 7)));
  const there = many(...numbers.filter((i) => i !== 77).toReversed(), 6_000);
  assert.deepEqual(matchElements(there, many(...numbers)), {
    isTwice: false,
    first: [4_999],
    second: [77],
  });
});

Deno.test("matchElements() takes nothing for the same among many that are all different", () => {
  const numbers = Array.from({ length: 1_000 }, (_, i) => i);
  const first = listOf(...numbers.map((i) => element(i, i * 31)));
  const second = listOf(...numbers.map((i) => element(i, i * 31 + 1)));
  const all = { isTwice: false, first: numbers, second: numbers };
  assert.deepEqual(matchElements(first, second), all);
});

Deno.test("ElementWords.pick() copies elements, the last one too", () => {
  const list = listOf(a, b, c);
  assert.deepEqual(list.pick([]), bytesOf());
  assert.deepEqual([...list.pick([0, 2])], [...bytesOf(a, c)]);
  assert.equal(list.count, 3);
});

Deno.test("ElementWords.of() takes no list that it cannot walk through", () => {
  const between = new Uint8Array(bytesOf(a).length + 1).subarray(1);
  between.set(bytesOf(a));
  const odd = [
    bytesOf([12 | 1 << 16, 1]),
    bytesOf(a, [1 << 16, 1]),
    bytesOf(a).slice(0, 6),
    between,
  ];
  for (const list of odd) assert.equal(ElementWords.of(list), undefined);
  const beyond = new Uint8Array(bytesOf(a).length + 4).subarray(4);
  beyond.set(bytesOf(a));
  assert.equal(ElementWords.of(beyond)?.count, 1);
  // An element that does not fill its last word ends where the next one begins.
  assert.equal(ElementWords.of(bytesOf([7 | 1 << 16, 0], a))?.count, 2);
});
