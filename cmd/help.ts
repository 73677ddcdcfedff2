/** Help: of the program, of words that begin several commands, and of a command. */
import type { Flag } from "../lib/base/flags.ts";
import type { Command, CommandEntry, CommandGroup, Operand } from "./command.ts";
import { globalFlags } from "./global_flags.ts";
import type { Style } from "./style.ts";

/** Text beyond this column goes to the next line. */
const width = 100;

/** What the program is for, and every command it has. */
export function overview(
  entries: readonly CommandEntry[],
  groups: readonly CommandGroup[],
  style: Style,
): string {
  const rows = entries.map(({ words, summary }): Row => [words.join(" "), summary]);
  const hasRun = entries.some(({ words }) => words.join(" ") === "run");
  const bare = hasRun
    ? "\nFlags without a command mean run: kube-proxy --config FILE is kube-proxy run --config FILE.\n"
    : "";
  const examples = exampleText([
    ...(hasRun
      ? [
        {
          what: "Program this node and keep it programmed",
          command: "run --config kube-proxy.yaml",
        },
        {
          what: "Try it without a cluster",
          command: "run --manifests examples/shop --dry-run --once",
        },
      ]
      : []),
    {
      what: "Show what a command does and takes",
      command: `help ${groups[0]?.word ?? "completion"}`,
    },
  ]);
  return [
    "The service proxy of a Kubernetes node, and the tools around it.\n",
    section("Usage", `  kube-proxy COMMAND [FLAGS]\n${bare}`, style),
    section("Commands", table(rows), style),
    section("Flags of every command", table(flagRows(globalFlags)), style),
    section("Examples", examples, style),
  ].join("\n");
}

/** The commands that begin with these words. */
export function groupHelp(
  group: CommandGroup,
  members: readonly CommandEntry[],
  style: Style,
): string {
  const rows = members.map(({ words, summary }): Row => [words.join(" "), summary]);
  const examples = members.slice(0, 2).map(({ words, summary }) => ({
    what: `How to ${summary}`,
    command: `${words.join(" ")} --help`,
  }));
  return [
    `${sentence(group.summary)}\n`,
    section("Usage", `  kube-proxy ${group.word} COMMAND [FLAGS]\n`, style),
    section("Commands", table(rows), style),
    section("Examples", exampleText(examples), style),
  ].join("\n");
}

/** Everything a command takes, and how it is used. */
export function commandHelp(entry: CommandEntry, command: Command, style: Style): string {
  const own = command.flags.filter(({ deprecated }) => !deprecated);
  const usage = ["kube-proxy", ...entry.words, ...command.operands.map(operandText)];
  const global = globalFlags.filter(({ name }) => !own.some((flag) => flag.name === name));
  return [
    `${sentence(entry.summary)}\n`,
    ...(command.description ? [`${wrap(command.description, "")}\n`] : []),
    section("Usage", `  ${[...usage, "[FLAGS]"].join(" ")}\n`, style),
    section("Examples", exampleText(command.examples), style),
    ...flagSections(own, style),
    ...(global.length > 0
      ? [section("Flags of every command", table(flagRows(global)), style)]
      : []),
  ].join("\n");
}

type Row = readonly [name: string, text: string];

function flagSections(flags: readonly Flag[], style: Style): string[] {
  const headings = new Set(flags.map(({ heading }) => heading ?? "Flags"));
  return [...headings].map((heading) => {
    const members = flags.filter((flag) => (flag.heading ?? "Flags") === heading);
    return section(heading, table(flagRows(members)), style);
  });
}

function flagRows(flags: readonly Flag[]): Row[] {
  return flags.map((flag) => {
    const short = flag.shorthand ? `-${flag.shorthand}, ` : "    ";
    const type = flag.typeName === "" || flag.bare !== undefined ? "" : ` ${flag.typeName}`;
    const initially = flag.defaultText === "" ? "" : ` (default ${flag.defaultText})`;
    return [`${short}--${flag.name}${type}`, flag.summary + initially];
  });
}

function operandText({ name, optional, repeated }: Operand): string {
  const text = repeated ? `${name}...` : name;
  return optional ? `[${text}]` : text;
}

function exampleText(
  examples: readonly { readonly what: string; readonly command: string }[],
): string {
  return examples
    .map(({ what, command }) => `  # ${what}\n  kube-proxy ${command}\n`)
    .join("\n");
}

function section(heading: string, body: string, style: Style): string {
  return `${style.strong(`${heading}:`)}\n${body}`;
}

/** Names in one column and texts in the next; long names push their text to the next line. */
function table(rows: readonly Row[]): string {
  const longest = Math.max(0, ...rows.map(([name]) => name.length));
  const column = 2 + Math.min(longest, 34) + 2;
  const indent = " ".repeat(column);
  return rows
    .map(([name, text]) => {
      const wrapped = wrap(text, indent).slice(column);
      const label = `  ${name}`;
      return label.length + 2 > column
        ? `${label}\n${indent}${wrapped}\n`
        : `${label.padEnd(column)}${wrapped}\n`;
    })
    .join("");
}

/** Breaks between words; every line begins with the indentation. */
function wrap(text: string, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length + word.length > width && line.length > indent.length) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join("\n");
}

function sentence(summary: string): string {
  return `${summary[0].toUpperCase()}${summary.slice(1)}.`;
}
