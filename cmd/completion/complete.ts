/**
 * `__complete WORD...`: what the shells' scripts ask while somebody types. It answers a line for each
 * word that can stand at the cursor, with a tab and what it does behind it; a line `:files` says that
 * names of files can stand there too.
 */
import { linkAbort } from "../../lib/base/abort.ts";
import { scanFlags } from "../../lib/base/flag_scan.ts";
import type { CommandTree, Surroundings } from "../command.ts";
import { contextOf } from "../context.ts";
import { withGlobalFlags } from "../global_flags.ts";
import { answerCompletion, type Typed } from "./answer.ts";

/** How long the shell waits for an answer at most. */
const patienceMs = 2_000;

/** Writes the answer and resolves to the exit code. What cannot be told is not offered: a line that is
 * being typed is no place for an error. */
export async function complete(
  words: readonly string[],
  tree: CommandTree,
  surroundings: Surroundings,
): Promise<number> {
  const ask = (typed: Typed) => askCommand(typed, surroundings);
  const { offers, files } = await answerCompletion(words, tree, ask);
  const lines = offers.map(({ word, summary }) => summary ? `${word}\t${summary}` : word);
  if (files) lines.push(":files");
  surroundings.stdout.write(lines.map((line) => `${line}\n`).join(""));
  return 0;
}

async function askCommand(
  { command, args }: Typed,
  surroundings: Surroundings,
): Promise<readonly string[]> {
  using patience = linkAbort(surroundings.signal, { afterMs: patienceMs });
  try {
    const scanned = scanFlags(args, withGlobalFlags(command.flags));
    const { stdin, stdout, stderr, pid, env } = surroundings;
    const context = contextOf(scanned, {
      stdin,
      stdout,
      stderr,
      pid,
      env,
      signal: patience.signal,
    });
    const words = await command.operands.find(({ offer }) => offer)?.offer?.(context) ?? [];
    return words.filter((word) => !scanned.operands.includes(word));
  } catch {
    return [];
  }
}
