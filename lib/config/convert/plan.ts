/**
 * What converting does with every field, decided before anything is written. Two rows of the two
 * tables with the same internal place are the same setting; the rest is in the differences of their
 * types, defaults and rules.
 */
import * as z from "zod";
import { isUnset } from "../assemble.ts";
import type { Given } from "../decode.ts";
import type { ConfigVersion } from "../documents.ts";
import { internalDefaults, type ProxyConfiguration } from "../internal.ts";
import { showValue } from "../problem.ts";
import { type Row, valueAt } from "../tables.ts";
import { v1alpha1Table } from "../v1alpha1/fields.ts";
import { v1alpha2Table } from "../v1alpha2/table.ts";
import { isIdle } from "../validate.ts";

export type StepKind = "kept" | "moved" | "default made explicit" | "dropped" | "lost";

/** The fate of one field, and a line of the report. */
export interface Step {
  readonly kind: StepKind;
  /** Empty for a field that the source does not have. */
  readonly from: string;
  /** Empty for a field that the result does not have. */
  readonly to: string;
  /** As a file spells it. */
  readonly value: string;
  /** Empty where the kind says all. */
  readonly why: string;
  /** What stands in the result, where that is not what stood in the source. */
  readonly replacement?: { readonly value: unknown };
}

export interface Plan {
  /** By the row's path in the source; the first step is the field's own, others add fields. */
  readonly fields: ReadonlyMap<string, readonly Step[]>;
  /** Fields the source does not have. */
  readonly added: readonly Step[];
}

export interface PlanInput {
  readonly given: ReadonlyMap<string, Given>;
  readonly configuration: ProxyConfiguration;
}

/** v1alpha1 → v1alpha2. Behaviour stays, unless the new defaults are asked for. */
export function planToV1alpha2(
  input: PlanInput,
  options: { readonly adoptNewDefaults: boolean },
): Plan {
  const fields = new Map<string, Step[]>();
  for (const [path, given] of input.given) {
    fields.set(path, upgrade(given, input.configuration, options.adoptNewDefaults));
  }
  const present = new Set([...fields.values()].flat().map(({ to }) => to));
  const added = v1alpha2Table.rows.flatMap((row) =>
    present.has(row.path) ? [] : [
      ...newDefault(row, input, options.adoptNewDefaults),
      ...addressOfFamily(row, input.configuration),
    ]
  );
  return { fields, added };
}

/** v1alpha2 → v1alpha1. What that cannot say is lost, and named. */
export function planToV1alpha1(input: PlanInput): Plan {
  const fields = new Map<string, Step[]>();
  for (const [path, given] of input.given) fields.set(path, downgrade(given, input.configuration));
  const present = new Set([...fields.values()].flat().map(({ to }) => to));
  const handled = new Set([...fields.keys()]);
  const added = v1alpha2Table.rows.flatMap((row) =>
    handled.has(row.path) ? [] : oldDefault(row, input.configuration, present)
  );
  return { fields, added };
}

/** Nothing changes: for files that are only split. */
export function planToSame(input: PlanInput): Plan {
  const fields = new Map(
    [...input.given].map(([path, given]) => [path, [keep(given, given.row, "")]]),
  );
  return { fields, added: [] };
}

/** The version that a file is converted to when nobody says which. */
export function otherVersion(version: ConfigVersion): ConfigVersion {
  return version === "v1alpha1" ? "v1alpha2" : "v1alpha1";
}

function upgrade(given: Given, configuration: ProxyConfiguration, adopt: boolean): Step[] {
  const { row, value } = given;
  const { mode } = configuration;
  const [target, ...others] = row.to.flatMap((place) => rowFor(place) ?? []);
  if (!target) return [drop(given, "nothing reads it")];
  if (!row.counts(mode)) {
    const silent = isUnset(given) || same(value, row.field.default);
    if (silent) return [drop(given, "nothing reads it with this mode, and it is the default")];
    const used = valueAt(configuration, row.to[0]);
    if (used === value) return [drop(given, `${target.path} says the same`)];
    const reader = mode === "" ? "iptables, the mode by default," : `the mode ${mode}`;
    return [lose(given, `${reader} does not read it; ${target.path} is for all modes`)];
  }
  if (value === undefined) return upgradeNull(given, target, adopt);
  if (isUnset(given) && !target.field.zeroIsUnset) {
    return [drop(given, `${shown(given)} means unset`)];
  }
  if (isEmptyList(value) && row.field.type !== target.field.type) {
    const isAddress = row.path === "bindAddress";
    return [drop(given, isAddress ? "every address is the default" : "empty means unset")];
  }
  const address = isUnset(given) ? addressOfFamily(target, configuration) : [];
  if (address.length > 0) return address.map((step) => ({ ...step, from: given.path }));
  // What is not idle was checked; an idle section is checked by v1alpha2 alone.
  const rules = isIdle(row.path, mode) ? target.field.rules : [];
  const breach = rules.flatMap((rule) => rule.check(value))[0];
  if (breach) {
    return [lose(given, `v1alpha2 checks it in every mode: it ${breach.rule}`)];
  }
  const copies = others.filter((other) => !same(value, other.field.default)).map((other) => ({
    ...keep(given, other, "the mode has a field of its own now"),
    replacement: { value: encode(other, value) },
  }));
  return [keep(given, target, ""), ...copies];
}

/** Null is the default, and the default may have changed. */
function upgradeNull(given: Given, target: Row, adopt: boolean): Step[] {
  if (same(given.row.field.default, target.field.default)) return [keep(given, target, "")];
  return adopt ? [drop(given, "null means unset")] : [explicitDefault(given.path, target)];
}

