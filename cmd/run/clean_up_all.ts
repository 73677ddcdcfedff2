/** `--cleanup`: upstream's way to ask for the removal of what every mode left. It never refuses. */
import { leftoversByMode } from "../../lib/writers/registry.ts";
import { NodeRecord } from "../cleanup/node_record.ts";
import { doorsWith } from "../cleanup/doors.ts";
import { isDone } from "../cleanup/clean_up.ts";
import { cleanUpAndTell } from "../cleanup/tell.ts";
import { requireNetAdmin } from "../cleanup/rights.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";
import type { Machine } from "./machine.ts";

/** Throws where something remains, which is told by then. */
export async function cleanUpAll(
  { configuration, dryRun }: RunOptions,
  { signal, stderr, stdout }: RunContext,
  { kernel, recordFolder: folder }: Machine,
): Promise<void> {
  requireNetAdmin(kernel);
  const warn = (sentence: string) => stderr.write(`Warning: ${sentence}\n`);
  const record = await NodeRecord.read({ folder, kernel, warn });
  const outcomes = await cleanUpAndTell([...leftoversByMode.keys()], {
    doors: await record.doorsWithSettings(
      doorsWith(leftoversByMode, { excluded: configuration.ipvs.excludeCIDRs }),
    ),
    kernel,
    dryRun,
    format: "text",
    each: configuration.logging.verbosity > 0,
    stdout,
    stderr,
    signal,
  });
  if (!dryRun) await record.tidy(warn);
  if (!isDone(outcomes)) {
    throw new Error("Cannot clean up everything; what remains is listed above");
  }
}
