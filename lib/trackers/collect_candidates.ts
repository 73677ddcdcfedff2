/** Gathers the endpoints of one service port out of all slices of its Service. */
import type { Protocol } from "../base/protocol.ts";
import type { EndpointSlice, SliceEndpoint } from "../kube/objects.ts";
import type { Candidate } from "../snapshot/categorize_endpoints.ts";
import { compareEndpoints, sameEndpoint } from "../snapshot/endpoint_order.ts";

/** Which port of the slices, and whose endpoints are local. */
export interface CandidateQuery {
  readonly portName: string;
  readonly protocol: Protocol;
  readonly nodeName: string;
}

/**
 * Unique by address and port, in the endpoints' order. Where one appears twice (it moved between
 * slices, or a new pod got the address of a terminating one), a later one that does not terminate
 * takes the place of an earlier one. Slices come usable and in the order of their names.
 */
export function collectCandidates(
  slices: readonly EndpointSlice[],
  query: CandidateQuery,
): readonly Candidate[] {
  const found: Candidate[] = [];
  for (const slice of slices) {
    for (const port of slice.ports) {
      if (port.name !== query.portName || port.protocol !== query.protocol) continue;
      for (const state of slice.endpoints) {
        found.push({
          endpoint: {
            ip: state.address,
            port: port.port,
            isLocal: isLocal(state, query.nodeName),
          },
          state,
        });
      }
    }
  }
  // Sorting is stable, so duplicates stay in the order in which they were met.
  found.sort((a, b) => compareEndpoints(a.endpoint, b.endpoint));
  return foldDuplicates(found);
}

/** Addresses of ready endpoints on this node, over all ports of the slices, each once. */
export function countLocalReady(slices: readonly EndpointSlice[], nodeName: string): number {
  const ports = new Map<string, CandidateQuery>();
  for (const slice of slices) {
    for (const { name, protocol } of slice.ports) {
      if (name !== null) ports.set(`${protocol} ${name}`, { portName: name, protocol, nodeName });
    }
  }
  const addresses = new Set<string>();
  for (const query of ports.values()) {
    for (const { endpoint, state } of collectCandidates(slices, query)) {
      if (state.ready && endpoint.isLocal) addresses.add(endpoint.ip);
    }
  }
  return addresses.size;
}

function isLocal(endpoint: SliceEndpoint, nodeName: string): boolean {
  return nodeName !== "" && endpoint.nodeName === nodeName;
}

function foldDuplicates(sorted: Candidate[]): readonly Candidate[] {
  let last = 0;
  for (let i = 1; i < sorted.length; i++) {
    if (!sameEndpoint(sorted[last].endpoint, sorted[i].endpoint)) sorted[++last] = sorted[i];
    else if (!sorted[i].state.terminating) sorted[last] = sorted[i];
  }
  sorted.length = Math.min(sorted.length, last + 1);
  return sorted;
}
