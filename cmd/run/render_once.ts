/** `--dry-run`. */
import { untilAborted } from "../../lib/base/abort.ts";
import type { Proxy } from "./proxy.ts";

/** Prints what a first sync would write. */
export async function renderOnce(
  { state, families, runtime, completeness, context, lifetime }: Proxy,
): Promise<void> {
  await Promise.race([completeness.completed, untilAborted(lifetime.signal)]);
  // Half of a cluster's rules would look like all of them.
  if (lifetime.signal.aborted) return;
  for (const family of families) {
    const taken = state.families.get(family)?.take();
    if (taken) context.stdout.write(await runtime.renderText(taken.snapshot));
  }
  for (const { message } of state.takeNotices()) context.logger.warning(message);
}
