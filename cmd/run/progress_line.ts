/** One line of a terminal that says what is being waited for, and that nothing else runs into. */
import type { Output } from "../command.ts";

/** Where the output is no terminal, nothing is ever written. */
export class ProgressLine {
  readonly #output: Output;
  #shown = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Replaces what is shown. */
  show(text: string): void {
    if (!this.#output.isTerminal) return;
    this.#output.write(`${startOfLine}${text}`);
    this.#shown = true;
  }

  /** Leaves the line empty; to be called before anything else is written. */
  clear(): void {
    if (this.#shown) this.#output.write(startOfLine);
    this.#shown = false;
  }
}

/** To the first column, and nothing right of it. */
const startOfLine = "\r\x1b[K";
