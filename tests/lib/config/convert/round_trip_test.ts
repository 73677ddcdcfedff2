import assert from "node:assert/strict";
import fc from "fast-check";
import { conversionText, convertText } from "../../../../lib/config/convert/convert.ts";
import { type Plan, planToV1alpha2 } from "../../../../lib/config/convert/plan.ts";
import {
  editDocuments,
  printEditable,
  rewrite,
  setTop,
} from "../../../../lib/config/convert/rewrite.ts";
import type { ConfigVersion } from "../../../../lib/config/documents.ts";
import { type LoadedConfiguration, loadTexts } from "../../../../lib/config/load.ts";
import type { ProxyConfiguration } from "../../../../lib/config/internal.ts";
import { describeProblem } from "../../../../lib/config/problem.ts";
import { writeConfiguration } from "../../../../lib/config/write.ts";
import { fileOf, sayableV1alpha2Values, v1alpha1Values } from "../random_configurations.ts";

/** `KUBE_PROXY_TEST_FULL=1` tries five times as many. */
const many = Deno.env.has("KUBE_PROXY_TEST_FULL") ? 5 : 1;

const start = { source: "c.yaml", line: 1, column: 1 };

function load(text: string): LoadedConfiguration {
  const { loaded, problems } = loadTexts([{ text, start }], { strict: true, platform: "linux" });
  if (!loaded) throw new Error(`${problems.map(describeProblem).join("\n")}\n${text}`);
  return loaded;
}

function convert(text: string, to: ConfigVersion) {
  const result = convertText({ text, start }, { to, adoptNewDefaults: false });
  if (result.kind === "refused") throw new Error(result.problems.map(describeProblem).join("\n"));
  return { text: conversionText(result.conversion), steps: result.conversion.steps };
}

/** A bindAddress that stands for all addresses changes nothing, and v1alpha2 has no field for it. */
function behaviour(configuration: ProxyConfiguration): ProxyConfiguration {
  return { ...configuration, unspecifiedBindAddress: "0.0.0.0" };
}

function same(before: string, after: string): void {
  const message = `${before}\n---\n${after}`;
  assert.deepEqual(
    behaviour(load(after).configuration),
    behaviour(load(before).configuration),
    message,
  );
}

Deno.test("random configurations of v1alpha1 mean the same as v1alpha2", () => {
  fc.assert(
    fc.property(v1alpha1Values, (values) => {
      const before = fileOf("v1alpha1", values);
      same(before, convert(before, "v1alpha2").text);
    }),
    { numRuns: 200 * many, seed: 1 },
  );
});

Deno.test("what v1alpha1 can say of v1alpha2 comes back the same, and nothing is lost", () => {
  fc.assert(
    fc.property(sayableV1alpha2Values, (values) => {
      const before = fileOf("v1alpha2", values);
      const { text, steps } = convert(before, "v1alpha1");
      assert.deepEqual(steps.filter(({ kind }) => kind === "lost"), [], before);
      same(before, text);
      same(before, convert(text, "v1alpha2").text);
    }),
    { numRuns: 50 * many, seed: 2 },
  );
});

Deno.test("a configuration that is written as v1alpha2 reads back the same", () => {
  fc.assert(
    fc.property(v1alpha1Values, (values) => {
      const before = fileOf("v1alpha1", values);
      same(before, writeConfiguration(load(before).configuration, "v1alpha2"));
    }),
    { numRuns: 20 * many, seed: 3 },
  );
});

Deno.test("a broken value that nothing reads is not written as v1alpha2", () => {
  const before = fileOf("v1alpha1", { mode: "iptables", "nftables.masqueradeBit": -1 });
  const { configuration } = load(before);
  assert.equal(
    load(writeConfiguration(configuration, "v1alpha2")).configuration.nftables.masqueradeBit,
    14,
  );
});

/** One field goes to a wrong place. */
function planted(plan: Plan, from: string, to: string): Plan {
  const steps = plan.fields.get(from)?.map((step) => ({ ...step, to }));
  return steps ? { ...plan, fields: new Map([...plan.fields, [from, steps]]) } : plan;
}

for (
  const [from, to] of [
    ["conntrack.min", "linux.conntrack.maxPerCore"],
    ["conntrack.udpTimeout", "linux.conntrack.udpStreamTimeout"],
    ["oomScoreAdj", ""],
  ]
) {
  Deno.test(`the property fails when ${from} goes to "${to}"`, () => {
    const property = fc.property(v1alpha1Values, (values) => {
      const before = fileOf("v1alpha1", values);
      const plan = planToV1alpha2(load(before), { adoptNewDefaults: false });
      const [source] = editDocuments(before);
      const result = rewrite(source, planted(plan, from, to));
      setTop(result, "apiVersion", "kubeproxy.config.k8s.io/v1alpha2");
      same(before, printEditable(result));
    });
    assert.throws(() => fc.assert(property, { numRuns: 1_000, seed: 1, endOnFailure: true }));
  });
}
