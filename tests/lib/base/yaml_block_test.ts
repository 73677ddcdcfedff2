import assert from "node:assert/strict";
import fc from "fast-check";
import { plainValue, readYaml } from "../../../lib/base/yaml.ts";
import { readBlockYaml } from "../../../lib/base/yaml_block.ts";

const service = `---
# as kubectl prints it
apiVersion: v1
kind: Service
metadata:
  annotations: {}
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels:
    app.kubernetes.io/name: web
  name: web

spec:
  clusterIP: fd00:172:30::1
  clusterIPs:
  - fd00:172:30::1
  - 172.30.0.1
  ports:
    - name: 'http'
      port: 80
      targetPort: web-port
    -   port: 0443
        optional: yes
  selector:
  ratio: -1.5e3
status:
  loadBalancer: {}
  conditions: []
`;

Deno.test("readBlockYaml() gives the value that readYaml() gives", async (test) => {
  const rows: Readonly<Record<string, string>> = {
    "a Service": service,
    "a key without a value at the end": "a:\n  b:\n",
    "a list as deep as its key, in an item": "a:\n- b:\n  - 1\n  - 2\n- c:\n- d: 1\n",
    "a list that ends in a key without a value": "l:\n- a:\n-    b: 1\n-   c:\n",
    "spaces within": "a: one two - three\n",
    "words that are values": "a: on\nb: ~\nc: 0x1f\nd: 1_000\ne: .5\n",
    "no line break at the end": "a: 1",
    "a number as a key": "80: tcp\n9: udp\n",
  };
  for (const [name, text] of Object.entries(rows)) {
    await test.step(name, () => {
      const read = readBlockYaml(text);
      assert.ok(read);
      assert.deepEqual(read.value, slowly(text)?.value);
    });
  }
});

Deno.test("readBlockYaml() leaves to readYaml() what is not plain", async (test) => {
  const rows: Readonly<Record<string, string>> = {
    "an alias": "a: &x 1\nb: *x\n",
    "a block scalar": "a: |\n  text\n",
    "a colon at the end of a value": "a: fd00::\n",
    "a comment behind a value": "a: 1 # one\n",
    "a key twice": "a: 1\na: 2\n",
    "a line of its own kind": "a: 1\u2028b: 2\n",
    "a list at the top": "- a\n",
    "a prototype": "__proto__: 1\n",
    "a scalar at the top": "a\n",
    "a scalar of two lines": "a: one\n  two\n",
    "a tab": "a:\n\tb: 1\n",
    "an escape": 'a: "\\n"\n',
    "flow style": "a: {b: 1}\n",
    "lists of lists": "a:\n- - 1\n",
    "no key": "a: 1\nb\n",
    "nothing": "",
    "quotes within quotes": `a: "x" "y"\n`,
    "quotes that stay open": `a: "x\n`,
    "a second document": "a: 1\n---\nb: 1\n",
    "the end of a document": "a: 1\n...\n",
    "too deep": Array.from({ length: 40 }, (_, i) => `${" ".repeat(i)}a:\n`).join(""),
  };
  for (const [name, text] of Object.entries(rows)) {
    await test.step(name, () => assert.equal(readBlockYaml(text), undefined));
  }
});

Deno.test("readBlockYaml() never gives another value than readYaml(), whatever the text", () => {
  const pieces = fc.constantFrom(
    ..."a b - : # ' \" 1 0 . ~ x: y: z: on fd00::1 - -- --- ... | > & * ! ? { } [ ] , % @ ` \\ \t \r"
      .split(" "),
    " ",
    "  ",
    "- ",
    ": ",
    "a: ",
    "b:\n",
    "- c: ",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n  - ",
    "{}",
    "[]",
    "'q'",
    '"q"',
    "é",
  );
  const texts = fc.array(pieces, { maxLength: 20 }).map((all) => all.join(""));
  let plain = 0;
  fc.assert(
    fc.property(texts, (text) => {
      const read = readBlockYaml(text);
      if (!read) return;
      plain++;
      const slow = slowly(text);
      assert.ok(slow, JSON.stringify(text));
      assert.deepEqual(read.value, slow.value, JSON.stringify(text));
    }),
    { numRuns: 20_000 },
  );
  assert.ok(plain > 200, `only ${plain} texts were plain`);
});

/** Undefined when something is wrong with the text. */
function slowly(text: string): { readonly value: unknown } | undefined {
  const documents = readYaml(text, { source: "test" });
  const [{ root, problems }] = documents;
  if (documents.length !== 1 || problems.length > 0 || !root) return undefined;
  return { value: plainValue(root) };
}
