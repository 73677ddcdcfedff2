import assert from "node:assert/strict";
import { loadConfiguration, type LoadResult } from "../../../lib/config/load.ts";
import { applyPlatformDefaults } from "../../../lib/config/platform_defaults.ts";
import { describeProblem } from "../../../lib/config/problem.ts";
import { toV1alpha1, writeYaml } from "../../../lib/config/write.ts";
import { linesBeyond, type Recorded, recordedPath } from "../../peers/recorded_config.ts";
import { upstreamCases } from "./upstream_cases.ts";

const recorded: Recorded = JSON.parse(await Deno.readTextFile(recordedPath));

function load(text: string): LoadResult {
  const bytes = new TextEncoder().encode(text);
  return loadConfiguration([{ name: "c.yaml", bytes }], { strict: false, platform: "linux" });
}

function written({ loaded }: LoadResult): string | undefined {
  if (!loaded) return undefined;
  const configuration = applyPlatformDefaults(loaded.configuration, "iptables");
  return writeYaml(toV1alpha1(configuration, { unsetMinSyncPeriod: "upstream" }));
}

/** The fields that upstream's error names. */
function upstreamFields(error: string): string[] {
  const named = error.matchAll(
    /([\w.]+(?:\[\d+\])?): (?:Invalid|Duplicate|Forbidden|Required) value/g,
  );
  const paths = [...named, ...error.matchAll(/([\w.]+): Forbidden/g)].map(([, path]) => path);
  const fields = paths.filter((path) => /^[A-Z]|^logging/.test(path));
  return [...new Set(fields.map((path) => path.replace("KubeProxyConfiguration.", "")))].sort();
}

Deno.test("the record of upstream covers every case", () => {
  assert.deepEqual(Object.keys(recorded.cases), upstreamCases.map(({ name }) => name));
  assert.ok(upstreamCases.length >= 150, String(upstreamCases.length));
});

Deno.test("a configuration that says nothing is written as upstream writes it", () => {
  const text = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
  assert.equal(written(load(text)), recorded.base);
});

Deno.test("v1alpha1 is read, refused and written as upstream does", async (t) => {
  for (const { name, text } of upstreamCases) {
    await t.step(name, () => {
      const expected = recorded.cases[name];
      const result = load(text);
      const problems = result.problems.filter(({ severity }) => severity === "error");
      const told = problems.map(describeProblem);
      if ("changed" in expected) {
        assert.deepEqual(told, []);
        assert.deepEqual(linesBeyond(written(result) ?? "", recorded.base), expected.changed);
        return;
      }
      assert.ok(problems.length > 0, `upstream refuses this: ${expected.error}`);
      const fields = upstreamFields(expected.error);
      const ours = problems.map(({ upstream }) => upstream.replace("KubeProxyConfiguration.", ""));
      for (const field of fields) assert.ok(ours.includes(field), `${field}: ${told.join("; ")}`);
      if (fields.length > 0) {
        assert.deepEqual(ours.filter((field) => !fields.includes(field)), [], expected.error);
      }
    });
  }
});
