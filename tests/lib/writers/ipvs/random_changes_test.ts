import assert from "node:assert/strict";
import fc from "fast-check";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { RandomCluster } from "../random_cluster.ts";
import { numbers, type Shape, shapeLists } from "../random_service_ports.ts";
import { Harness } from "./harness.ts";

const parts = ["ipvs", "ipset", "links", "rules"] as const;

type Step =
  | { readonly kind: "put"; readonly shapes: readonly Shape[] }
  | { readonly kind: "remove"; readonly number: number }
  | { readonly kind: "refuse"; readonly part: (typeof parts)[number]; readonly every: number }
  | { readonly kind: "heal" | "restart" | "lose-link" | "lose-servers" };

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("put" as const), shapes: shapeLists }),
  },
  fc.record({ kind: fc.constant("remove" as const), number: numbers }),
  fc.record({
    kind: fc.constant("refuse" as const),
    part: fc.constantFrom(...parts),
    every: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({
    kind: fc.constantFrom(
      "heal" as const,
      "restart" as const,
      "lose-link" as const,
      "lose-servers" as const,
    ),
  }),
);

for (const family of ipFamilies) {
  Deno.test(`after any changes everything is as after a clean start, ${family}`, async () => {
    const property = fc.asyncProperty(
      fc.array(steps, { minLength: 1, maxLength: 14 }),
      async (list) => {
        const harness = new Harness({ family });
        const faults = new Faults(harness);
        const mayFail = () => faults.arePlanted;
        const cluster = new RandomCluster({ family, writer: harness, mayFail });
        await cluster.settle();
        for (const step of list) await take(step, { cluster, faults, harness });
        faults.heal();
        await cluster.settle();
        assert.equal(await harness.drifted(), false);
        const clean = new Harness({ family });
        await clean.full(cluster.snapshot);
        assert.equal(await harness.dump(), await clean.dump());
        harness.restart();
        assert.equal((await harness.full(cluster.snapshot)).written, 0);
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });
}

/** Everything that a part of the kernel refuses until it is healed. */
class Faults {
  readonly #harness: Harness;
  arePlanted = false;

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  /** One change of so many is refused. */
  plant(part: (typeof parts)[number], every: number): void {
    const { ipset, ipvs, links, rules } = this.#harness.kernel;
    let count = 0;
    const errno = () => ++count % every === 0 ? Errno.ENOMEM : 0;
    this.arePlanted = true;
    if (part === "ipvs") ipvs.refuse(errno);
    if (part === "ipset") ipset.refuse(errno);
    if (part === "links") links.refuse(errno);
    if (part === "rules") rules.nft.failNextCommit({ refusal: "other", message: "planted" }, every);
  }

  heal(): void {
    const { ipset, ipvs, links, rules } = this.#harness.kernel;
    for (const each of [ipset, ipvs, links]) each.refuse(() => 0);
    rules.nft.failNextCommit({ refusal: "other", message: "planted" }, 0);
    this.arePlanted = false;
  }
}

async function take(step: Step, { cluster, faults, harness }: {
  readonly cluster: RandomCluster;
  readonly faults: Faults;
  readonly harness: Harness;
}): Promise<void> {
  switch (step.kind) {
    case "put":
      return await cluster.put(step.shapes);
    case "remove":
      return await cluster.remove(step.number);
    case "refuse":
      return faults.plant(step.part, step.every);
    case "heal":
      return faults.heal();
    case "restart":
      return await cluster.restart();
    case "lose-link":
      harness.kernel.links.remove("kube-ipvs0");
      return cluster.edited();
    case "lose-servers": {
      const { ipvs } = harness.kernel;
      ipvs.edit(ipvs.read().map(({ server }) => ({ kind: "delete-server", server })));
      return cluster.edited();
    }
  }
}
