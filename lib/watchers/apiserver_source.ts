/** An apiserver as a source: the watches of all resources over one client. */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { RepeatedFailureLog } from "../base/repeated_failure.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ApiObject, Namespace } from "../kube/objects.ts";
import * as resource from "../kube/resource.ts";
import { type ExclusionFeed, neverExcluding } from "./exclusion.ts";
import { ListWatch, type ListWatchOptions } from "./list_watch.ts";
import { OptOutFeed, type OptOutMetrics } from "./opt_out.ts";
import { nodeSelector, selectors } from "./resources.ts";
import type { Source } from "./source.ts";

export interface ApiserverSourceOptions {
  readonly client: KubeClient;
  /** The Node that this proxy serves. */
  readonly nodeName: string;
  /** Absent: no namespace is left out. */
  readonly optOut?: { readonly delayMs: number; readonly metrics?: OptOutMetrics };
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends the watch of opted-out namespaces; the others end with the signal given to `watch`. */
  readonly signal: AbortSignal;
}

/** Leaves out opted-out namespaces by itself. */
export function createApiserverSource(options: ApiserverSourceOptions): Source {
  const { client, clock, log } = options;
  const failures = new RepeatedFailureLog(log, clock);
  const follow = <T extends ApiObject>(
    specific: Omit<ListWatchOptions<T>, "client" | "clock" | "failures" | "log">,
  ) => new ListWatch<T>({ ...specific, client, clock, failures, log });
  const exclusion = createExclusion(
    options,
    () => follow({ resource: resource.namespaces, ...selectors.namespaces, optional: true }),
  );
  return {
    services: follow({ resource: resource.services, ...selectors.services, exclusion }),
    endpointSlices: follow({
      resource: resource.endpointSlices,
      ...selectors.endpointSlices,
      exclusion,
    }),
    nodes: follow({ resource: resource.nodes, ...nodeSelector(options.nodeName) }),
    serviceCIDRs: follow({ resource: resource.serviceCIDRs, optional: true }),
  };
}

function createExclusion(
  { clock, optOut, signal }: ApiserverSourceOptions,
  followNamespaces: () => ListWatch<Namespace>,
): ExclusionFeed {
  if (!optOut) return neverExcluding;
  const feed = new OptOutFeed({ namespaces: followNamespaces(), clock, ...optOut });
  // Ends with the signal; a watcher never fails.
  feed.run(signal);
  return feed;
}
