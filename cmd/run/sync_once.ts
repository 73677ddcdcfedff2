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
  const syncs = await familySyncs(proxy, { health: proxyHealth(proxy) });
  // Together, as in a proxy that goes on: the kernel works for one while the other is put together.
  const ended = await Promise.allSettled(syncs.map((sync) => sync.sync(signal)));
  const failed = ended.find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
  await leftovers.standAside(proxy.families, signal);
}
