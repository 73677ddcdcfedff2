/**
 * Which endpoints are near enough, by the hints of their slices alone: whoever wrote the hints knew
 * the Service's wishes, so `spec.trafficDistribution` is not read.
 */
import { assertNever } from "../base/assert_never.ts";

/** What of an endpoint decides whether it is used. */
export interface EndpointState {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly nodeName: string;
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

/** Where this proxy runs; an empty zone matches no hint. */
export interface NodePlace {
  readonly name: string;
  readonly zone: string;
}

/** How far traffic of Cluster policy is kept near: `any` uses every endpoint. */
export type TopologyMode = "any" | "same-zone" | "same-node";

/**
 * The nearest level that every ready endpoint has hints for and at least one is meant for this node.
 * One ready endpoint without a hint turns its level off.
 */
export function topologyMode(endpoints: Iterable<EndpointState>, place: NodePlace): TopologyMode {
  const node = { everyone: true, anyHere: false };
  const zone = { everyone: true, anyHere: false };
  let anyReady = false;
  for (const endpoint of endpoints) {
    if (!endpoint.ready) continue;
    anyReady = true;
    weigh(node, endpoint.nodeHints, place.name);
    weigh(zone, endpoint.zoneHints, place.zone);
    if (!node.everyone && !zone.everyone) return "any";
  }
  if (!anyReady) return "any";
  if (node.everyone && node.anyHere) return "same-node";
  return zone.everyone && zone.anyHere ? "same-zone" : "any";
}

/** Whether the endpoint may be used in that mode, readiness aside. */
export function availableIn(
  mode: TopologyMode,
  endpoint: EndpointState,
  place: NodePlace,
): boolean {
  switch (mode) {
    case "any":
      return true;
    case "same-node":
      return endpoint.nodeHints.includes(place.name);
    case "same-zone":
      return endpoint.zoneHints.includes(place.zone);
    default:
      return assertNever(mode);
  }
}

interface Level {
  everyone: boolean;
  anyHere: boolean;
}

function weigh(level: Level, hints: readonly string[], here: string): void {
  if (hints.length === 0) level.everyone = false;
  else if (hints.includes(here)) level.anyHere = true;
}
