/** What an unquoted YAML scalar means: YAML 1.1 as the Go library of Kubernetes reads it. */

export type ScalarValue = string | number | boolean | null;

const words: ReadonlyMap<string, boolean | number | null> = new Map<
  string,
  boolean | number | null
>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]
    .map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]
    .map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
]);

const wholeNumber = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)$/;
const decimal = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** The value of a plain scalar; with a tag such as `!!str` use `readTagged`. */
export function readPlain(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  const plain = text.startsWith(".") ? text : text.replaceAll("_", "");
  if (wholeNumber.test(plain)) return wholeValue(plain);
  return decimal.test(plain) ? Number(plain) : text;
}

/** The value of a scalar with an explicit tag, or undefined when tag and text do not go together. */
export function readTagged(text: string, tag: string): ScalarValue | undefined {
  const kind = tag.replace(/^tag:yaml\.org,2002:/, "!!");
  if (kind === "!!str") return text;
  const value = readPlain(text);
  switch (kind) {
    case "!!null":
      return value === null ? null : undefined;
    case "!!bool":
      return typeof value === "boolean" ? value : undefined;
    case "!!int":
    case "!!float":
      return typeof value === "number" ? value : undefined;
    default:
      return undefined;
  }
}

function wholeValue(text: string): number {
  const negative = text.startsWith("-");
  const digits = text.replace(/^[-+]/, "");
  // A leading zero alone means octal, as in C.
  const value = /^0[0-7]+$/.test(digits) ? parseInt(digits, 8) : Number(digits);
  return negative ? -value : value;
}
