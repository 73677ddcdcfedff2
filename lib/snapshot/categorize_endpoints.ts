/** Sorts the endpoints of one service port into what each traffic policy may use. */
import { availableIn, type EndpointState, type NodePlace, topologyMode } from "./topology.ts";
import type { Endpoint } from "./snapshot.ts";

/** An endpoint as the snapshot will hold it, and the state that decides whether it will. */
export interface Candidate {
  readonly endpoint: Endpoint;
  readonly state: EndpointState;
}

/** Which policies a service port ever applies. */
export interface PolicyUse {
  readonly cluster: boolean;
  readonly local: boolean;
}

/** Lists keep the candidates' order; lists that would be equal are one object. */
export interface EndpointCategories {
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** The union of both, each endpoint once. */
  readonly reachable: readonly Endpoint[];
  /** Some endpoint can serve, here or elsewhere. */
  readonly hasEndpoints: boolean;
}

const none: readonly Endpoint[] = [];

/**
 * Ready endpoints first; where there is none, those that still serve while terminating, decided
 * apart for each policy. Topology narrows Cluster traffic only. Candidates are unique.
 */
export function categorizeEndpoints(
  candidates: readonly Candidate[],
  use: PolicyUse,
  place: NodePlace,
): EndpointCategories {
  if (candidates.length === 0) {
    return { cluster: none, local: none, reachable: none, hasEndpoints: false };
  }
  const cluster = use.cluster ? selectCluster(candidates, place) : none;
  if (!use.local) {
    return { cluster, local: none, reachable: cluster, hasEndpoints: cluster.length > 0 };
  }
  const local = selectLocal(candidates);
  return {
    cluster,
    local,
    reachable: union(candidates, cluster, local),
    hasEndpoints: cluster.length > 0 || candidates.some(canServe),
  };
}

/** Ready, or still answering while it terminates. */
function canServe({ state }: Candidate): boolean {
  return state.ready || stillServing(state);
}

function stillServing(state: EndpointState): boolean {
  return state.serving && state.terminating;
}

function selectCluster(candidates: readonly Candidate[], place: NodePlace): readonly Endpoint[] {
  const mode = topologyMode(statesOf(candidates), place);
  const ready = select(candidates, ({ state }) => state.ready && availableIn(mode, state, place));
  if (ready.length > 0) return ready;
  return select(candidates, ({ state }) => stillServing(state));
}

function selectLocal(candidates: readonly Candidate[]): readonly Endpoint[] {
  const ready = select(candidates, ({ endpoint, state }) => endpoint.isLocal && state.ready);
  if (ready.length > 0) return ready;
  return select(candidates, ({ endpoint, state }) => endpoint.isLocal && stillServing(state));
}

function union(
  candidates: readonly Candidate[],
  cluster: readonly Endpoint[],
  local: readonly Endpoint[],
): readonly Endpoint[] {
  if (local.length === 0) return cluster;
  if (cluster.length === 0) return local;
  const members = new Set([...cluster, ...local]);
  if (members.size === cluster.length) return cluster;
  if (members.size === local.length) return local;
  return select(candidates, ({ endpoint }) => members.has(endpoint));
}

function select(
  candidates: readonly Candidate[],
  wanted: (candidate: Candidate) => boolean,
): readonly Endpoint[] {
  const selected: Endpoint[] = [];
  for (const candidate of candidates) if (wanted(candidate)) selected.push(candidate.endpoint);
  // A copy has no room to grow into; these lists are kept.
  return selected.length === 0 ? none : selected.slice();
}

function* statesOf(candidates: readonly Candidate[]): Iterable<EndpointState> {
  for (const candidate of candidates) yield candidate.state;
}
