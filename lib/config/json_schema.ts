/** The tables as JSON Schema (draft 7, which editors know), for completion and checks while typing. */
import * as z from "zod";
import type { AnyField, AnyFields } from "../base/fields.ts";
import { modeConfigs } from "../writers/registry.ts";
import { apiGroup, type ConfigVersion } from "./documents.ts";
import { isSection } from "./tables.ts";
import { v1alpha1Fields } from "./v1alpha1/fields.ts";
import { v1alpha2Fields } from "./v1alpha2/fields.ts";
import { instanceFields } from "./v1alpha2/instance.ts";

type Schema = Readonly<Record<string, unknown>>;

interface Kind {
  readonly name: string;
  readonly version: ConfigVersion;
  readonly fields: AnyFields;
}

/** One schema for every document of both versions; `apiVersion` and `kind` choose the fields. */
export function configSchema(): Schema {
  const kinds = schemaKinds();
  const versions = [...new Set(kinds.map(({ version }) => apiVersionOf(version)))];
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of kube-proxy",
    type: "object",
    required: ["apiVersion", "kind"],
    properties: {
      apiVersion: { enum: versions },
      kind: { enum: [...new Set(kinds.map(({ name }) => name))] },
    },
    if: { properties: { apiVersion: { const: apiVersionOf("v1alpha1") } } },
    then: { properties: { kind: { const: "KubeProxyConfiguration" } } },
    allOf: kinds.map(({ name, version }) => ({
      if: {
        properties: { apiVersion: { const: apiVersionOf(version) }, kind: { const: name } },
        required: ["apiVersion", "kind"],
      },
      then: { $ref: `#/definitions/${version}.${name}` },
    })),
    definitions: Object.fromEntries(
      kinds.map(({ name, version, fields }) => [`${version}.${name}`, documentSchema(fields)]),
    ),
  };
}

function schemaKinds(): Kind[] {
  const modes = Object.values(modeConfigs).map(({ documentKind, fields }): Kind => ({
    name: documentKind,
    version: "v1alpha2",
    fields,
  }));
  return [
    { name: "KubeProxyConfiguration", version: "v1alpha1", fields: v1alpha1Fields },
    { name: "KubeProxyConfiguration", version: "v1alpha2", fields: v1alpha2Fields },
    { name: "KubeProxyInstanceConfiguration", version: "v1alpha2", fields: instanceFields },
    ...modes,
  ];
}

function apiVersionOf(version: ConfigVersion): string {
  return `${apiGroup}/${version}`;
}

function documentSchema(fields: AnyFields): Schema {
  const header = { apiVersion: {}, kind: {} };
  return {
    type: "object",
    properties: { ...header, ...propertiesOf(fields) },
    additionalProperties: false,
  };
}

function propertiesOf(fields: AnyFields): Schema {
  return Object.fromEntries(
    Object.entries(fields).map(([name, entry]) => [
      name,
      isSection(entry)
        ? {
          description: entry.doc,
          type: ["object", "null"],
          properties: propertiesOf(entry.fields),
          additionalProperties: false,
        }
        : fieldSchema(entry),
    ]),
  );
}

function fieldSchema(field: AnyField): Schema {
  const { $schema: _, ...own } = z.toJSONSchema(field.type, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
  });
  const rules: Schema = Object.assign({}, ...field.rules.map(({ jsonSchema }) => jsonSchema));
  const value = { ...own, ...rules };
  const initial: unknown = field.default === undefined
    ? undefined
    : z.encode(field.type, field.default);
  return {
    description: field.doc,
    ...(initial === undefined ? {} : { default: initial }),
    ...(field.refusesNull ? value : { anyOf: [value, { type: "null" }] }),
  };
}
