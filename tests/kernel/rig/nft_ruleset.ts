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
import { cidrContains, parseCidr, parseIp } from "../../../lib/base/ip.ts";

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
  readonly sets: ReadonlyMap<string, ListedSet>;
}

/** A set or map, without comments, timeouts and counters of its elements. */
export class ListedSet {
  readonly #exact = new Map<string, Json>();
  readonly #ranges: { readonly key: Json; readonly value: Json }[] = [];

  /** Keys of a set, pairs of a map, as `nft` prints them. */
  constructor(elements: readonly Json[]) {
    for (const element of elements) {
      const [key, value]: readonly Json[] = Array.isArray(element) ? element : [element, null];
      const bare = flatten(bareKey(key));
      this.#exact.set(JSON.stringify(bare), value);
      if (hasRange(bare)) this.#ranges.push({ key: bare, value });
    }
  }

  has(key: Json): boolean {
    return this.get(key) !== undefined;
  }

  /** The value of a map, null for a set, undefined for none. */
  get(key: Json): Json | undefined {
    const exact = this.#exact.get(JSON.stringify(key));
    return exact !== undefined ? exact : this.#ranges.find((range) => holds(range.key, key))?.value;
  }

  /** Each element as one line of text, sorted. */
  toLines(): readonly string[] {
    return [...this.#exact].map(([key, value]) => `${key} : ${JSON.stringify(value)}`).toSorted();
  }
}

/** Reads the output of `nft -j list table FAMILY NAME`. */
export function parseNftRuleset(text: string): NftRuleset {
  const chains = new Map<string, ListedRule[]>();
  const baseChains: BaseChain[] = [];
  const sets = new Map<string, ListedSet>();
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
      sets.set(name, new ListedSet(listOf(object["elem"] ?? [])));
    } else if (kind === "rule") {
      const rule = { handle: Number(object["handle"]), statements: listOf(object["expr"]) };
      chains.set(name, [...chains.get(name) ?? [], rule]);
    }
  }
  baseChains.sort((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
  return { chains, baseChains, sets };
}

/** Comments and timers wrap the key. */
function bareKey(key: Json): Json {
  return isObject(key) && key["elem"] !== undefined ? objectOf(key["elem"])["val"] : key;
}

/** `{"concat": […]}` as a list; prefixes as CIDR text. */
function flatten(element: Json): Json {
  if (!isObject(element)) return element;
  if (element["concat"] !== undefined) return listOf(element["concat"]).map(flatten);
  if (element["prefix"] !== undefined) {
    const { addr, len } = objectOf(element["prefix"]);
    return `${textOf(addr)}/${Number(len)}`;
  }
  throw unexpected("an element", element);
}

function hasRange(key: Json): boolean {
  return Array.isArray(key) ? key.some(hasRange) : typeof key === "string" && key.includes("/");
}

/** Whether an element, of which parts may be CIDRs, holds the value. */
function holds(element: Json, value: Json): boolean {
  if (Array.isArray(element) && Array.isArray(value)) {
    return element.length === value.length && element.every((part, i) => holds(part, value[i]));
  }
  if (typeof element === "string" && element.includes("/")) {
    const [range, address] = [parseCidr(element), parseIp(String(value))];
    if (range && address) return cidrContains(range, address);
  }
  return JSON.stringify(element) === JSON.stringify(value);
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
