/// <reference lib="deno.worker" />
/**
 * A rehearsal as the program's own worker does it, with a look between loading and sending: the words of
 * `nft` about the scratch namespace, and commands of a test that spoil something there.
 */
import { systemClock } from "../../../lib/base/clock.ts";
import { rehearse } from "../../../lib/doctor/rehearsal/rehearse.ts";
import type { RehearsalRequest } from "../../../lib/doctor/rehearsal/messages.ts";
import { LinuxKernel } from "../../../lib/kernel/kernel.ts";
import { unshareNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { loadRuntime } from "../../../lib/writers/registry.ts";
import { runCommand } from "../rig/command.ts";

/** What it is told: the request of the program, and what to spoil. */
export interface LookRequest extends RehearsalRequest {
  readonly spoil: readonly (readonly string[])[];
}

self.onmessage = async ({ data }: MessageEvent<LookRequest>) => {
  unshareNetworkNamespace();
  const runtime = await loadRuntime(data.mode, data.sections);
  if (!runtime) throw new Error("there is no such mode");
  await using kernel = new LinuxKernel();
  let ruleset = "";
  const report = await rehearse(data.snapshots, {
    runtime,
    kernel,
    clock: systemClock,
    signal: new AbortController().signal,
    mostFrontends: data.mostFrontends,
    onLoaded: async () => {
      ruleset = await runCommand(["nft", "list", "ruleset"]);
      for (const argv of data.spoil) await runCommand(argv);
    },
  });
  self.postMessage({ report, ruleset });
};
