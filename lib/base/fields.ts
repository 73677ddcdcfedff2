/**
 * A language for saying once what fields a file has. Decoding, defaults, messages, JSON Schema and
 * writing all read the same tables, and the type of a table follows from the type of the settings
 * it fills, so that a setting without a field does not compile.
 */
import * as z from "zod";
import { parseCidr } from "./ip.ts";
import { formatDuration, parseDuration } from "./duration.ts";

/** What a value broke; `index` when it is one item of a list, `value` when it is a part of the text. */
export interface Breach {
  readonly rule: string;
  readonly index?: number;
  readonly value?: unknown;
}

/** A condition on a decoded value. */
export interface Rule<T> {
  check(value: T): readonly Breach[];
  /** The same condition as JSON Schema, as far as that can say it. */
  readonly jsonSchema?: Readonly<Record<string, unknown>>;
}

/** One value of a file. */
export interface Field<T> {
  readonly kind: "field";
  /** Decodes what stands in the file, and encodes what shall stand there. */
  readonly type: z.ZodType<T>;
  /** What the type looks like, for messages: `a duration such as "30s"`. */
  readonly expected: string;
  readonly default: T;
  /** One or two sentences for whoever edits the file. */
  readonly doc: string;
  readonly rules: readonly Rule<T>[];
  /** What upstream calls the field in its messages, where there are any. */
  readonly upstream: string;
  /** The keys of its items, when it is a list of mappings. */
  readonly itemKeys: readonly string[];
  /** An explicit null is an error instead of the default. */
  readonly refusesNull: boolean;
  /** The zero value of the type, written out, means the same as no value. */
  readonly zeroIsUnset: boolean;
}

/** A mapping of fields. */
export interface Section<F> {
  readonly kind: "section";
  readonly doc: string;
  readonly fields: F;
}

/** The name in the file: a setting `timeoutMs` is a field `timeout`, because the file says the unit. */
export type FieldName<K> = K extends `${infer Name}Ms` ? Name : K;

/** The table that fills settings of the type `T`. */
export type FieldsOf<T> = {
  readonly [K in keyof T as FieldName<K>]:
    | Field<T[K]>
    | (T[K] extends object ? Section<FieldsOf<T[K]>> : never);
};

/** A table whose settings are not known at the place that walks it. */
export interface AnyFields {
  readonly [name: string]: AnyField | AnySection;
}
export type AnyField = Field<unknown>;
export type AnySection = Section<AnyFields>;

/** What most fields leave out. */
export interface FieldOptions<T> {
  readonly default: T;
  readonly doc: string;
  readonly rules?: readonly Rule<T>[];
  readonly upstream?: string;
  readonly itemKeys?: readonly string[];
  readonly refusesNull?: boolean;
  readonly zeroIsUnset?: boolean;
}

/** A field of a type of its own; the functions below are for the usual ones. */
export function field<T>(type: z.ZodType<T>, expected: string, options: FieldOptions<T>): Field<T> {
  return {
    kind: "field",
    type,
    expected,
    default: options.default,
    doc: options.doc,
    rules: options.rules ?? [],
    upstream: options.upstream ?? "",
    itemKeys: options.itemKeys ?? [],
    refusesNull: options.refusesNull ?? false,
    zeroIsUnset: options.zeroIsUnset ?? false,
  };
}

/** A mapping with the fields of the table. */
export function section<F>(doc: string, fields: F): Section<F> {
  return { kind: "section", doc, fields };
}

// One of each for all fields: making a type costs more than reading a field.
const anyText = z.string();
const anyFlag = z.boolean();
const anyInt32 = z.int32();
const anyTextList = z.array(anyText).readonly();

export function text(options: FieldOptions<string>): Field<string> {
  return field(anyText, "a string", options);
}

export function flag(options: FieldOptions<boolean>): Field<boolean> {
  return field(anyFlag, "true or false", options);
}

export function int32(options: FieldOptions<number>): Field<number> {
  return field(anyInt32, "a whole number of at most 32 bits", options);
}

export function textList(options: FieldOptions<readonly string[]>): Field<readonly string[]> {
  return field(anyTextList, "a list of strings", options);
}

/** One of the values; any other is refused by a rule, after decoding, as upstream does. */
export function choice<T extends string>(
  values: readonly T[],
  options: FieldOptions<T>,
): Field<T> {
  const type: z.ZodType<T> = z.custom<T>((value) => typeof value === "string").meta({
    type: "string",
  });
  return field<T>(type, "a string", {
    ...options,
    rules: [...(options.rules ?? []), oneOf(values)],
  });
}

const durationPattern =
  "^[-+]?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$";

const durationText = z.codec(z.string().meta({ pattern: durationPattern }), z.number(), {
  decode: (value, context) => {
    const milliseconds = parseDuration(value);
    if (milliseconds !== undefined) return milliseconds;
    context.issues.push({ code: "custom", input: value, message: "no duration" });
    return z.NEVER;
  },
  encode: formatDuration,
});

const durationExpected = 'a duration such as "30s" or "1h15m"';

/** Milliseconds inside, Go's notation in the file. Null is refused, as upstream does. */
export function duration(options: FieldOptions<number>): Field<number> {
  return field(durationText, durationExpected, { refusesNull: true, ...options });
}

/** A duration that can be unset; `zeroIsUnset` says whether a written zero is. */
export function optionalDuration(
  options: Omit<FieldOptions<number | undefined>, "default">,
): Field<number | undefined> {
  const type: z.ZodType<number | undefined> = durationText;
  return field(type, durationExpected, { ...options, default: undefined });
}

/** Within the bounds, both included. */
export function range(minimum: number, maximum: number): Rule<number> {
  return {
    check: (value) =>
      value >= minimum && value <= maximum
        ? []
        : [{ rule: `must be within the range [${minimum}, ${maximum}]` }],
    jsonSchema: { minimum, maximum },
  };
}

export const notNegative: Rule<number | undefined> = {
  check: (value = 0) => value >= 0 ? [] : [{ rule: "must be greater than or equal to 0" }],
};

export const positive: Rule<number> = {
  check: (value) => value > 0 ? [] : [{ rule: "must be greater than 0" }],
};

/** Case matters. */
export function oneOf(values: readonly string[]): Rule<string> {
  const named = values.filter((value) => value !== "").join(", ");
  const blank = values.includes("") ? " or blank" : "";
  return {
    check: (value) => values.includes(value) ? [] : [{ rule: `must be one of ${named}${blank}` }],
    jsonSchema: { enum: values },
  };
}

export const eachCidr: Rule<readonly string[]> = {
  check: (values) =>
    values.flatMap((value, index) =>
      parseCidr(value) ? [] : [{ rule: "must be a valid CIDR", index, value }]
    ),
};
