/** What the `config` commands read: a file, `-`, or the configuration inside a ConfigMap manifest. */
import { FileError, readStream } from "../../lib/base/files.ts";
import { decodeText } from "../../lib/base/yaml.ts";
import { type Embedded, findEmbedded } from "../../lib/config/convert/config_map.ts";
import { withoutForeignDocuments } from "../../lib/config/convert/foreign_documents.ts";
import { maxConfigBytes, problemAt, type Source } from "../../lib/config/documents.ts";
import type { PlacedText } from "../../lib/config/load.ts";
import { describeProblem, type Problem } from "../../lib/config/problem.ts";
import { readSources } from "../../lib/config/sources.ts";
import type { CommandContext } from "../command.ts";
import { outputFlag } from "../global_flags.ts";

/** A text to judge; `embedded` when it stands inside a manifest. */
export interface InputText {
  readonly name: string;
  readonly content: PlacedText;
  readonly embedded: Embedded | undefined;
  /** Kinds of other programs' documents that stand beside it. */
  readonly others: readonly string[];
}

export type InputResult =
  | { readonly kind: "texts"; readonly texts: readonly InputText[] }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Exit codes of the `config` commands. */
export const exitCodes = { done: 0, invalid: 1, unreadable: 2 } as const;

/** Reads the paths, each a file, a directory or `-`. Throws a FileError for what cannot be read. */
export async function readInputs(
  paths: readonly string[],
  { stdin }: Pick<CommandContext, "stdin">,
): Promise<InputResult> {
  const sources: Source[] = [];
  for (const path of paths) {
    if (path !== "-") {
      sources.push(...await readSources([path]));
      continue;
    }
    const bytes = await readStream(stdin.readable, { maxBytes: maxConfigBytes });
    sources.push({ name: "<stdin>", bytes });
  }
  const texts: InputText[] = [];
  const problems: Problem[] = [];
  for (const { name, bytes } of sources) {
    const text = decodeText(bytes, name);
    if (typeof text !== "string") {
      problems.push(problemAt("file", text.place, text.message));
      continue;
    }
    const embedded = findEmbedded(text, name);
    const own = embedded ? undefined : withoutForeignDocuments(text);
    const whole = { text: own?.text ?? text, start: { source: name, line: 1, column: 1 } };
    texts.push({
      name,
      content: embedded?.content ?? whole,
      embedded,
      others: own?.others ?? [],
    });
  }
  return problems.length > 0 ? { kind: "refused", problems } : { kind: "texts", texts };
}

/**
 * Tells a FileError, in one sentence or as a problem for programs, and resolves to the exit code of
 * it; throws everything else. `verdict` is the field that says whether the command did its work.
 */
export async function orUnreadable(
  { arguments: args, stdout, stderr }: CommandContext,
  verdict: string,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    if (args.get(outputFlag) === "json") {
      const place = { source: error.path, line: 0, column: 0 };
      const problems = [problemValues(problemAt("file", place, error.message))];
      const values = { schemaVersion: 1, [verdict]: false, problems };
      stdout.write(`${JSON.stringify(values, null, 2)}\n`);
    } else {
      stderr.write(`Error: ${error.message}\n`);
    }
    return exitCodes.unreadable;
  }
}

/** A problem as a line for people. */
export function problemLine(problem: Problem): string {
  return `${problem.severity === "warning" ? "warning: " : ""}${describeProblem(problem)}\n`;
}

/** A problem as values for programs. */
export function problemValues(problem: Problem): Readonly<Record<string, unknown>> {
  const { kind, severity, place, path, value, rule, hint, upstream } = problem;
  return {
    kind,
    severity,
    file: place.source,
    line: place.line,
    column: place.column,
    path,
    ...(value === undefined ? {} : { value }),
    rule,
    hint,
    upstream,
  };
}
