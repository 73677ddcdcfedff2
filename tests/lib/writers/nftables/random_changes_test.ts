import assert from "node:assert/strict";
import fc from "fast-check";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import { keyOf, numbers, servicePortOf, type Shape, shapeLists } from "../random_service_ports.ts";
import { Harness } from "./harness.ts";

type Step =
  | { readonly kind: "put"; readonly shapes: readonly Shape[] }
  | { readonly kind: "remove"; readonly number: number }
  | { readonly kind: "leftovers"; readonly leftovers: boolean }
  | { readonly kind: "fail"; readonly errno: number }
  | { readonly kind: "restart" | "settle" };

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("put" as const), shapes: shapeLists }),
  },
  fc.record({ kind: fc.constant("remove" as const), number: numbers }),
  fc.record({ kind: fc.constant("leftovers" as const), leftovers: fc.boolean() }),
  fc.record({
    kind: fc.constant("fail" as const),
    errno: fc.constantFrom(Errno.EINTR, Errno.ENOBUFS, Errno.EBUSY),
  }),
  fc.record({ kind: fc.constantFrom("restart" as const, "settle" as const) }),
);

/** A socket that takes any batch, and one that takes little more than the chains that are always there. */
const largestBatches = [Infinity, 20_000];

for (
  const [family, largestBatch] of ipFamilies.flatMap((f) =>
    largestBatches.map((n) => [f, n] as const)
  )
) {
  const limit = `batches of ${largestBatch} bytes`;
  Deno.test(`after any changes the table is the one of a clean start, ${family}, ${limit}`, async () => {
    const property = fc.asyncProperty(
      fc.array(steps, { minLength: 1, maxLength: 14 }),
      async (list) => {
        const harness = new Harness({ family, nftables: new FakeNftables({ largestBatch }) });
        await harness.all();
        for (const step of list) await take(harness, step);
        // A batch that shall fail may be the first one of these.
        await harness.maintain();
        await harness.maintain();
        assert.equal(await harness.drifted(), false);
        const table = harness.table();
        assert.equal(table, await harness.cleanStart());
        harness.restart();
        assert.equal((await harness.all()).written, 0);
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });
}

async function take(harness: Harness, step: Step): Promise<void> {
  switch (step.kind) {
    case "put":
      await harness.put(...step.shapes.map((shape) => servicePortOf(harness.family, shape)));
      return;
    case "remove":
      await harness.remove(keyOf(step.number));
      return;
    case "leftovers":
      await harness.settings({ leftovers: step.leftovers });
      return;
    case "fail":
      harness.nftables.failNextBatch(step.errno);
      return;
    case "restart":
      harness.restart();
      await harness.all();
      return;
    case "settle":
      assert.equal(await harness.drifted(), false);
  }
}
