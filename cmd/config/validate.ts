/** `config validate FILE…`: every problem of a configuration at once. */
import { boolean } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import { loadTexts } from "../../lib/config/load.ts";
import type { Problem } from "../../lib/config/problem.ts";
import type { Command, CommandContext } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import { exitCodes, orUnreadable, problemLine, problemValues, readInputs } from "./input.ts";

const lenientFlag = defineFlag({
  name: "lenient",
  type: boolean,
  summary: "judge as run does: unknown and duplicate fields of v1alpha1 are warnings",
  fallback: false,
});

/** Exit code 0: valid, warnings or not; 1: invalid; 2: something could not be read. */
export const validateCommand: Command = {
  description: "Several files are checked together, as run reads them with one --config each. " +
    "Of a ConfigMap manifest the configuration in it is checked.",
  operands: [{ name: "FILE", repeated: true, completion: { kind: "file" } }],
  flags: [lenientFlag, outputFlag],
  examples: [
    { what: "Check a file strictly", command: "config validate kube-proxy.yaml" },
    {
      what: "Check what is shared together with what one node has for itself",
      command: "config validate shared.yaml instance.yaml",
    },
    {
      what: "Check what a cluster has",
      command: "config validate - < <(kubectl -n kube-system get configmap kube-proxy -o yaml)",
    },
  ],
  run: (context) => orUnreadable(context, "valid", () => validate(context)),
};

async function validate(context: CommandContext): Promise<number> {
  const paths = context.arguments.operands;
  const input = await readInputs(paths, context);
  if (input.kind === "refused") {
    return report(context, { names: paths, valid: false, problems: input.problems });
  }
  const { loaded, problems } = loadTexts(input.texts.map(({ content }) => content), {
    strict: !context.arguments.get(lenientFlag),
    platform: "any",
    partial: true,
  });
  const names = input.texts.map(({ name }) => name);
  const facts = loaded && { version: loaded.version, mode: loaded.configuration.mode };
  return report(context, { names, valid: loaded !== undefined, problems, facts });
}

interface Verdict {
  readonly names: readonly string[];
  readonly valid: boolean;
  readonly problems: readonly Problem[];
  readonly facts?: { readonly version: string; readonly mode: string } | undefined;
}

function report({ arguments: args, stdout }: CommandContext, verdict: Verdict): number {
  const { valid, problems, facts } = verdict;
  if (args.get(outputFlag) === "json") {
    const values = { schemaVersion: 1, valid, ...facts, problems: problems.map(problemValues) };
    stdout.write(`${JSON.stringify(values, null, 2)}\n`);
    return valid ? exitCodes.done : exitCodes.invalid;
  }
  for (const problem of problems) stdout.write(problemLine(problem));
  const names = verdict.names.join(", ");
  if (facts) {
    const mode = facts.mode === "" ? "no mode chosen" : `mode ${facts.mode}`;
    stdout.write(`${names}: valid (${facts.version}, ${mode})\n`);
  } else {
    const errors = problems.filter(({ severity }) => severity === "error").length;
    stdout.write(`${names}: ${errors} ${errors === 1 ? "error" : "errors"}\n`);
  }
  return valid ? exitCodes.done : exitCodes.invalid;
}
