import assert from "node:assert/strict";
import { workerUrl } from "../../../../lib/kernel/nftables/worker_url.ts";

const rows = [
  {
    name: "beside its owner in the sources",
    from: "file:///src/lib/kernel/nftables/worker_transport.ts",
    to: "file:///src/lib/kernel/nftables/worker.ts",
  },
  {
    name: "below the root of a bundle, asked from the main module",
    from: "file:///tmp/deno-compile-kube-proxy/bundle/main.js",
    to: "file:///tmp/deno-compile-kube-proxy/bundle/lib/kernel/nftables/worker.js",
  },
  {
    name: "below the root of a bundle, asked from a chunk",
    from: "file:///tmp/deno-compile-kube-proxy/bundle/modules/chunk-ABC.js",
    to: "file:///tmp/deno-compile-kube-proxy/bundle/lib/kernel/nftables/worker.js",
  },
];
for (const { name, from, to } of rows) {
  Deno.test(`workerUrl() finds the worker ${name}`, () => {
    assert.equal(workerUrl(from).href, to);
  });
}
