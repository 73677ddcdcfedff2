import assert from "node:assert/strict";
import { Ajv } from "ajv";
import { plainValue, readYaml } from "../../../lib/base/yaml.ts";
import { defaultsText } from "../../../lib/config/defaults_text.ts";
import { configSchema } from "../../../lib/config/json_schema.ts";
import { findEmbedded } from "../../../lib/config/convert/config_map.ts";
import { modeNames } from "../../../lib/writers/registry.ts";
import { configurationOf, problemsOf, v1, v2 } from "./loading.ts";

const examples = new URL("../../../examples/config/", import.meta.url);
const check = new Ajv({ strict: false, allErrors: true }).compile(configSchema());

function schemaErrors(text: string): string[] {
  return readYaml(text, { source: "a.yaml" }).flatMap(({ root }) => {
    if (!root) return ["no document"];
    return check(plainValue(root))
      ? []
      : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  });
}

Deno.test("every example is valid, to the schema and to us", async (t) => {
  const names = [...Deno.readDirSync(examples)].map(({ name }) => name).sort();
  assert.ok(names.length >= 9);
  for (const name of names) {
    await t.step(name, async () => {
      const text = await Deno.readTextFile(new URL(name, examples));
      const content = findEmbedded(text, name)?.content.text ?? text;
      assert.deepEqual(schemaErrors(content), []);
      assert.deepEqual(problemsOf({ [name]: content }, { strict: true, partial: true }), []);
    });
  }
});

/** What the schema must refuse. */
const broken: { name: string; text: string }[] = [
  { name: "an unknown field", text: v2("syncPeroid: 10s\n") },
  { name: "a field of the other version", text: v2("conntrack: {min: 1}\n") },
  { name: "a new field in the old version", text: v1("nodeIPOverride: []\n") },
  { name: "a wrong type", text: v2('linux: {oomScoreAdj: "5"}\n') },
  { name: "a number for a duration", text: v2("syncPeriod: 30\n") },
  { name: "text that is no duration", text: v2("syncPeriod: soon\n") },
  { name: "a bit out of range", text: v2("nftables: {masqueradeBit: 32}\n") },
  { name: "an unknown mode", text: v2("mode: userspace\n") },
  { name: "an unknown kind", text: v2("", "KubeProxyBPFConfiguration") },
  { name: "an unknown version", text: v2("").replace("v1alpha2", "v1beta1") },
  {
    name: "the kind of a mode in the old version",
    text: v2("", "KubeProxyIPVSConfiguration").replace("v1alpha2", "v1alpha1"),
  },
  {
    name: "a shared field in an instance",
    text: v2("syncPeriod: 10s\n", "KubeProxyInstanceConfiguration"),
  },
  {
    name: "a field of another mode",
    text: v2("scheduler: rr\n", "KubeProxyNFTablesConfiguration"),
  },
  { name: "a gate that is no boolean", text: v2("featureGates: {AllBeta: 1}\n") },
];

Deno.test("the schema refuses what is broken", async (t) => {
  for (const { name, text } of broken) {
    await t.step(name, () => {
      assert.notDeepEqual(schemaErrors(text), []);
      assert.notDeepEqual(problemsOf({ "a.yaml": text }, { strict: true, partial: true }), []);
    });
  }
});

Deno.test("defaultsText() is valid and means the same as saying nothing", () => {
  for (const version of ["v1alpha1", "v1alpha2"] as const) {
    const nothing = version === "v1alpha1" ? v1 : v2;
    for (const mode of [undefined, ...modeNames]) {
      if (mode === "kernelspace") continue;
      const text = defaultsText({ version, mode });
      assert.deepEqual(schemaErrors(text), []);
      assert.deepEqual(
        configurationOf({ "a.yaml": text }),
        configurationOf({ "a.yaml": nothing(mode ? `mode: ${mode}\n` : "") }),
      );
    }
  }
});

/** The objects of the schema that have a field of the name. */
function* fieldsOf(value: unknown, name: string): Generator<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return;
  const properties = (value as { properties?: Record<string, Record<string, unknown>> }).properties;
  if (properties?.[name]) yield properties[name];
  for (const part of Object.values(value)) yield* fieldsOf(part, name);
}

Deno.test("the schema tells each field's sentence and default, and which may be null", () => {
  const schema = configSchema();
  const [score] = fieldsOf(schema, "oomScoreAdj");
  assert.equal(score.default, -999);
  assert.equal(typeof score.description, "string");
  const [bit] = fieldsOf(schema, "masqueradeBit");
  assert.equal(bit.default, 14);
  const hasNull = ({ anyOf }: Record<string, unknown>) =>
    Array.isArray(anyOf) && anyOf.some(({ type }) => type === "null");
  assert.equal(hasNull(score), true);
  const [period] = fieldsOf(schema, "minSyncPeriod");
  assert.ok(!("default" in period) || period.default !== undefined, "a default that is nothing");
});
