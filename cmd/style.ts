import type { Output } from "./command.ts";

/** How headings and names stand out. */
export interface Style {
  strong(text: string): string;
}

const plain: Style = { strong: (text) => text };
const bold: Style = { strong: (text) => `\x1b[1m${text}\x1b[22m` };

/** Bold on a terminal, unless NO_COLOR is set to anything. */
export function styleFor(output: Output, env: (name: string) => string | undefined): Style {
  return output.isTerminal && !env("NO_COLOR") && env("TERM") !== "dumb" ? bold : plain;
}
