/** From a command line to a command and its exit code. */
import { describeError, describeStack, UsageError } from "../lib/base/errors.ts";
import { scanFlags } from "../lib/base/flag_scan.ts";
import { didYouMean } from "../lib/base/nearest_name.ts";
import type { CommandEntry, CommandGroup, CommandTree, Operand, Surroundings } from "./command.ts";
import { contextOf, lastText, verbosityOf } from "./context.ts";
import { helpFlag, versionFlag, withGlobalFlags } from "./global_flags.ts";
import { commandHelp, groupHelp, overview } from "./help.ts";
import { styleFor } from "./style.ts";
import { printVersion } from "./version.ts";

/** The first argument of a shell that asks what can stand next. */
const completeWord = "__complete";

const done = 0, failed = 1, wrongUsage = 2;

/**
 * Runs what the arguments ask for and resolves to the exit code; every failure is told on stderr in
 * one sentence. Flags without a command, or nothing at all, mean `run`; on a terminal nothing at all
 * means help.
 */
export async function dispatch(
  args: readonly string[],
  tree: CommandTree,
  surroundings: Surroundings,
): Promise<number> {
  const { stdout, stderr, env } = surroundings;
  const [first] = args;
  if (isHelpRequest(args) || first === undefined && stdout.isTerminal) {
    stdout.write(overview(tree.entries, tree.groups, styleFor(stdout, env)));
    return done;
  }
  if (first === completeWord) {
    return await (await import("./completion/complete.ts")).complete(
      args.slice(1),
      tree,
      surroundings,
    );
  }
  if (first === "help") return await help(args.slice(1), tree, surroundings);
  const bare = first === undefined || first === "" || first.startsWith("-");
  const entry = entryOf(bare ? ["run"] : args, tree);
  if (entry) {
    return await runEntry(entry, bare ? args : args.slice(entry.words.length), surroundings);
  }
  const group = tree.groups.find(({ word }) => word === first);
  if (!group || bare) {
    stderr.write(`Error: ${bare ? "Missing command" : unknownCommand(args, tree)}\n`);
    return wrongUsage;
  }
  if (args[1] === "help") return await help([group.word, ...args.slice(2)], tree, surroundings);
  const second = args.slice(1).find((arg) => !arg.startsWith("-"));
  if (second !== undefined) {
    stderr.write(`Error: ${unknownCommand([group.word, second], tree)}\n`);
    return wrongUsage;
  }
  const asked = args.slice(1).some((arg) => arg === "--help" || arg === "-h");
  const output = asked ? stdout : stderr;
  output.write(groupHelp(group, membersOf(group, tree), styleFor(output, env)));
  return asked ? done : wrongUsage;
}

/** The command whose words the arguments begin with. */
function entryOf(args: readonly string[], tree: CommandTree): CommandEntry | undefined {
  return tree.entries.find(({ words }) => words.every((word, index) => args[index] === word));
}

function membersOf(group: CommandGroup, tree: CommandTree): readonly CommandEntry[] {
  return tree.entries.filter(({ words }) => words.length > 1 && words[0] === group.word);
}

function isHelpRequest(args: readonly string[]): boolean {
  return args.length === 1 && ["--help", "-h", "help"].includes(args[0]);
}

async function help(
  words: readonly string[],
  tree: CommandTree,
  surroundings: Surroundings,
): Promise<number> {
  return await dispatch(
    [...words.filter((word) => !word.startsWith("-")), "--help"],
    tree,
    surroundings,
  );
}

/** The first word, or the first two where the first is a group's. */
function unknownCommand(
  [word, second]: readonly string[],
  { entries, groups }: CommandTree,
): string {
  const grouped = groups.some((group) => group.word === word) && second !== undefined;
  const written = grouped ? `${word} ${second}` : word;
  const names = [
    ...entries.map(({ words }) => words.join(" ")),
    ...groups.map((group) => group.word),
  ];
  const hint = didYouMean(written, names) || "; kube-proxy help lists the commands";
  return `Unknown command "${written}"${hint}`;
}

async function runEntry(
  entry: CommandEntry,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const { stdout, stderr, env } = surroundings;
  const command = await entry.load();
  let verbosity = 0;
  try {
    const scanned = scanFlags(args, withGlobalFlags(command.flags));
    if (lastText(scanned, helpFlag) === "true") {
      stdout.write(commandHelp(entry, command, styleFor(stdout, env)));
      return done;
    }
    const operands = scanned.operands.filter((operand) => operand !== "");
    checkOperands(command.operands, operands);
    if (printVersion(lastText(scanned, versionFlag) ?? "false", stdout)) return done;
    verbosity = verbosityOf(scanned);
    return await command.run(contextOf({ ...scanned, operands }, surroundings));
  } catch (error) {
    stderr.write(`Error: ${describeError(error)}\n`);
    if (verbosity >= 6) stderr.write(`${describeStack(error)}\n`);
    return error instanceof UsageError ? command.usageExitCode ?? wrongUsage : failed;
  }
}

function checkOperands(wanted: readonly Operand[], given: readonly string[]): void {
  const missing = wanted[given.length];
  if (missing && !missing.optional) {
    throw new UsageError(`Missing ${missing.name}; --help shows what is needed`);
  }
  if (given.length > wanted.length && !wanted.at(-1)?.repeated) {
    throw new UsageError(
      `Unexpected argument "${given[wanted.length]}"; a command stands before its flags`,
    );
  }
}
