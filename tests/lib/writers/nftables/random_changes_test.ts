import assert from "node:assert/strict";
import fc from "fast-check";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

/** A service port by a few numbers, so that neighbours share addresses of pods, and differ in shape. */
interface Shape {
  readonly number: number;
  readonly pods: readonly number[];
  readonly isExternal: boolean;
  readonly isExternalLocal: boolean;
  readonly isInternalLocal: boolean;
  readonly affinitySeconds: number;
  readonly ranges: number;
  readonly protocol: "TCP" | "UDP" | "SCTP";
}

const shapes: fc.Arbitrary<Shape> = fc.record({
  number: fc.integer({ min: 1, max: 6 }),
  pods: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 6 }),
  isExternal: fc.boolean(),
  isExternalLocal: fc.boolean(),
  isInternalLocal: fc.boolean(),
  affinitySeconds: fc.constantFrom(0, 0, 60, 90),
  ranges: fc.constantFrom(0, 0, 1, 3, 60),
  protocol: fc.constantFrom("TCP", "TCP", "UDP", "SCTP"),
});

type Step =
  | { readonly kind: "put"; readonly shapes: readonly Shape[] }
  | { readonly kind: "remove"; readonly number: number }
  | { readonly kind: "leftovers"; readonly leftovers: boolean }
  | { readonly kind: "fail"; readonly errno: number }
  | { readonly kind: "restart" | "settle" };

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      shapes: fc.uniqueArray(shapes, { maxLength: 4, selector: ({ number }) => number }),
    }),
  },
  fc.record({ kind: fc.constant("remove" as const), number: fc.integer({ min: 1, max: 6 }) }),
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
      await harness.remove(`ns/s${step.number}:p80/TCP`);
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

function servicePortOf(family: IpFamily, shape: Shape): ServicePort {
  const { clusterIP, external, loadBalancer } = addresses[family];
  const { number, pods, ranges } = shape;
  // Even pods are on this node.
  const all = endpoints(family, ...pods.toSorted().map((pod) => [pod % 2 ? 9 : 1, pod] as const));
  return {
    ...servicePort({
      name: `s${number}`,
      protocol: shape.protocol,
      clusterIP: clusterIP(number),
      externalIPs: shape.isExternal ? [external(number)] : [],
      loadBalancerVIPs: shape.isExternal ? [loadBalancer(number), loadBalancer(100 + number)] : [],
      nodePort: shape.isExternal ? 30_000 + number : 0,
      affinitySeconds: shape.affinitySeconds,
      sourceRanges: Array.from(
        { length: ranges },
        (_, index) => family === "IPv4" ? `10.${index}.0.0/16` : `fd00:${index + 1}::/32`,
      ),
      internalPolicyLocal: shape.isInternalLocal,
      externalPolicyLocal: shape.isExternalLocal,
      clusterEndpoints: all,
      localEndpoints: shape.isInternalLocal || shape.isExternalLocal
        ? all.filter(({ isLocal }) => isLocal)
        : [],
    }),
    // One key for all protocols, so that a Service changes its protocol too.
    key: `ns/s${number}:p80/TCP`,
  };
}
