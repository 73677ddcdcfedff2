/** Follows the Services of a control plane with the program's own watch, impatiently. */
import { type Clock, systemClock } from "../../../lib/base/clock.ts";
import { RepeatedFailureLog } from "../../../lib/base/repeated_failure.ts";
import type { ClientTiming } from "../../../lib/kube/client.ts";
import type { ClusterAccess } from "../../../lib/kube/credentials/kubeconfig.ts";
import type { Service } from "../../../lib/kube/objects.ts";
import { services } from "../../../lib/kube/resource.ts";
import { ListWatch } from "../../../lib/watchers/list_watch.ts";
import { selectors } from "../../../lib/watchers/resources.ts";
import { CollectingLog, createTestClient, Follower } from "../../fakes/kube_client.ts";
import type { ControlPlaneAccess } from "./control_plane.ts";

export interface FollowOptions {
  /** The control plane's own where not given. */
  readonly url?: string;
  /** The proxy's token where not given. */
  readonly credentials?: Partial<ClusterAccess>;
  readonly timing?: Partial<ClientTiming>;
  readonly clock?: Clock;
  readonly probeTimeoutMs?: number;
}

/** Runs the body once the first state is there; ends the watch after it. */
export async function followServices(
  access: ControlPlaneAccess,
  options: FollowOptions,
  body: (follower: Follower<Service>, log: CollectingLog) => Promise<void>,
): Promise<void> {
  const { clock = systemClock } = options;
  const { client, transport } = createTestClient({
    url: options.url ?? access.url,
    caCertificate: access.caCertificate,
    access: options.credentials ?? { token: { kind: "inline", text: access.proxyToken } },
    timing: options.timing,
    probeTimeoutMs: options.probeTimeoutMs,
    clock,
  });
  const log = new CollectingLog();
  const stop = new AbortController();
  const failures = new RepeatedFailureLog(log, clock);
  const watcher = new ListWatch({
    client,
    resource: services,
    ...selectors.services,
    clock,
    log,
    failures,
  });
  const follower = new Follower(watcher.watch(stop.signal));
  try {
    await follower.until("the first state", () => follower.batches.length > 0);
    await body(follower, log);
  } finally {
    stop.abort();
    await follower.done;
    transport[Symbol.dispose]();
  }
}

/** How often a stream was given everything anew. */
export function fullStates(follower: Follower<Service>): number {
  return follower.batches.filter(({ kind }) => kind === "replace").length;
}
