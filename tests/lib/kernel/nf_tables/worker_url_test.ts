import assert from "node:assert/strict";
import { workerUrl } from "../../../../lib/kernel/nf_tables/worker_url.ts";

const rows = [
  {
    name: "in the sources",
    from: "file:///src/lib/kernel/nf_tables/worker_transport.ts",
    to: "file:///src/lib/kernel/nf_tables/worker.ts",
  },
  {
    name: "in the built program",
    from: "file:///tmp/deno-compile-kube-proxy/lib/kernel/nf_tables/worker_transport.js",
    to: "file:///tmp/deno-compile-kube-proxy/lib/kernel/nf_tables/worker.js",
  },
];
for (const { name, from, to } of rows) {
  Deno.test(`workerUrl() finds the worker beside its owner ${name}`, () => {
    assert.equal(workerUrl(from).href, to);
  });
}
