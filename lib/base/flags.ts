/**
 * What a flag of a command line is. It is defined once, and the definition feeds parsing, help and
 * completion.
 */

/** Reads one kind of value. A text that cannot be read throws an Error with the bare cause. */
export interface FlagType<T> {
  /** As the help of upstream names it. */
  readonly name: string;
  /** What the flag alone, without a value, stands for. */
  readonly bare?: string;
  /** `before` is what earlier occurrences of the flag said. */
  parse(text: string, before: T): T;
  /** As /flagz and the dump of the flags show it. */
  format(value: T): string;
  /** As a configuration file says it, where that is not the value itself. */
  inFile?(value: T): unknown;
  readonly completion?: Completion;
}

/** What can be offered while somebody types a value. */
export type Completion =
  | { readonly kind: "none" }
  | { readonly kind: "file" }
  | { readonly kind: "words"; readonly words: readonly string[] };

/** A flag whose kind of value does not matter: for scanning, help and completion. */
export interface Flag {
  readonly name: string;
  readonly shorthand?: string;
  readonly typeName: string;
  /** What the flag alone stands for; a flag without it takes the next argument. */
  readonly bare?: string;
  readonly summary: string;
  /** Under which heading the help lists it, where there are several. */
  readonly heading?: string;
  /** As the help shows it; empty where there is nothing to show. */
  readonly defaultText: string;
  /** Set for a flag that help leaves out and that warns when it is used: what it says. */
  readonly deprecated?: string;
  readonly completion: Completion;
  /** Throws an Error with the bare cause if the text cannot be its value. */
  check(text: string): void;
  /** What its occurrences say together, as text. */
  show(texts: readonly string[]): string;
}

/** A flag whose value is used as such. */
export interface TypedFlag<T> extends Flag {
  readonly fallback: T;
  /** What its occurrences say together. */
  value(texts: readonly string[]): T;
}

export interface FlagOptions<T> {
  readonly name: string;
  readonly shorthand?: string;
  readonly type: FlagType<T>;
  /** The name of the type in help, where it is not the type's own. */
  readonly typeName?: string;
  readonly summary: string;
  readonly heading?: string;
  /** The value of a flag that is not given. */
  readonly fallback: T;
  readonly deprecated?: string;
  readonly completion?: Completion;
}

/** Defines a flag. */
export function defineFlag<T>(options: FlagOptions<T>): TypedFlag<T> {
  const { type, fallback } = options;
  const value = (texts: readonly string[]): T =>
    texts.reduce((before, text) => type.parse(text, before), fallback);
  return {
    name: options.name,
    ...(options.shorthand === undefined ? {} : { shorthand: options.shorthand }),
    typeName: options.typeName ?? type.name,
    ...(type.bare === undefined ? {} : { bare: type.bare }),
    summary: options.summary,
    ...(options.heading === undefined ? {} : { heading: options.heading }),
    defaultText: defaultText(type.format(fallback)),
    ...(options.deprecated === undefined ? {} : { deprecated: options.deprecated }),
    completion: options.completion ?? type.completion ?? { kind: "none" },
    fallback,
    value,
    check: (text) => void type.parse(text, fallback),
    show: (texts) => type.format(value(texts)),
  };
}

/** Nothing is said about a default that is nothing: false, empty, zero time. */
function defaultText(text: string): string {
  return /^(|\[\]|false|0s)$/.test(text) ? "" : text;
}
