import type { Paint } from "../../lib/doctor/report/text.ts";
import type { Output } from "../command.ts";
import { styleFor } from "../style.ts";

const colors = { pass: 32, warn: 33, fail: 31, skip: 36, unknown: 35 } as const;

/** Colors on a terminal, unless NO_COLOR is set to anything. */
export function paintFor(output: Output, env: (name: string) => string | undefined): Paint {
  const style = styleFor(output, env);
  if (style.strong("x") === "x") return (text) => text;
  return (text, result) =>
    result === "heading" ? style.strong(text) : `\x1b[${colors[result]}m${text}\x1b[39m`;
}
