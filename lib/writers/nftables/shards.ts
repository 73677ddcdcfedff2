/**
 * Sets of which there are several, each there while somebody needs it: maps of endpoints, so that
 * none grows large, and sets of clients, so that there are few. All are found by their names.
 */
import type { NftSet } from "../../kernel/nftables/operations.ts";
import { type EndpointMap, pickPrefixes } from "./names.ts";
import { type SetName, setNames, sets, type StaticSetName } from "./sets.ts";

/**
 * Endpoints are spread over so many maps at most, which are there while somebody needs them: to read
 * a set costs the kernel the square of its size, and many small ones are read in no time.
 */
const mostShards = 64;

/** So many endpoints of a Service mean one more map, up to the most. Ten thousand such Services fill a map with 20,000. */
const endpointsPerShard = 2;

/** The sets of clients with session affinity; each holds 65,535 clients at most. */
const affinitySets = 64;
/** Kubernetes' default of three hours; the rules name their own time. */
const affinitySeconds = 10_800;

/** Which of the maps holds a list of so many endpoints; the same for all lists of a service port. */
export function shardOf(key: string, count: number): number {
  const shards = Math.min(mostShards, 2 ** Math.ceil(Math.log2(count / endpointsPerShard)));
  if (shards <= 1) return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) & (shards - 1);
}

/** The name of a map of endpoints. The first one has no number. */
export function shardName(map: EndpointMap, shard: number): SetName {
  return shard === 0 ? map : `${map}-${shard}`;
}

/** The set that remembers clients of the endpoint with this number. */
export function affinitySetName(endpoint: number): string {
  return `affinity-${endpoint % affinitySets}`;
}

/** What a set of this name has to be; undefined for names that this table has no use for. */
export function definitionOf(name: SetName): NftSet;
export function definitionOf(name: string): NftSet | undefined;
export function definitionOf(name: string): NftSet | undefined {
  if (/^affinity-\d+$/.test(name)) {
    return {
      name,
      key: ["addr", "index"],
      dynamicTimeoutSeconds: affinitySeconds,
      comment: "clients, and the number of the endpoint each of them has",
    };
  }
  const base = staticName(name);
  return base && { ...sets[base], name };
}

/** Whether Services put elements into a set of this name. */
export function isSetName(name: string): name is SetName {
  return staticName(name) !== undefined;
}

/** Whether a set of this name has the lists of frontends' endpoints. */
export function isEndpointMap(name: SetName): boolean {
  return Object.hasOwn(pickPrefixes, staticName(name) ?? name);
}

/** Sorts names from what is looked up last to what is looked up first. */
export function inLookupOrder<Name extends SetName>(names: Iterable<Name>): Name[] {
  return [...names].sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
}

function rankOf(name: SetName): number {
  const base = staticName(name);
  return base === undefined ? -1 : setNames.indexOf(base);
}

function staticName(name: string): StaticSetName | undefined {
  if (isStatic(name)) return name;
  const base = name.replace(/-[1-9]\d?$/, "");
  return base !== name && base in pickPrefixes ? base as EndpointMap : undefined;
}

function isStatic(name: string): name is StaticSetName {
  return Object.hasOwn(sets, name);
}
