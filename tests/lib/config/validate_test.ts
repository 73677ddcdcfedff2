import assert from "node:assert/strict";
import { describeProblem } from "../../../lib/config/problem.ts";
import { validateConfiguration, type ValidateOptions } from "../../../lib/config/validate.ts";
import { configurationOf, v2 } from "./loading.ts";

const options: ValidateOptions = {
  version: "v1alpha2",
  platform: "linux",
  originOf: () => undefined,
  fallback: { source: "node.yaml", line: 1, column: 1 },
};

Deno.test("a value that nobody wrote is named as v1alpha2 spells it, at the top of the file", () => {
  const configuration = { ...configurationOf({ "a.yaml": v2("") }), syncPeriodMs: 0 };
  const { problems } = validateConfiguration(configuration, options);
  assert.deepEqual(problems.map(({ path, place }) => [path, place]), [
    ["syncPeriod", options.fallback],
  ]);
  assert.match(describeProblem(problems[0]), /^node\.yaml:1:1: syncPeriod: must be .*, not 0s/);
});

Deno.test("a value is named as its writer spelt it, where that is known", () => {
  const configuration = { ...configurationOf({ "a.yaml": v2("") }), syncPeriodMs: 0 };
  const place = { source: "flags", line: 0, column: 0 };
  const { problems } = validateConfiguration(configuration, {
    ...options,
    originOf: (name) => name === "syncPeriodMs" ? { place, path: "--sync-period" } : undefined,
  });
  assert.deepEqual(problems.map(({ path, place }) => [path, place]), [["--sync-period", place]]);
});

Deno.test("one field that two settings come from is complained of once, two flags twice", () => {
  const configuration = {
    ...configurationOf({ "a.yaml": v2("") }),
    iptables: { ...configurationOf({ "a.yaml": v2("") }).iptables, masqueradeBit: 40 },
    ipvs: { ...configurationOf({ "a.yaml": v2("") }).ipvs, masqueradeBit: 40 },
  };
  const problemsAt = (line: number) =>
    validateConfiguration(configuration, {
      ...options,
      originOf: () => ({ place: { source: "x", line, column: 1 }, path: "masqueradeBit" }),
    }).problems.length;
  assert.equal(problemsAt(3), 1);
  assert.equal(problemsAt(0), 2);
});
