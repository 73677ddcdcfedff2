/**
 * `nft -j list table` as values, for whoever asks what the kernel holds. Only the objects of one
 * table; expressions stay JSON, which `nft_trace.ts` reads.
 *
 * ```
 * {"map": {"name": "endpoints", "map": "ipv4_addr . inet_service", "elem": [[{"concat": ["172.30.0.10", "tcp", 80, 0]}, {"concat": ["10.128.0.2", 8080]}]]}}
 * {"set": {"name": "cluster-ips", "elem": ["172.30.0.10", {"elem": {"val": "172.30.0.11", "comment": "…"}}]}}
 * {"chain": {"name": "nat-prerouting", "type": "nat", "hook": "prerouting", "prio": -101, "policy": "accept"}}
 * {"rule": {"chain": "services", "expr": [{"match": {…}}, {"vmap": {…}}]}}
 * ```
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export interface BaseChain {
  readonly name: string;
  readonly hook: string;
  readonly priority: number;
}

export interface ListedRule {
  readonly handle: number;
  readonly statements: readonly Json[];
}

/** One table as the kernel holds it. */
export interface NftRuleset {
  /** Each chain's rules in order. */
  readonly chains: ReadonlyMap<string, readonly ListedRule[]>;
  /** By priority. */
  readonly baseChains: readonly BaseChain[];
  /** Elements without their comments, timeouts and counters: keys of sets, pairs of maps. */
  readonly sets: ReadonlyMap<string, readonly Json[]>;
}

/** Reads the output of `nft -j list table FAMILY NAME`. */
export function parseNftRuleset(text: string): NftRuleset {
  const chains = new Map<string, ListedRule[]>();
  const baseChains: BaseChain[] = [];
  const sets = new Map<string, readonly Json[]>();
  for (const entry of listOf(objectOf(JSON.parse(text))["nftables"])) {
    const [[kind, value]] = Object.entries(objectOf(entry));
    if (kind === "metainfo" || kind === "table") continue;
    const object = objectOf(value);
    const name = textOf(object["chain"] ?? object["name"]);
    if (kind === "chain") {
      chains.set(name, chains.get(name) ?? []);
      if (object["hook"] !== undefined) {
        const [hook, priority] = [textOf(object["hook"]), Number(object["prio"])];
        baseChains.push({ name, hook, priority });
      }
    } else if (kind === "set" || kind === "map") {
      sets.set(name, listOf(object["elem"] ?? []).map(bareElement));
    } else if (kind === "rule") {
      const rule = { handle: Number(object["handle"]), statements: listOf(object["expr"]) };
      chains.set(name, [...chains.get(name) ?? [], rule]);
    }
  }
  baseChains.sort((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
  return { chains, baseChains, sets };
}

/** An element of a set is its key, of a map a pair; comments and timers wrap the key. */
function bareElement(element: Json): Json {
  if (Array.isArray(element)) return [bareKey(element[0]), element[1]];
  return bareKey(element);
}

function bareKey(key: Json): Json {
  return isObject(key) && key["elem"] !== undefined ? objectOf(key["elem"])["val"] : key;
}

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: Json | undefined): JsonObject {
  if (value === undefined || !isObject(value)) throw unexpected("an object", value);
  return value;
}

export function listOf(value: Json | undefined): readonly Json[] {
  if (!Array.isArray(value)) throw unexpected("a list", value);
  return value;
}

export function textOf(value: Json | undefined): string {
  if (typeof value !== "string") throw unexpected("text", value);
  return value;
}

export function unexpected(wanted: string, value: Json | undefined): TypeError {
  return new TypeError(`Cannot read nft's JSON: wanted ${wanted}, got ${JSON.stringify(value)}`);
}
