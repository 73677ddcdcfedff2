/** Kinds of values that only flags of the log take. */
import { level } from "../base/flag_values.ts";
import type { FlagType } from "../base/flags.ts";
import type { VerbosityPattern } from "./internal.ts";
import { canonicalQuantity } from "./quantity.ts";

/** `pattern=N,…`; repeated occurrences add to the list. */
export const verbosityPatterns: FlagType<readonly VerbosityPattern[]> = {
  name: "pattern=N,...",
  parse(text, before) {
    const added = text.split(",").filter((part) => part !== "").map((part) => {
      const [filePattern, verbosity, ...rest] = part.split("=");
      if (!filePattern || !verbosity || rest.length > 0) {
        throw new Error(`"${part}" is no pattern=N`);
      }
      return { filePattern, verbosity: level.parse(verbosity, 0) };
    });
    return [...before, ...added];
  },
  format: (value) =>
    value.map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`).join(","),
};

/** A quantity of bytes in its canonical form: `512`, `4Ki`, `1M`. */
export const quantity: FlagType<string> = {
  name: "quantity",
  parse(text) {
    const canonical = canonicalQuantity(text);
    if (canonical === undefined) throw new Error(`"${text}" is no quantity such as 512, 1k or 4Ki`);
    return canonical;
  },
  format: String,
};
