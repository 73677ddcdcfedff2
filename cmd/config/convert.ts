/** `config convert [FILE|-]`: a configuration as the other version, and the fate of every field. */
import { UsageError } from "../../lib/base/errors.ts";
import { makeDirectory, writeFileAtomically } from "../../lib/base/files.ts";
import { boolean, oneOf, path } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import {
  type Conversion,
  conversionText,
  convertText,
  splitConversion,
} from "../../lib/config/convert/convert.ts";
import { losesSomething, reportText, reportValues } from "../../lib/config/convert/report.ts";
import type { ConfigVersion } from "../../lib/config/documents.ts";
import type { Problem } from "../../lib/config/problem.ts";
import type { Command, CommandContext } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import {
  exitCodes,
  type InputText,
  orUnreadable,
  problemLine,
  problemValues,
  readInputs,
} from "./input.ts";

const toFlag = defineFlag<ConfigVersion | "">({
  name: "to",
  type: oneOf<ConfigVersion | "">("version", ["v1alpha1", "v1alpha2"]),
  summary: "version to convert to; the other one by default",
  fallback: "",
});

const outFlag = defineFlag({
  name: "out",
  type: path,
  summary: "file to write instead of standard output; it may be the one that is read",
  fallback: "",
});

const splitFlag = defineFlag({
  name: "split",
  type: path,
  typeName: "directory",
  summary: "where to write one file that all nodes share, one for this node, and one for each mode",
  fallback: "",
});

const adoptFlag = defineFlag({
  name: "adopt-new-defaults",
  type: boolean,
  summary: "leave changed defaults to v1alpha2 instead of writing the old ones",
  fallback: false,
});

const lossFlag = defineFlag({
  name: "fail-on-loss",
  type: boolean,
  summary: "write nothing and exit 1 when the other version cannot say everything",
  fallback: false,
});

/** Exit code 0: converted; 1: the file is invalid, or loss was forbidden; 2: it cannot be read. */
export const convertCommand: Command = {
  description: "The configuration goes to standard output, the report to standard error. " +
    "Comments and the order of fields stay. A ConfigMap manifest comes back as one.",
  operands: [{ name: "FILE", optional: true, completion: { kind: "file" } }],
  flags: [adoptFlag, lossFlag, outFlag, outputFlag, splitFlag, toFlag],
  examples: [
    { what: "See what becomes of a file", command: "config convert kube-proxy.yaml" },
    {
      what: "Convert it for good",
      command: "config convert kube-proxy.yaml --out kube-proxy.yaml",
    },
    {
      what: "Convert what kubeadm made",
      command: "config convert - < <(kubectl -n kube-system get configmap kube-proxy -o yaml)",
    },
  ],
  run: (context) => orUnreadable(context, "converted", () => convert(context)),
};

async function convert(context: CommandContext): Promise<number> {
  const { arguments: args } = context;
  const out = args.get(outFlag);
  const directory = args.get(splitFlag);
  const to = args.get(toFlag);
  if (out !== "" && directory !== "") throw new UsageError("--out and --split exclude each other");
  if (directory !== "" && to === "v1alpha1") {
    throw new UsageError("--split needs v1alpha2: v1alpha1 is one document");
  }
  const [path] = args.operands;
  if (path === undefined && context.stdin.isTerminal) {
    throw new UsageError("Missing FILE: nothing is piped in; name a file, or - to type one");
  }
  const input = await readInputs([path ?? "-"], context);
  if (input.kind === "refused") return refuse(context, input.problems);
  const [source, ...others] = input.texts;
  if (!source || others.length > 0) {
    throw new UsageError("Only one file can be converted at a time");
  }
  if (source.others.length > 0 && out !== "" && out === path) {
    throw new UsageError(
      `Cannot write "${out}" in place: the result has no ${
        source.others.join(" and no ")
      }, which stand there too; name another file`,
    );
  }
  const version = directory !== "" ? "v1alpha2" : to === "" ? undefined : to;
  const result = convertText(source.content, {
    to: version,
    adoptNewDefaults: args.get(adoptFlag),
  });
  if (result.kind === "refused") return refuse(context, result.problems);
  const { conversion } = result;
  const forbidden = args.get(lossFlag) && losesSomething(conversion);
  const files = directory === "" ? [] : splitConversion(conversion);
  const whole = directory === "" ? wholeText(source, conversion) : "";
  if (!forbidden && directory !== "") {
    await makeDirectory(directory);
    for (const { name, text } of files) await writeFileAtomically(`${directory}/${name}`, text);
  }
  if (!forbidden && out !== "") await writeFileAtomically(out, whole);
  const texts = out === "" ? whole : "";
  tell(context, {
    source: source.name,
    conversion,
    notes: notesOn(source, conversion),
    files,
    text: forbidden ? "" : texts,
    forbidden,
  });
  return forbidden ? exitCodes.invalid : exitCodes.done;
}

function wholeText({ embedded }: InputText, conversion: Conversion): string {
  const text = conversionText(conversion);
  return embedded ? embedded.replaced(text) : text;
}

function notesOn({ embedded, others }: InputText, { to }: Conversion): readonly string[] {
  const notes: string[] = [];
  if (others.length > 0) {
    notes.push(
      `only the proxy's configuration is converted; beside it stands ${others.join(", ")}`,
    );
  }
  if (to === "v1alpha2" && (embedded?.isKubeadms || others.length > 0)) {
    notes.push(
      'kubeadm reads v1alpha1 alone: give it the old file, and before "kubeadm upgrade" convert ' +
        "its ConfigMap back with --to v1alpha1",
    );
  }
  return notes;
}

function refuse({ arguments: args, stdout, stderr }: CommandContext, problems: readonly Problem[]) {
  if (args.get(outputFlag) === "json") {
    const values = { schemaVersion: 1, converted: false, problems: problems.map(problemValues) };
    stdout.write(`${JSON.stringify(values, null, 2)}\n`);
  } else {
    for (const problem of problems) stderr.write(problemLine(problem));
  }
  return exitCodes.invalid;
}

interface Outcome {
  readonly source: string;
  readonly conversion: Conversion;
  /** What else there is to know, each a sentence. */
  readonly notes: readonly string[];
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** What standard output gets. */
  readonly text: string;
  readonly forbidden: boolean;
}

function tell({ arguments: args, stdout, stderr }: CommandContext, outcome: Outcome): void {
  const { conversion, files, forbidden, source, text } = outcome;
  if (args.get(outputFlag) === "json") {
    const values = {
      schemaVersion: 1,
      converted: !forbidden,
      from: conversion.from,
      to: conversion.to,
      loss: losesSomething(conversion),
      report: reportValues(conversion),
      problems: conversion.warnings.map(problemValues),
      notes: outcome.notes,
      ...(text === "" ? {} : { text }),
      ...(files.length === 0 ? {} : { files: files.map(({ name }) => name) }),
    };
    stdout.write(`${JSON.stringify(values, null, 2)}\n`);
    return;
  }
  stdout.write(text);
  for (const problem of conversion.warnings) stderr.write(problemLine(problem));
  stderr.write(reportText(conversion, source));
  for (const note of outcome.notes) stderr.write(`note: ${note}\n`);
  if (forbidden) stderr.write("Error: Nothing was written: something would be lost\n");
}
