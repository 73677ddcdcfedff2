import assert from "node:assert/strict";
import fc from "fast-check";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { XtablesError } from "../../../../lib/kernel/xtables/errors.ts";
import type { XtBackend, XtRefusal } from "../../../../lib/kernel/xtables/xtables.ts";
import { RandomCluster } from "../random_cluster.ts";
import { numbers, type Shape, shapeLists } from "../random_service_ports.ts";
import { Harness } from "./harness.ts";

type Step =
  | { readonly kind: "put"; readonly shapes: readonly Shape[] }
  | { readonly kind: "remove"; readonly number: number }
  | { readonly kind: "fail"; readonly refusal: XtRefusal }
  | { readonly kind: "flush"; readonly chain: string }
  | { readonly kind: "restart" };

const refusals: readonly XtRefusal[] = ["locked", "busy", "stale"];

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("put" as const), shapes: shapeLists }),
  },
  fc.record({ kind: fc.constant("remove" as const), number: numbers }),
  fc.record({ kind: fc.constant("fail" as const), refusal: fc.constantFrom(...refusals) }),
  fc.record({
    kind: fc.constant("flush" as const),
    chain: fc.constantFrom("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING"),
  }),
  fc.record({ kind: fc.constant("restart" as const) }),
);

const backends: readonly XtBackend[] = ["nft", "legacy"];

for (const [family, backend] of ipFamilies.flatMap((f) => backends.map((b) => [f, b] as const))) {
  Deno.test(`after any changes the rules are those of a clean start, ${family}, ${backend}`, async () => {
    const property = fc.asyncProperty(
      fc.array(steps, { minLength: 1, maxLength: 14 }),
      async (list) => {
        const harness = new Harness({ family, backend });
        const mayFail = (error: unknown) => error instanceof XtablesError;
        const cluster = new RandomCluster({ family, writer: harness, mayFail });
        await cluster.settle();
        for (const step of list) await take(step, { cluster, harness });
        await cluster.settle();
        assert.equal(await harness.drifted(), false);
        const clean = new Harness({ family, backend });
        await clean.full(cluster.snapshot);
        assert.equal(await harness.dump(), await clean.dump());
        harness.restart();
        assert.equal((await harness.full(cluster.snapshot)).written, 0);
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });
}

async function take(
  step: Step,
  { cluster, harness }: { readonly cluster: RandomCluster; readonly harness: Harness },
): Promise<void> {
  switch (step.kind) {
    case "put":
      return await cluster.put(step.shapes);
    case "remove":
      return await cluster.remove(step.number);
    case "fail":
      return harness.xtables.failNextCommit({ refusal: step.refusal, message: "planted" });
    case "flush":
      harness.xtables.edit(harness.family, [
        { kind: "flush-chain", table: "nat", chain: step.chain },
      ]);
      return cluster.edited();
    case "restart":
      return await cluster.restart();
  }
}
