/** The text of every operation and statement, to be read by people; kernel tests load it with `nft`. */
import assert from "node:assert/strict";
import type { NftElement, NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import {
  elementText,
  keyText,
  nftText,
  operationText,
} from "../../../../lib/kernel/nftables/text.ts";
import { assertGolden } from "../../writers/golden.ts";
import { sampleOperations, table } from "./sample.ts";

for (const family of ["ip", "ip6"] as const) {
  Deno.test(`nftText() says everything that there is, ${family}`, async () => {
    const text = nftText(table(family), sampleOperations(family));
    await assertGolden(`nftables/every_statement_${family}.nft`, text);
  });
}

const place = { family: "ip6", name: "kube-proxy" } as const;

const operations: readonly (readonly [NftOperation, text: string])[] = [
  [{ kind: "add-table" }, "add table ip6 kube-proxy"],
  [{ kind: "add-table", dormant: true }, "add table ip6 kube-proxy { flags dormant ; }"],
  [{ kind: "delete-table" }, "delete table ip6 kube-proxy"],
  [{ kind: "flush-chain", chain: "a" }, "flush chain ip6 kube-proxy a"],
  [{ kind: "delete-chain", chain: "a" }, "delete chain ip6 kube-proxy a"],
  [{ kind: "delete-set", set: "a" }, "delete set ip6 kube-proxy a"],
  [{ kind: "flush-set", set: "a" }, "flush set ip6 kube-proxy a"],
  [
    { kind: "add-elements", set: "a", elements: [] },
    "# add element ip6 kube-proxy a: no elements",
  ],
  [
    { kind: "delete-elements", set: "a", elements: [{ key: ["tcp", 80] }, { key: [] }] },
    "delete element ip6 kube-proxy a { tcp . 80, * }",
  ],
  [
    { kind: "add-chain", chain: { name: "a", comment: 'says "no"' } },
    `add chain ip6 kube-proxy a { comment "says 'no'" ; }`,
  ],
];

for (const [operation, text] of operations) {
  Deno.test(`operationText() is ${text}`, () => {
    assert.equal(operationText(place, operation), text);
  });
}

const elements: readonly (readonly [NftElement, text: string])[] = [
  [{ key: ["10.128.0.1"] }, "10.128.0.1"],
  [{ key: ["10.128.0.1"], timeoutSeconds: 60 }, "10.128.0.1 timeout 60s"],
  [{ key: [80], value: ["10.128.0.1", 8080] }, "80 : 10.128.0.1 . 8080"],
  [{ key: [], value: { kind: "drop" } }, "* : drop"],
  [
    { key: [80], value: { kind: "goto", chain: "a" }, comment: "b", timeoutSeconds: 1 },
    '80 timeout 1s comment "b" : goto a',
  ],
];

for (const [element, text] of elements) {
  Deno.test(`elementText() is ${text}`, () => assert.equal(elementText(element), text));
}

Deno.test("keyText() joins fields, and has a star for the element of all other keys", () => {
  assert.equal(keyText(["172.30.0.1", "tcp", 80]), "172.30.0.1 . tcp . 80");
  assert.equal(keyText([]), "*");
});
