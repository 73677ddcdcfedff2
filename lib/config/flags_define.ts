/**
 * What a flag is. A flag is defined once, in a table, and the definition feeds parsing, help,
 * completion, deprecation lines and the place of its value in the configuration.
 */
import type { ProxyConfiguration } from "./internal.ts";
import type { FlagType } from "./flags_values.ts";

/** What can be offered while somebody types a value. */
export type Completion =
  | { readonly kind: "none" }
  | { readonly kind: "file" }
  | { readonly kind: "words"; readonly words: readonly string[] };

/** When a flag has an effect. */
export type FlagScope =
  /** Unless `--config` is given: the file is the configuration then. */
  | "configuration"
  /** Also with `--config`, as upstream lets it through. */
  | "always"
  /** Always; no flag of upstream, but of this program. */
  | "own";

/** A flag whose kind of value does not matter: for scanning, help and completion. */
export interface Flag {
  readonly name: string;
  readonly shorthand?: string;
  readonly typeName: string;
  /** What the flag alone stands for; a flag without it takes the next argument. */
  readonly bare?: string;
  readonly scope: FlagScope;
  readonly group: FlagGroup;
  readonly summary: string;
  /** As the help shows it; empty where there is nothing to show. */
  readonly defaultText: string;
  /** Set for a flag that upstream hides from help and warns about: what it says. */
  readonly deprecated?: string;
  /** Path of the field of v1alpha2 that holds the same, if there is one. */
  readonly field?: string;
  readonly completion: Completion;
  /** Throws an Error with the bare cause if the text cannot be its value. */
  check(text: string): void;
  /** What a file says at `field` for the same effect; undefined where there is nothing to say. */
  inFile(texts: readonly string[]): unknown;
  /** The configuration with the flag's values in it; unchanged where the flag has no field. */
  apply(configuration: ProxyConfiguration, texts: readonly string[]): ProxyConfiguration;
  /** The value as upstream's dump prints it: of the configuration if there is one, else as given. */
  show(texts: readonly string[], configuration?: ProxyConfiguration): string;
}

/** A flag whose value is used as such. */
export interface TypedFlag<T> extends Flag {
  readonly fallback: T;
  /** What its occurrences say together. */
  value(texts: readonly string[]): T;
}

/** The headings of the help, in their order. */
export const flagGroups = [
  "Configuration",
  "Sources and effects",
  "Node and traffic",
  "Servers",
  "API client",
  "Connection tracking",
  "iptables",
  "ipvs",
  "Logging",
  "General",
] as const;

export type FlagGroup = typeof flagGroups[number];

/** Where in the configuration a value goes. */
export interface Place<T> {
  /** As v1alpha2 spells it. */
  readonly path: string;
  write(configuration: ProxyConfiguration, value: T): ProxyConfiguration;
  /** What a file would say at this path, where it is not the value; undefined says nothing. */
  readonly inFile?: (value: T) => unknown;
  /** Absent where the configuration does not tell any more what the flag said. */
  readonly read?: (configuration: ProxyConfiguration) => T;
}

/** A place that gives back what was written to it. */
export interface Field<T> extends Place<T> {
  readonly read: (configuration: ProxyConfiguration) => T;
}

/** The configuration itself: where every path begins. */
export const root: Field<ProxyConfiguration> = {
  path: "",
  read: (configuration) => configuration,
  write: (_configuration, value) => value,
};

/** The field of that name within another. */
export function within<Outer extends object, Key extends keyof Outer & string>(
  outer: Field<Outer>,
  key: Key,
): Field<Outer[Key]> {
  const name = key.replace(/Ms$/, "");
  return {
    path: outer.path === "" ? name : `${outer.path}.${name}`,
    read: (configuration) => outer.read(configuration)[key],
    write: (configuration, value) =>
      outer.write(configuration, { ...outer.read(configuration), [key]: value }),
  };
}

export interface FlagOptions<T> {
  readonly name: string;
  readonly shorthand?: string;
  readonly type: FlagType<T>;
  /** The name of the type in help, where it is not the type's own. */
  readonly typeName?: string;
  readonly scope?: FlagScope;
  readonly group: FlagGroup;
  readonly summary: string;
  readonly fallback: T;
  readonly deprecated?: string;
  readonly place?: Place<T>;
  readonly completion?: Completion;
}

/** Defines a flag. */
export function defineFlag<T>(options: FlagOptions<T>): TypedFlag<T> {
  const { type, place, fallback } = options;
  const value = (texts: readonly string[]): T =>
    texts.reduce((before, text) => type.parse(text, before), fallback);
  return {
    name: options.name,
    ...(options.shorthand === undefined ? {} : { shorthand: options.shorthand }),
    typeName: options.typeName ?? type.name,
    ...(type.bare === undefined ? {} : { bare: type.bare }),
    scope: options.scope ?? "configuration",
    group: options.group,
    summary: options.summary,
    defaultText: defaultText(type.format(fallback)),
    ...(options.deprecated === undefined ? {} : { deprecated: options.deprecated }),
    ...(place === undefined ? {} : { field: place.path }),
    completion: options.completion ?? { kind: "none" },
    fallback,
    value,
    check: (text) => void type.parse(text, fallback),
    inFile: (texts) => (place?.inFile ?? type.inFile ?? ((each: T): unknown => each))(value(texts)),
    apply: (configuration, texts) =>
      place && texts.length > 0 ? place.write(configuration, value(texts)) : configuration,
    show: (texts, configuration) =>
      type.format(configuration && place?.read ? place.read(configuration) : value(texts)),
  };
}

/** Nothing is said about a default that is nothing: false, empty, zero time. */
function defaultText(text: string): string {
  return /^(|\[\]|false|0s)$/.test(text) ? "" : text;
}
