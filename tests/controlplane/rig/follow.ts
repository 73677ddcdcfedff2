/** Follows the Services of a control plane with the program's own watch, impatiently. */
import assert from "node:assert/strict";
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
  /** The warnings and errors that there may be; none where not given. */
  readonly says?: readonly RegExp[];
}

/** Runs the body once the first state is there; ends the watch after it, and fails where it complained. */
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
    assert.deepEqual(complaints(log, options.says), []);
  } finally {
    stop.abort();
    await follower.done;
    transport[Symbol.dispose]();
  }
}

/** Its warnings and errors but for those that there may be. */
export function complaints({ lines }: CollectingLog, says: readonly RegExp[] = []): string[] {
  return lines.filter((line) =>
    /^(warning|error): /.test(line) && !says.some((pattern) => pattern.test(line))
  );
}

/** How a connection that broke is told. */
export const unreachable = /The apiserver is not reachable/;

/** How an apiserver that was away is told: at its start it does not know yet who may do what. */
export const away: readonly RegExp[] = [
  unreachable,
  /Cannot follow a resource, .*is forbidden: User .*system:kube-proxy/,
];

/** How often a stream was given everything anew. */
export function fullStates(follower: Follower<Service>): number {
  return follower.batches.filter(({ kind }) => kind === "replace").length;
}
