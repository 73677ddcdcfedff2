/** What there is to complete, read from the same tables as parsing and help. */
import type { Completion, Flag } from "../../lib/base/flags.ts";
import type { CommandTree } from "../dispatch.ts";
import { globalFlags } from "../global_flags.ts";

/** A flag as shells need it: with its dashes. */
export interface CompletedFlag {
  readonly names: readonly string[];
  readonly summary: string;
  readonly takesValue: boolean;
  readonly value: Completion;
}

/** A command, a group or the program itself (no words). */
export interface CompletedCommand {
  readonly words: readonly string[];
  /** Words that may follow, with what they do. */
  readonly next: readonly { readonly word: string; readonly summary: string }[];
  readonly flags: readonly CompletedFlag[];
  readonly operands: Completion;
}

/** Everything, the program first, in the order of the list of commands. */
export async function completedCommands(tree: CommandTree): Promise<readonly CompletedCommand[]> {
  const loaded = await Promise.all(
    tree.entries.map(async (entry) => ({ entry, command: await entry.load() })),
  );
  const run = loaded.find(({ entry }) => entry.words.join(" ") === "run");
  const singles = tree.entries.filter(({ words }) => words.length === 1)
    .map(({ words, summary }) => ({ word: words[0], summary }));
  const program: CompletedCommand = {
    words: [],
    next: [...singles, ...tree.groups, { word: "help", summary: "show what a command does" }],
    flags: completedFlags(run?.command.flags ?? []),
    operands: { kind: "none" },
  };
  const groups = tree.groups.map(({ word }): CompletedCommand => ({
    words: [word],
    next: tree.entries.filter(({ words }) => words.length > 1 && words[0] === word)
      .map(({ words, summary }) => ({ word: words[1], summary })),
    flags: completedFlags([]),
    operands: { kind: "none" },
  }));
  const commands = loaded.map(({ entry, command }): CompletedCommand => ({
    words: entry.words,
    next: [],
    flags: completedFlags(command.flags),
    operands: command.operands[0]?.completion ?? { kind: "none" },
  }));
  return [program, ...groups, ...commands];
}

function completedFlags(own: readonly Flag[]): readonly CompletedFlag[] {
  const global = globalFlags.filter(({ name }) => !own.some((flag) => flag.name === name));
  return [...own, ...global]
    .filter(({ deprecated }) => !deprecated)
    .map((flag) => ({
      names: [...(flag.shorthand ? [`-${flag.shorthand}`] : []), dashed(flag.name)],
      summary: flag.summary,
      takesValue: flag.bare === undefined,
      value: flag.completion,
    }));
}

function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}
