/** `--once`. */
import { untilAborted } from "../../lib/base/abort.ts";
import { announce } from "./announce.ts";
import { familySyncs } from "./family_syncs.ts";
import { leftoverWatch } from "./leftovers.ts";
import type { Proxy } from "./proxy.ts";
import { proxyHealth } from "./proxy_health.ts";

/** Programs everything once; throws when a family could not be programmed. */
export async function syncOnce(proxy: Proxy): Promise<void> {
  const { completeness, lifetime: { signal } } = proxy;
  announce(proxy);
  const leftovers = leftoverWatch(proxy);
  await Promise.race([completeness.completed, untilAborted(signal)]);
  if (signal.aborted) return;
  await leftovers.look(signal);
  const errors: unknown[] = [];
  for (const sync of await familySyncs(proxy, { health: proxyHealth(proxy) })) {
    await sync.sync(signal).catch((error) => errors.push(error));
  }
  if (errors.length > 0) throw errors[0];
  await leftovers.standAside(proxy.families, signal);
}
