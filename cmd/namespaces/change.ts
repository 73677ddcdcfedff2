/** What `opt-out` and `opt-in` have in common: look, show, ask, write, tell. */
import { describeError } from "../../lib/base/errors.ts";
import { boolean } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import type { NamespaceCluster } from "../../lib/namespaces/cluster.ts";
import type { Inventory } from "../../lib/namespaces/inventory.ts";
import { type Action, planOptIn, planOptOut, type Step } from "../../lib/namespaces/plan.ts";
import { countProxies, type ProxyCount } from "../../lib/namespaces/proxies.ts";
import { explainRead, explainWrite, MissingRights } from "../../lib/namespaces/refusals.ts";
import { actionJson, type Outcome, type Result } from "../../lib/namespaces/report.ts";
import { describeChange, describeKept, describeProxies } from "../../lib/namespaces/text.ts";
import type { CommandContext } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import { type Connect, openCluster, orMissingRights } from "./connection.ts";
import { confirm } from "./confirm.ts";

export const dryRunFlag = defineFlag({
  name: "dry-run",
  type: boolean,
  summary: "show everything, let the apiserver check it, and change nothing",
  fallback: false,
});

export const yesFlag = defineFlag({
  name: "yes",
  type: boolean,
  summary: "do not ask",
  fallback: false,
});

export interface ChangeOptions {
  readonly action: Action;
  readonly force: boolean;
  readonly connect: Connect;
}

type Change = Extract<Step, { kind: "change" }> & { readonly inventory: Inventory };

/** All that was found out before anything is decided. */
interface Prospect {
  readonly action: Action;
  readonly steps: readonly Step[];
  readonly changes: readonly Change[];
  readonly proxies: ProxyCount | undefined;
}

/** Exit code 0: done, or nothing to do; 1: refused, not confirmed, or failed in part. */
export function changeNamespaces(
  context: CommandContext,
  options: ChangeOptions,
): Promise<number> {
  return orMissingRights(context, async () => {
    const cluster = await openCluster(context, options.connect);
    const prospect = await look(cluster, context.arguments.operands, options);
    const refusals = prospect.steps.filter((step) => step.kind === "refuse");
    if (refusals.length > 0) return refuse(context, prospect);
    show(context, prospect);
    if (prospect.changes.length === 0) return tell(context, prospect, []);
    if (!await mayAct(context, prospect)) {
      return tell(context, prospect, untouched(prospect, "not-asked"));
    }
    return tell(context, prospect, await write(cluster, context, prospect));
  });
}

async function look(
  cluster: NamespaceCluster,
  names: readonly string[],
  { action, force }: ChangeOptions,
): Promise<Prospect> {
  try {
    const known = await cluster.find(names);
    const candidates = names.every((name) => known.has(name))
      ? []
      : (await cluster.all()).map(({ name }) => name);
    const request = { names, known, candidates, force };
    const steps = action === "opt-out" ? planOptOut(request) : planOptIn(request);
    if (steps.some(({ kind }) => kind === "refuse")) {
      return { action, steps, changes: [], proxies: undefined };
    }
    const changing = steps.filter((step) => step.kind === "change");
    const inventories = await cluster.inventories(changing.map(({ facts }) => facts.name));
    const changes = changing.map((step, i) => ({ ...step, inventory: inventories[i] }));
    const proxies = await cluster.proxies();
    return { action, steps, changes, proxies: proxies && countProxies(proxies) };
  } catch (error) {
    throw explainRead(error, action);
  }
}

/** JSON has standard output for itself. */
function show(context: CommandContext, { action, steps, changes, proxies }: Prospect): void {
  const { arguments: args, stdout, stderr } = context;
  const output = args.get(outputFlag) === "json" ? stderr : stdout;
  for (const step of steps) if (step.kind === "keep") output.write(describeKept(step));
  for (const { facts, remarks, inventory } of changes) {
    output.write(describeChange(action, { name: facts.name, remarks }, inventory));
  }
  if (changes.length > 0) output.write(describeProxies(proxies));
}

async function mayAct(context: CommandContext, { action, changes }: Prospect): Promise<boolean> {
  const { arguments: args, stdin, stderr } = context;
  if (args.get(yesFlag) || args.get(dryRunFlag)) return true;
  const verb = action === "opt-out" ? "Opt out" : "Opt in";
  if (!stdin.isTerminal) {
    stderr.write("Error: Nothing was changed: there is no terminal to ask on; give --yes\n");
    return false;
  }
  const names = changes.map(({ facts }) => facts.name);
  const subject = names.length > 5 ? `${names.length} namespaces` : names.join(", ");
  if (await confirm(`${verb} ${subject}?`, context)) return true;
  stderr.write("Nothing was changed\n");
  return false;
}

/** One after the other: what is told is what happened, whatever fails. */
async function write(
  cluster: NamespaceCluster,
  { arguments: args, stderr }: CommandContext,
  { action, changes }: Prospect,
): Promise<readonly Outcome[]> {
  const dryRun = args.get(dryRunFlag);
  const outcomes: Outcome[] = [];
  for (const { facts: before, inventory } of changes) {
    const { name } = before;
    try {
      const facts = await cluster.write(action, before, { dryRun });
      const result: Result = dryRun ? "would-change" : "changed";
      outcomes.push({ name, result, message: undefined, facts, inventory });
    } catch (error) {
      const explained = explainWrite(error, action, before);
      const message = describeError(explained);
      stderr.write(`Error: ${message}\n`);
      if (explained instanceof MissingRights) stderr.write(explained.role);
      outcomes.push({ name, result: "failed", message, facts: before, inventory });
    }
  }
  return outcomes;
}

function refuse(context: CommandContext, prospect: Prospect): number {
  for (const step of prospect.steps) {
    if (step.kind === "refuse") context.stderr.write(`Error: ${step.message}\n`);
  }
  if (prospect.steps.length > 1) context.stderr.write("Nothing was changed\n");
  return tell(context, prospect, []);
}

function untouched({ changes }: Prospect, result: Result): readonly Outcome[] {
  return changes.map(({ facts, inventory }) => ({
    name: facts.name,
    result,
    message: undefined,
    facts,
    inventory,
  }));
}

/** The last word, and the exit code. */
function tell(
  { arguments: args, stdout }: CommandContext,
  { action, steps, proxies }: Prospect,
  written: readonly Outcome[],
): number {
  const dryRun = args.get(dryRunFlag);
  const outcomes = [...steps.flatMap(standing), ...written]
    .sort((a, b) => a.name < b.name ? -1 : 1);
  if (args.get(outputFlag) === "json") {
    stdout.write(actionJson({ action, dryRun, outcomes, proxies }));
  } else {
    const state = action === "opt-out" ? "opted out" : "opted in";
    for (const { name, result } of written) {
      if (result === "changed") stdout.write(`${name}: ${state}\n`);
      if (result === "would-change") stdout.write(`${name}: would be ${state} (dry run)\n`);
    }
  }
  const bad: readonly Result[] = ["failed", "not-asked", "refused"];
  return outcomes.some(({ result }) => bad.includes(result)) ? 1 : 0;
}

/** What needs no writing to be told. */
function standing(step: Step): readonly Outcome[] {
  switch (step.kind) {
    case "change":
      return [];
    case "keep": {
      const { facts, reason } = step;
      return [{
        name: facts.name,
        result: "unchanged",
        message: reason,
        facts,
        inventory: undefined,
      }];
    }
    case "refuse": {
      const { name, message } = step;
      return [{ name, result: "refused", message, facts: undefined, inventory: undefined }];
    }
  }
}
