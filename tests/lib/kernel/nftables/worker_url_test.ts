import assert from "node:assert/strict";
import { workerUrl } from "../../../../lib/kernel/nftables/worker_url.ts";

const rows = [
  {
    name: "in the sources",
    from: "file:///src/lib/kernel/nftables/worker_transport.ts",
    to: "file:///src/lib/kernel/nftables/worker.ts",
  },
  {
    name: "in the built program",
    from: "file:///tmp/deno-compile-kube-proxy/lib/kernel/nftables/worker_transport.js",
    to: "file:///tmp/deno-compile-kube-proxy/lib/kernel/nftables/worker.js",
  },
];
for (const { name, from, to } of rows) {
  Deno.test(`workerUrl() finds the worker beside its owner ${name}`, () => {
    assert.equal(workerUrl(from).href, to);
  });
}
