/** Gathers the endpoints of one service port out of all slices of its Service. */
import type { Protocol } from "../base/protocol.ts";
import type { EndpointSlice, SliceEndpoint } from "../kube/objects.ts";
import type { Candidate } from "../snapshot/categorize_endpoints.ts";
import type { Endpoint } from "../snapshot/snapshot.ts";
import { compareAddresses, compareEndpoints, sameEndpoint } from "../snapshot/endpoint_order.ts";

/** Which port of the slices, and whose endpoints are local. */
export interface CandidateQuery {
  readonly portName: string;
  readonly protocol: Protocol;
  readonly nodeName: string;
  /** Endpoints that were found before, in their order: those that stay are the same objects. */
  readonly known?: readonly Endpoint[];
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
  const parts: Part[] = [];
  for (const { endpoints, ports } of slices) {
    for (const { name, port, protocol } of ports) {
      if (name === query.portName && protocol === query.protocol) parts.push({ port, endpoints });
    }
  }
  if (parts.length === 0) return [];
  const [{ port }] = parts;
  return parts.every((part) => part.port === port)
    ? ofOnePort(parts, query)
    : ofSeveralPorts(parts, query);
}

/** The endpoints of a slice under one of its ports. */
interface Part {
  readonly port: number;
  readonly endpoints: readonly SliceEndpoint[];
}

/**
 * The usual case, in which no object is made of an endpoint that stays: a Service with a thousand
 * ports has each of its endpoints a thousand times.
 */
function ofOnePort(
  parts: readonly Part[],
  { known = [], nodeName }: CandidateQuery,
): readonly Candidate[] {
  const [{ endpoints, port }] = parts;
  const states = inOrder(parts.length === 1 ? endpoints : parts.flatMap((part) => part.endpoints));
  const found: Candidate[] = [];
  let at = 0;
  for (const state of states) {
    const { address } = state;
    const isAgain = found.length > 0 && found[found.length - 1].endpoint.ip === address;
    if (isAgain && state.terminating) continue;
    while (at < known.length && compareAddresses(known[at].ip, address) < 0) at++;
    const local = isLocal(state, nodeName);
    const former = at < known.length ? known[at] : undefined;
    const stays = former?.ip === address && former.port === port && former.isLocal === local;
    const endpoint = stays ? former : { ip: address, port, isLocal: local };
    found[isAgain ? found.length - 1 : found.length] = { endpoint, state };
  }
  return found;
}

/** Sorting is stable, so duplicates stay in the order in which they were met. */
function inOrder(endpoints: readonly SliceEndpoint[]): readonly SliceEndpoint[] {
  for (let i = 1; i < endpoints.length; i++) {
    if (compareAddresses(endpoints[i - 1].address, endpoints[i].address) > 0) {
      return endpoints.toSorted((a, b) => compareAddresses(a.address, b.address));
    }
  }
  return endpoints;
}

function ofSeveralPorts(parts: readonly Part[], query: CandidateQuery): readonly Candidate[] {
  const found = parts.flatMap(({ endpoints, port }) =>
    endpoints.map((state): Candidate => ({
      endpoint: { ip: state.address, port, isLocal: isLocal(state, query.nodeName) },
      state,
    }))
  );
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
