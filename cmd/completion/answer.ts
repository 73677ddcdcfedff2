/**
 * What can stand next on a command line that is being typed. The shells' scripts only carry words to
 * this file and offers back, so that every shell offers the same.
 */
import type { Completion, Flag } from "../../lib/base/flags.ts";
import type { Command, CommandEntry, CommandTree } from "../command.ts";
import { withGlobalFlags } from "../global_flags.ts";

/** A word that can stand where the cursor is, whole, and what it does. */
interface Offer {
  readonly word: string;
  readonly summary?: string;
}

/** What a shell is to show. */
export interface Answer {
  readonly offers: readonly Offer[];
  /** Names of files can stand here too; those the shell knows best. */
  readonly files: boolean;
}

/** A command that is being typed, for a question that only the command can answer. */
export interface Typed {
  readonly command: Command;
  /** What stands behind the command's words, without the word at the cursor. */
  readonly args: readonly string[];
}

/** The operands that a command's own knowledge offers; nothing where it cannot tell. */
export type Ask = (typed: Typed) => Promise<readonly string[]>;

const nothing: Answer = { offers: [], files: false };

/** `words` are those behind the program's name; the last is the one at the cursor, perhaps empty. */
export async function answerCompletion(
  words: readonly string[],
  tree: CommandTree,
  ask: Ask,
): Promise<Answer> {
  const current = words.at(-1) ?? "";
  const { offers, files } = await candidates(words.slice(0, -1), current, { tree, ask });
  return { offers: offers.filter(({ word }) => word.startsWith(current)), files };
}

interface Knowledge {
  readonly tree: CommandTree;
  readonly ask: Ask;
}

async function candidates(
  before: readonly string[],
  current: string,
  { tree, ask }: Knowledge,
): Promise<Answer> {
  const [first] = before;
  if (first === "help") return { offers: nextWords(before.slice(1), tree), files: false };
  const next = nextWords(before, tree);
  if (first === undefined && !current.startsWith("-")) {
    const help = { word: "help", summary: "show what a command does" };
    return { offers: [...next, help], files: false };
  }
  if (next.length > 0 && !current.startsWith("-")) return { offers: next, files: false };
  const isBare = first === undefined || first.startsWith("-");
  const entry = tree.entries.find(({ words }) =>
    isBare ? words.join(" ") === "run" : words.every((word, index) => before[index] === word)
  );
  if (!entry) {
    const group = next.length > 0;
    return group ? { offers: withGlobalFlags([]).flatMap(flagOffers), files: false } : nothing;
  }
  const args = isBare ? before : before.slice(entry.words.length);
  return await commandCandidates({ command: await entry.load(), args }, current, ask);
}

/** Words that lead on from these to commands, in the order of the overview. */
function nextWords(before: readonly string[], { entries, groups }: CommandTree): Offer[] {
  const following = entries.filter(({ words }) =>
    words.length > before.length && before.every((word, index) => words[index] === word)
  );
  const offers = new Map<string, Offer>();
  for (const entry of following) {
    const word = entry.words[before.length];
    if (!offers.has(word)) offers.set(word, { word, summary: summaryOf(word, entry, before) });
  }
  return [...offers.values()];

  function summaryOf(word: string, entry: CommandEntry, before: readonly string[]): string {
    if (entry.words.length === before.length + 1) return entry.summary;
    return groups.find((group) => group.word === word)?.summary ?? "";
  }
}

async function commandCandidates(typed: Typed, current: string, ask: Ask): Promise<Answer> {
  const { command } = typed;
  const flags = withGlobalFlags(command.flags);
  const { waiting, operands, onlyOperands } = read(typed.args, flags);
  if (waiting) return valueAnswer(waiting.completion, "");
  if (current.startsWith("-") && !onlyOperands) {
    const [, name, sign] = /^(--?[^=]*)(=?)/s.exec(current) ?? [];
    const flag = sign ? flagNamed(name, flags) : undefined;
    if (sign) return flag ? valueAnswer(flag.completion, `${name}=`) : nothing;
    return {
      offers: flags.filter(({ deprecated }) => !deprecated).flatMap(flagOffers),
      files: false,
    };
  }
  const operand = command.operands[Math.min(operands, command.operands.length - 1)];
  if (!operand || (operands >= command.operands.length && !operand.repeated)) return nothing;
  if (operand.offer) {
    return { offers: (await ask(typed)).map((word) => ({ word })), files: false };
  }
  return valueAnswer(operand.completion ?? { kind: "none" }, "");
}

/** How far a command line is. */
interface Position {
  /** A flag whose value comes next. */
  readonly waiting: Flag | undefined;
  readonly operands: number;
  /** `--` has been typed. */
  readonly onlyOperands: boolean;
}

function read(args: readonly string[], flags: readonly Flag[]): Position {
  let waiting: Flag | undefined;
  let operands = 0;
  for (const [index, arg] of args.entries()) {
    if (waiting) {
      waiting = undefined;
    } else if (arg === "--") {
      return { waiting, operands: operands + args.length - index - 1, onlyOperands: true };
    } else if (arg.startsWith("-") && arg !== "-") {
      const flag = flagNamed(arg, flags);
      if (flag?.bare === undefined) waiting = flag;
    } else {
      operands++;
    }
  }
  return { waiting, operands, onlyOperands: false };
}

/** `--name` or `-n`; undefined for a flag that carries its value, and for one that is not known. */
function flagNamed(text: string, flags: readonly Flag[]): Flag | undefined {
  const long = text.startsWith("--");
  const name = text.slice(long ? 2 : 1).replaceAll("_", "-");
  return flags.find((flag) => (long ? flag.name : flag.shorthand) === name);
}

/** A flag with a value is offered with its equals sign. */
function flagOffers({ name, shorthand, summary, bare }: Flag): Offer[] {
  const long = `--${name}${bare === undefined ? "=" : ""}`;
  return [...(shorthand ? [`-${shorthand}`] : []), ...(name.length > 1 ? [long] : [])]
    .map((word) => ({ word, summary }));
}

function valueAnswer(completion: Completion, prefix: string): Answer {
  return {
    offers: completion.kind === "words"
      ? completion.words.map((word) => ({ word: prefix + word }))
      : [],
    files: completion.kind === "file",
  };
}
