import assert from "node:assert/strict";
import { LeftOut, type LeftOutReason, whyLeftOut } from "../../../lib/watchers/left_out.ts";
import type { Service } from "../../../lib/kube/objects.ts";
import { service } from "../trackers/objects.ts";

const rows: readonly [string, Partial<Service>, LeftOutReason | undefined][] = [
  ["one with an address", {}, undefined],
  ["one without", { clusterIP: "" }, "no cluster IP"],
  ["a load balancer without", { clusterIP: "", type: "LoadBalancer" }, "no cluster IP"],
  ["an external name", { clusterIP: "", type: "ExternalName" }, undefined],
  ["a headless one", { clusterIP: "None" }, undefined],
  ["another proxy's", { otherProxy: true }, "another proxy"],
  ["one of an opted-out namespace", { namespace: "out" }, "opted out"],
];

for (const [name, changes, expected] of rows) {
  Deno.test(`whyLeftOut() of a Service: ${name}`, () =>
    assert.equal(whyLeftOut(service(changes), new Set(["out"])), expected));
}

Deno.test("LeftOut says all of them in one sentence, and nothing while there is no news", () => {
  const leftOut = new LeftOut();
  assert.equal(leftOut.takeSummary(), undefined);
  leftOut.set("shop/web", "no cluster IP");
  const sentence = "Left out 1 Service: 1 without spec.clusterIP, which an apiserver would give " +
    "and a file has to hold (shop/web)";
  assert.equal(leftOut.takeSummary(), sentence);
  leftOut.set("shop/web", "no cluster IP");
  leftOut.set("shop/web", undefined);
  leftOut.set("shop/web", "no cluster IP");
  assert.equal(leftOut.takeSummary(), undefined);
  for (const name of ["d", "b", "a"]) leftOut.set(`shop/${name}`, "no cluster IP");
  leftOut.set("mesh/x", "another proxy");
  leftOut.set("bank/y", "opted out");
  assert.equal(
    leftOut.takeSummary(),
    "Left out 6 Services: 4 without spec.clusterIP, which an apiserver would give and a file has " +
      "to hold (shop/a, shop/b, shop/d, ...); 1 labelled for another proxy (mesh/x); 1 in a " +
      "namespace that is opted out (bank/y)",
  );
  leftOut.set("bank/z", "opted out");
  for (const name of ["d", "b", "a", "web"]) leftOut.set(`shop/${name}`, undefined);
  leftOut.set("mesh/x", undefined);
  leftOut.set("bank/y", "no cluster IP");
  assert.equal(
    leftOut.takeSummary(),
    "Left out 2 Services: 1 without spec.clusterIP, which an apiserver would give and a file has " +
      "to hold (bank/y); 1 in a namespace that is opted out (bank/z)",
  );
  leftOut.set("bank/new", "opted out");
  for (const name of ["bank/new", "bank/y", "bank/z"]) leftOut.set(name, undefined);
  assert.equal(leftOut.takeSummary(), undefined);
});
