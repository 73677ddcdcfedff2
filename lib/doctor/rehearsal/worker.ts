/// <reference lib="deno.worker" />
/**
 * The thread in which a rehearsal takes place. It leaves the node's network namespace before it opens
 * anything; its own has no name, and ends with the process however that ends.
 */
import { systemClock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { LinuxKernel } from "../../kernel/kernel.ts";
import { unshareNetworkNamespace } from "../../kernel/netns.ts";
import { loadRuntime } from "../../writers/registry.ts";
import { rehearse } from "./rehearse.ts";
import type { RehearsalAnswer, RehearsalRequest } from "./messages.ts";

self.onmessage = async ({ data }: MessageEvent<RehearsalRequest>) => {
  self.postMessage(await answer(data));
};

async function answer(request: RehearsalRequest): Promise<RehearsalAnswer> {
  try {
    unshareNetworkNamespace();
  } catch (error) {
    return { kind: "no-namespace", because: describeError(error) };
  }
  try {
    const runtime = await loadRuntime(request.mode, request.sections);
    if (!runtime) throw new TypeError(`Cannot rehearse ${request.mode} mode: it has no rules here`);
    await using kernel = new LinuxKernel();
    const report = await rehearse(request.snapshots, {
      runtime,
      kernel,
      clock: systemClock,
      signal: new AbortController().signal,
      mostFrontends: request.mostFrontends,
    });
    return { kind: "report", report };
  } catch (error) {
    return { kind: "failed", because: describeError(error) };
  }
}