function newDefault(row: Row, input: PlanInput, adopt: boolean): Step[] {
  const old = valueAt(internalDefaults(), row.to[0]);
  if (same(old, row.field.default)) return [];
  if (!adopt) return [explicitDefault("", row)];
  const why = `the default is ${showValue(encode(row, row.field.default))} from now on`;
  const from = input.given.has(row.path) ? "" : row.path;
  return [{ kind: "dropped", from, to: "", value: showValue(encode(row, old)), why }];
}

function explicitDefault(from: string, row: Row): Step {
  const value = encode(row, valueAt(internalDefaults(), row.to[0]));
  return {
    kind: "default made explicit",
    from,
    to: row.path,
    value: showValue(value),
    why: `the default of v1alpha1; that of v1alpha2 is ${
      showValue(encode(row, row.field.default))
    }`,
    replacement: { value },
  };
}

/** v1alpha1 chose an address by the family of another, which v1alpha2 does not have. */
function addressOfFamily({ path, field }: Row, configuration: ProxyConfiguration): Step[] {
  const isAddress = path === "healthzBindAddress" || path === "metricsBindAddress";
  if (!isAddress || configuration.nodeIPOverride.length > 0) return [];
  const value = configuration[path];
  if (value === field.default) return [];
  const why = "the default of v1alpha1 follows the family of bindAddress";
  const replacement = { value };
  return [{ kind: "default made explicit", from: "", to: path, value, why, replacement }];
}

function downgrade(given: Given, configuration: ProxyConfiguration): Step[] {
  const { row, value } = given;
  const place = row.to[0];
  const target = oldRowFor(place, configuration.mode);
  const effective = valueAt(configuration, place);
  if (!target) {
    const twin = v1alpha1Table.rows.find(({ to }) => to.includes(place));
    const served = twin ? servedPlace(twin, configuration.mode) : undefined;
    const does = served === undefined
      ? valueAt(internalDefaults(), place)
      : valueAt(configuration, served);
    if (!same(does, effective)) return [lose(given, "v1alpha1 cannot say it")];
    return [drop(given, twin ? `${twin.path} serves both modes` : "v1alpha1 always does so")];
  }
  if (value === undefined) {
    const changed = newDefaultAsOld(row, target);
    if (changed) return [{ ...changed, from: given.path }];
    return target.field.refusesNull ? [drop(given, "null means unset")] : [keep(given, target, "")];
  }
  if (place === "minSyncPeriodMs" && value === 0 && configuration.mode !== "ipvs") {
    return [lose(given, "v1alpha1 takes 0s for unset")];
  }
  if (place !== "nodeIPOverride" || !Array.isArray(value)) return [keep(given, target, "")];
  if (value.length === 0) return [drop(given, "an empty list means unset")];
  const rest = value.slice(1).map((address: unknown, index): Step => ({
    ...lose(given, "bindAddress is one address"),
    from: `${given.path}[${index + 1}]`,
    value: String(address),
  }));
  return [keep(given, target, ""), ...rest];
}

function oldDefault(
  row: Row,
  configuration: ProxyConfiguration,
  present: ReadonlySet<string>,
): Step[] {
  const place = row.to[0];
  const old = valueAt(internalDefaults(), place);
  if (same(row.field.default, old)) return [];
  const target = oldRowFor(place, configuration.mode);
  const text = showValue(encode(row, row.field.default));
  if (!target) {
    const why = "the default of v1alpha2, which v1alpha1 cannot say";
    return [{ kind: "lost", from: row.path, to: "", value: text, why }];
  }
  const step = newDefaultAsOld(row, target);
  return step && !present.has(target.path) ? [step] : [];
}

/** What v1alpha2 does when nothing is said, for v1alpha1 to say; undefined when both do the same. */
function newDefaultAsOld(row: Row, target: Row): Step | undefined {
  const old = valueAt(internalDefaults(), row.to[0]);
  if (same(row.field.default, old)) return undefined;
  const value = encode(target, row.field.default);
  return {
    kind: "default made explicit",
    from: "",
    to: target.path,
    value: showValue(value),
    why: `the default of v1alpha2; that of v1alpha1 is ${showValue(encode(target, old))}`,
    replacement: { value },
  };
}

function rowFor(place: string): Row | undefined {
  return v1alpha2Table.rows.find(({ to }) => to[0] === place);
}

function oldRowFor(place: string, mode: string): Row | undefined {
  return v1alpha1Table.rows.find((row) =>
    row.to.includes(place) && row.counts(mode) && servedPlace(row, mode) === place
  );
}

/** Of a row with several places, that of the mode in use: v1alpha1 has one mark bit for two modes. */
function servedPlace(row: Row, mode: string): string {
  return row.to.find((place) => place.split(".")[0] === mode) ?? row.to[0];
}

function keep(given: Given, target: Row, why: string): Step {
  const kind = given.path === target.path ? "kept" : "moved";
  const step: Step = { kind, from: given.path, to: target.path, value: shown(given), why };
  if (given.value === undefined) return step;
  const before = encode(given.row, given.value);
  const after = encode(target, given.value);
  return same(before, after) ? step : { ...step, replacement: { value: after } };
}

function drop(given: Given, why: string): Step {
  return { kind: "dropped", from: given.path, to: "", value: shown(given), why };
}

function lose(given: Given, why: string): Step {
  return { kind: "lost", from: given.path, to: "", value: shown(given), why };
}

/** As the file spells it, or as a file of this version would. */
function shown({ row, value, node }: Given): string {
  if (value === undefined) return "null";
  if (node.kind === "scalar" && typeof node.value === "string") {
    return node.value === "" ? showValue("") : node.value;
  }
  const encoded = encode(row, value);
  return typeof encoded === "string" && encoded !== "" ? encoded : showValue(encoded);
}

function encode(row: Row, value: unknown): unknown {
  return z.encode(row.field.type, value);
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
