import assert from "node:assert/strict";
import fc from "fast-check";
import { readEndpointSlice } from "../../../../lib/kube/protobuf/endpoint_slice.ts";
import { readNode } from "../../../../lib/kube/protobuf/node.ts";
import { MalformedMessageError, Reader, TextCache } from "../../../../lib/kube/protobuf/reader.ts";
import { readService } from "../../../../lib/kube/protobuf/service.ts";
import { type Field, message } from "../../../fakes/protobuf_writer.ts";

const read = (bytes: Uint8Array) => readEndpointSlice(new Reader(bytes, new TextCache()));

const meta: Field = [1, [
  [1, "web-abcde"],
  [3, "shop"],
  [6, "4711"],
  [11, [[1, "kubernetes.io/service-name"], [2, "web"]]],
]];
const endpoint: Field = [2, [
  [1, "10.128.0.1"],
  [1, "10.128.0.2"],
  [2, [[1, 0], [3, 1]]],
  [6, "node-1"],
  [8, [[1, [[1, "zone-a"]]], [2, [[1, "node-1"]]]]],
]];
const port: Field = [3, [[1, "http"], [2, "UDP"], [3, 8080]]];
const whole = [meta, endpoint, port, [4, "IPv4"]] as const;

const expected = {
  namespace: "shop",
  name: "web-abcde",
  resourceVersion: "4711",
  serviceName: "web",
  addressType: "IPv4",
  ports: [{ name: "http", protocol: "UDP", port: 8080 }],
  endpoints: [{
    address: "10.128.0.1",
    ready: false,
    serving: true,
    terminating: true,
    nodeName: "node-1",
    zoneHints: ["zone-a"],
    nodeHints: ["node-1"],
  }],
  triggerTimeMs: 0,
  otherProxy: false,
};

Deno.test("readEndpointSlice() reads what a proxy needs", () => {
  assert.deepEqual(read(message(whole)), expected);
});

const variants: readonly { readonly name: string; readonly fields: readonly Field[] }[] = [
  { name: "fields in another order", fields: [[4, "IPv4"], port, endpoint, meta] },
  {
    name: "unknown fields of every kind",
    fields: [[99, 1], [100, "text"], ...whole, [101, [[1, 7]]]],
  },
  {
    name: "a condition that it does not know",
    fields: [
      meta,
      [2, [
        [1, "10.128.0.1"],
        [2, [[4, [[1, 7]]], [1, 0], [3, 1], [5, 1]]],
        [6, "node-1"],
        [8, [[1, [[1, "zone-a"]]], [2, [[1, "node-1"]]]]],
      ]],
      port,
      [4, "IPv4"],
    ],
  },
  {
    name: "a label whose value stands before its key",
    fields: [
      [1, [[1, "web-abcde"], [3, "shop"], [6, "4711"], [11, [
        [2, "web"],
        [1, "kubernetes.io/service-name"],
      ]]]],
      endpoint,
      port,
      [4, "IPv4"],
    ],
  },
];

for (const { name, fields } of variants) {
  Deno.test(`readEndpointSlice() does not mind ${name}`, () => {
    assert.deepEqual(read(message(fields)), expected);
  });
}

Deno.test("readEndpointSlice() of bytes cut off anywhere is a slice with less or a MalformedMessageError", () => {
  const bytes = message(whole);
  for (let length = 0; length < bytes.length; length++) {
    try {
      read(bytes.subarray(0, length));
    } catch (error) {
      assert.ok(error instanceof MalformedMessageError, `at ${length}: ${error}`);
    }
  }
});

Deno.test("readers of every kind end on any bytes, with a value or a MalformedMessageError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const readKind of [readEndpointSlice, readService, readNode]) {
        try {
          readKind(new Reader(bytes, new TextCache()));
        } catch (error) {
          assert.ok(error instanceof MalformedMessageError, String(error));
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("readers survive one flipped byte of a real message", () => {
  const bytes = message(whole);
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const flipped = Uint8Array.from(bytes);
      flipped[at] ^= mask;
      try {
        read(flipped);
      } catch (error) {
        assert.ok(error instanceof MalformedMessageError, String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("readService() reads the timeout of session affinity past fields that it does not know", () => {
  const service = (...config: readonly Field[]) => {
    const spec: Field = [2, [[3, "172.30.0.1"], [7, "ClientIP"], [14, config]]];
    return readService(new Reader(message([meta, spec]), new TextCache()));
  };
  const plain = service([1, [[1, 600]]]);
  assert.equal(plain.affinitySeconds, 600);
  assert.deepEqual(service([9, [[1, 7]]], [1, [[5, "x"], [1, 600], [6, 1]]], [8, 3]), plain);
  assert.equal(service([9, "x"]).affinitySeconds, 10_800);
});

Deno.test("readService() reads addresses of load balancers past fields that it does not know", () => {
  const ingressOf = (...status: readonly Field[]) =>
    readService(new Reader(message([meta, [3, status]]), new TextCache())).ingress.map(({ ip }) =>
      ip
    );
  const balancer: Field = [1, [[1, [[1, "203.0.113.1"]]], [1, [[1, "203.0.113.2"]]]]];
  assert.deepEqual(ingressOf(balancer), ["203.0.113.1", "203.0.113.2"]);
  // Conditions, which look like a balancer to whoever does not mind the number of their field.
  const condition: Field = [2, [[1, [[1, "203.0.113.9"]]]]];
  assert.deepEqual(ingressOf(condition, balancer), ["203.0.113.1", "203.0.113.2"]);
  assert.deepEqual(ingressOf([1, [[9, [[1, "203.0.113.9"]]]]]), []);
});
