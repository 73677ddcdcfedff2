import assert from "node:assert/strict";
import type { NftElement } from "../../../../lib/kernel/nftables/operations.ts";
import type { EndpointList } from "../../../../lib/writers/nftables/contribution.ts";
import { ListIndex } from "../../../../lib/writers/nftables/list_index.ts";
import { endpoints } from "./samples.ts";

const frontend = ["172.30.0.1", "tcp", 80] as const;
const [a, b, c, d] = endpoints("IPv4", [1, 1], [1, 2], [1, 3], [1, 4]);

function listOf(...members: EndpointList["endpoints"]): EndpointList {
  return { set: "endpoints", key: frontend, endpoints: members };
}

function at(place: number, { ip, port }: { readonly ip: string; readonly port: number }) {
  return { key: [...frontend, place], value: [ip, port] } satisfies NftElement;
}

const nothing = { missing: [], replaced: [] };

Deno.test("a list that differs in nothing has no places to keep, and nothing to write", () => {
  const index = new ListIndex({ missing: [], extra: [] });
  assert.equal(index.placesOf(listOf(a, b)), undefined);
  assert.deepEqual(index.compare(listOf(a, b)), nothing);
});

Deno.test("what another frontend lacks is not looked for here", () => {
  const other = { key: ["172.30.0.2", "tcp", 80, 0], value: [a.ip, a.port] };
  const index = new ListIndex({ missing: [other], extra: [other] });
  assert.equal(index.placesOf(listOf(a, b)), undefined);
  assert.deepEqual(index.compare(listOf(a, b)), nothing);
  assert.deepEqual(index.takeRemaining(), [other]);
});

Deno.test("a list that is there in another order is right in that order", () => {
  const index = new ListIndex({ missing: [at(0, a), at(2, c)], extra: [at(0, c), at(2, a)] });
  assert.deepEqual(index.placesOf(listOf(a, b, c)), [
    { ip: c.ip, port: c.port },
    b,
    { ip: a.ip, port: a.port },
  ]);
  assert.deepEqual(index.compare(listOf(c, b, a)), nothing);
  assert.deepEqual(index.takeRemaining(), []);
});

Deno.test("a place of another endpoint is written, one that nothing is in too", () => {
  const index = new ListIndex({ missing: [at(0, a), at(2, c)], extra: [at(0, d)] });
  assert.deepEqual(index.placesOf(listOf(a, b, c)), [{ ip: d.ip, port: d.port }, b, undefined]);
  assert.deepEqual(index.compare(listOf(a, b, c)), {
    missing: [at(0, a), at(2, c)],
    replaced: [at(0, d)],
  });
});

Deno.test("what is right in its place and is wanted in another makes way", () => {
  const index = new ListIndex({ missing: [at(0, a)], extra: [at(0, b)] });
  index.placesOf(listOf(a, b));
  assert.deepEqual(index.compare(listOf(b, a)), {
    missing: [at(1, a)],
    replaced: [at(1, b)],
  });
});

Deno.test("what is behind the end of a list remains, and is taken once", () => {
  const index = new ListIndex({ missing: [], extra: [at(2, c), at(3, d)] });
  assert.deepEqual(index.placesOf(listOf(a, b)), [a, b]);
  assert.deepEqual(index.compare(listOf(a, b)), nothing);
  assert.deepEqual(index.takeRemaining(), [at(2, c), at(3, d)]);
  assert.deepEqual(index.takeRemaining(), []);
});

for (
  const strange of [
    { ...at(0, a), comment: "mine" },
    { key: [...frontend, 0] },
    { key: [...frontend, 0], value: [8080, a.ip] },
  ]
) {
  Deno.test(`${JSON.stringify(strange)} is no endpoint of ours, and replaced`, () => {
    const index = new ListIndex({ missing: [at(0, a)], extra: [strange] });
    assert.deepEqual(index.placesOf(listOf(a)), [undefined]);
    assert.deepEqual(index.compare(listOf(a)), { missing: [at(0, a)], replaced: [strange] });
  });
}
