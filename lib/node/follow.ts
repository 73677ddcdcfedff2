/**
 * Feeds what a source says into the state of the cluster, and tells when that is complete. Whoever
 * syncs a family hears of changes from that state, not from here.
 */
import type { ApiObject } from "../kube/objects.ts";
import type { ClusterState } from "../trackers/cluster_state.ts";
import type { Source } from "../watchers/source.ts";
import type { WatchBatch, Watcher } from "../watchers/watcher.ts";
import type { Lifetime } from "./lifetime.ts";

/** What is followed, and into what. */
export interface FollowOptions {
  readonly source: Source;
  readonly state: ClusterState;
  readonly lifetime: Lifetime;
  /** The own Node was heard of, or is known to be missing. */
  readonly onNode: () => void;
}

/** Which resources have told their first complete state. */
export interface Completeness {
  /** Services, EndpointSlices, and opted-out namespaces where the source does not filter itself. */
  readonly isComplete: boolean;
  /** Resolves when it is; never when the lifetime ends before. */
  readonly completed: Promise<void>;
}

/** Follows every resource until the lifetime ends. */
export function follow(options: FollowOptions): Completeness {
  const { source, state, lifetime, onNode } = options;
  const missing = new Set(["services", "endpointSlices"]);
  const completed = Promise.withResolvers<void>();
  const arrived = (name: string) => {
    if (!missing.delete(name) || missing.size > 0) return;
    completed.resolve();
    state.complete();
  };
  const feed = <T extends ApiObject>(
    watcher: Watcher<T>,
    apply: (batch: WatchBatch<T>) => void,
    then: () => void = () => {},
  ) =>
    lifetime.start(async (signal) => {
      for await (const batch of watcher.watch(signal)) {
        apply(batch);
        then();
      }
    });

  if (source.namespaces) {
    missing.add("namespaces");
    feed(source.namespaces, (batch) => state.applyNamespaces(batch), () => arrived("namespaces"));
  }
  feed(source.nodes, (batch) => state.applyNodes(batch), onNode);
  feed(source.serviceCIDRs, (batch) => state.applyServiceCIDRs(batch));
  feed(source.services, (batch) => state.applyServices(batch), () => arrived("services"));
  feed(
    source.endpointSlices,
    (batch) => state.applyEndpointSlices(batch),
    () => arrived("endpointSlices"),
  );
  return {
    get isComplete() {
      return missing.size === 0;
    },
    completed: completed.promise,
  };
}
