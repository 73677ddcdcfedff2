/** `doctor`: whether this node can move to nftables mode, what will change, and a rehearsal of it. */
import { systemClock } from "../lib/base/clock.ts";
import { UsageError } from "../lib/base/errors.ts";
import type { Move } from "../lib/doctor/check.ts";
import { unloadCaused } from "../lib/doctor/caused_modules.ts";
import { checks } from "../lib/doctor/checks.ts";
import { chooseChecks, findCheck } from "../lib/doctor/choose_checks.ts";
import { LazyFacts } from "../lib/doctor/lazy_facts.ts";
import { fromModes } from "../lib/doctor/modes.ts";
import { onStage } from "../lib/doctor/rehearsal/stage.ts";
import { explain } from "../lib/doctor/report/explain.ts";
import { outcomeJson } from "../lib/doctor/report/json.ts";
import type { Outcome } from "../lib/doctor/report/outcome.ts";
import { modulesText, outcomeText } from "../lib/doctor/report/text.ts";
import { runChecks } from "../lib/doctor/run_checks.ts";
import { exitCodeOf, verdictOf } from "../lib/doctor/verdict.ts";
import { askPage } from "../lib/health/ask_page.ts";
import { LinuxKernel } from "../lib/kernel/kernel.ts";
import { LinuxLoadedModules } from "../lib/kernel/loaded_modules.ts";
import { recordFolder } from "../lib/record/record_file.ts";
import type { Command, CommandContext } from "./command.ts";
import { readConfiguration } from "./doctor/configuration.ts";
import * as flags from "./doctor/flags.ts";
import type { DoctorMachine } from "./doctor/machine.ts";
import { paintFor } from "./doctor/paint.ts";
import { readersOf } from "./doctor/readers.ts";
import { outputFlag } from "./global_flags.ts";
import { ProgressLine } from "./run/progress_line.ts";

/** Rules of a namespace that is gone hold their modules for so long. */
const modulePatienceMs = 4_000;

/** The command for this machine. */
export const doctorCommand: Command = createDoctorCommand({
  ask: askPage,
  clock: systemClock,
  hostName: Deno.hostname(),
  modules: new LinuxLoadedModules(Deno.build.arch),
  openKernel: ({ env }, hostRoot) => {
    const searchPath = env("PATH");
    return new LinuxKernel({
      ...(searchPath ? { searchPath } : {}),
      ...(hostRoot === "" ? {} : { hostRoot }),
    });
  },
  recordFolder,
  rehearse: (request, signal) => onStage(request, { signal }),
});

/** The command over whatever machine. For tests: they bring one in memory. */
export function createDoctorCommand(machine: DoctorMachine): Command {
  return {
    description:
      "Changes nothing on the node. Without --no-cluster it builds the rules that this node would " +
      "get, loads them where they touch nothing, and sends packets through them.",
    operands: [],
    flags: flags.doctorFlags,
    examples: [
      {
        what: "Can this node leave its mode, with the cluster that its proxy knows",
        command: "doctor --config /var/lib/kube-proxy/config.conf",
      },
      { what: "Without an apiserver", command: "doctor --no-cluster" },
      {
        what: "From a debug pod: kubectl debug node/NAME --profile=sysadmin --image=IMAGE",
        command: "doctor --host-root /host",
      },
      { what: "What one check is about", command: "doctor --explain DRY01" },
      { what: "For programs", command: "doctor -o json | jq .verdict" },
    ],
    run: (context) => run(machine, context),
  };
}

async function run(machine: DoctorMachine, context: CommandContext): Promise<number> {
  // Taken before anything else: from here on a signal ends the program in order.
  const { arguments: args, env, signal, stderr, stdout } = context;
  const explained = args.get(flags.explainFlag);
  if (explained !== "") {
    stdout.write(explain(findCheck(checks, explained, "--explain")));
    return 0;
  }
  const chosen = chooseChecks(checks, {
    only: args.get(flags.onlyFlag),
    skip: args.get(flags.skipFlag),
  });
  const configuration = await readConfiguration(args);
  const before = new Set(machine.modules.loaded().map(({ name }) => name));
  const progress = new ProgressLine(stderr);
  progress.show("Looking ...");
  const looked = await (async () => {
    await using kernel = machine.openKernel(context, args.get(flags.hostRootFlag));
    kernel.self.keepLittleFreeMemory();
    const { nodeName, readers, rehearses } = readersOf({ configuration, context, kernel, machine });
    const facts = new LazyFacts(readers, { clock: machine.clock, signal });
    const found = await facts.read("foundMode");
    const given = fromModes.find((mode) => mode === args.get(flags.fromFlag));
    const move: Move = {
      from: given ?? (found.kind === "value" ? found.value.mode : undefined),
      fromGiven: given !== undefined,
      to: "nftables",
      toProxy: args.get(flags.toProxyFlag) === "upstream" ? "upstream" : "this",
    };
    const results = await runChecks(chosen, { facts, move, clock: machine.clock, signal });
    const rehearses01 = rehearses && chosen.some(({ id }) => id === "DRY01");
    const rehearsal = rehearses01 ? await facts.read("rehearsal") : undefined;
    return {
      node: nodeName,
      kernel: kernel.host.kernelRelease(),
      move,
      fromWhere: given === undefined && found.kind === "value" ? found.value.where : "",
      verdict: verdictOf(results, { rehearsal: rehearses01 }),
      results,
      rehearsal: rehearsal?.kind === "value" ? rehearsal.value : undefined,
    };
  })();
  const modules = await unloadCaused(before, { ...machine, patienceMs: modulePatienceMs });
  progress.clear();
  if (signal.aborted) throw new UsageError("Cannot finish: stopped before all checks had ended");
  const outcome: Outcome = { ...looked, modules };
  if (args.get(outputFlag) === "json") {
    for (const line of modulesText(modules)) stderr.write(`${line}\n`);
    stdout.write(outcomeJson(outcome));
  } else {
    stdout.write(outcomeText(outcome, paintFor(stdout, env)));
  }
  const failOnWarn = args.get(flags.failOnFlag) === "warn";
  return exitCodeOf(outcome.verdict, { results: outcome.results, failOnWarn });
}
