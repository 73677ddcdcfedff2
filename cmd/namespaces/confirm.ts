import { untilAborted } from "../../lib/base/abort.ts";
import type { CommandContext } from "../command.ts";

/** Asks on the terminal; anything but y or yes, and the end of the input, mean no. */
export async function confirm(
  question: string,
  { stdin, stderr, signal }: Pick<CommandContext, "signal" | "stderr" | "stdin">,
): Promise<boolean> {
  stderr.write(`${question} [y/N] `);
  const line = await readLine(stdin.readable, signal);
  // Ctrl-C while it was asked is an answer too, on a line of its own.
  if (!line.endsWith("\n")) stderr.write("\n");
  return /^(y|yes)$/i.test(line.trim());
}

/** Up to and with the line break; less where the input ends or the signal aborts before. */
async function readLine(
  readable: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<string> {
  const reader = readable.getReader();
  const aborted = untilAborted(signal).then(() => ({ done: true } as const));
  const decoder = new TextDecoder();
  let line = "";
  while (!line.includes("\n") && !signal.aborted) {
    const chunk = await Promise.race([reader.read(), aborted]);
    if (chunk.done) break;
    line += decoder.decode(chunk.value, { stream: true });
  }
  return signal.aborted ? "" : line.slice(0, line.indexOf("\n") + 1) || line;
}
