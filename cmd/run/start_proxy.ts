/** The proxy in a real process: on this machine's kernel and clock. */
import { systemClock } from "../../lib/base/clock.ts";
import { LinuxKernel } from "../../lib/kernel/kernel.ts";
import type { StartProxy } from "../run_command.ts";
import { recordFolder } from "../../lib/record/record_file.ts";
import { runProxy } from "./run_proxy.ts";

/** Runs until the context's signal or a failure; resolves to the exit code. */
export const startProxy: StartProxy = async (options, context) => {
  const searchPath = Deno.env.get("PATH");
  await using kernel = new LinuxKernel(searchPath ? { searchPath } : {});
  const hostName = Deno.hostname();
  return await runProxy(options, context, {
    kernel,
    clock: systemClock,
    hostName,
    recordFolder,
  });
};
