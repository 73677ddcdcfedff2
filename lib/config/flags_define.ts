/** What a flag of `run` is beyond a flag: when it counts, and its place in the configuration. */
import { defineFlag, type Flag, type FlagOptions, type TypedFlag } from "../base/flags.ts";
import type { ProxyConfiguration } from "./internal.ts";

/** When a flag has an effect. */
export type FlagScope =
  /** Unless `--config` is given: the file is the configuration then. */
  | "configuration"
  /** Also with `--config`, as upstream lets it through. */
  | "always"
  /** Always; no flag of upstream, but of this program. */
  | "own";

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

/** A flag of `run`. */
export interface RunFlag extends Flag {
  readonly scope: FlagScope;
  /** Path of the field of v1alpha2 that holds the same, if there is one. */
  readonly field?: string;
  /** What a file says at `field` for the same effect; undefined where there is nothing to say. */
  inFile(texts: readonly string[]): unknown;
  /** The configuration with the flag's values in it; unchanged where the flag has no field. */
  apply(configuration: ProxyConfiguration, texts: readonly string[]): ProxyConfiguration;
  /** The value in effect, as text: of the configuration if it tells, else as given. */
  showLive(configuration: ProxyConfiguration, texts: readonly string[]): string;
}

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

export interface RunFlagOptions<T> extends Omit<FlagOptions<T>, "heading"> {
  readonly scope?: FlagScope;
  readonly group: FlagGroup;
  readonly place?: Place<T>;
}

/** Defines a flag of `run`. */
export function runFlag<T>(options: RunFlagOptions<T>): RunFlag & TypedFlag<T> {
  const { type, place } = options;
  const flag = defineFlag({ ...options, heading: options.group });
  const inFile = place?.inFile ?? type.inFile ?? ((value: T): unknown => value);
  return {
    ...flag,
    scope: options.scope ?? "configuration",
    ...(place === undefined ? {} : { field: place.path }),
    inFile: (texts) => inFile(flag.value(texts)),
    apply: (configuration, texts) =>
      place && texts.length > 0 ? place.write(configuration, flag.value(texts)) : configuration,
    showLive: (configuration, texts) =>
      place?.read ? type.format(place.read(configuration)) : flag.show(texts),
  };
}
