/**
 * Follows a new connection's first packet through a listed table, the way the kernel would: which
 * endpoints it can end at, masqueraded or not, or who stops it. Knows the statements that service
 * proxies use and refuses all others, so that a rule it does not understand is never passed over.
 */
import type { Protocol } from "../../../lib/base/protocol.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  ListedSet,
  listOf,
  type NftRuleset,
  objectOf,
  textOf,
  unexpected,
} from "./nft_ruleset.ts";

/** The first packet of a connection. */
export interface TracedPacket {
  /** Made by the node itself, or arriving from outside. */
  readonly fromNode: boolean;
  readonly source: string;
  readonly destination: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** All addresses of the node. */
  readonly nodeAddresses: ReadonlySet<string>;
}

/** Where it may end. `endpoints` maps `address:port` to whether its source becomes the node's. */
export type TraceResult =
  | { readonly kind: "reached"; readonly endpoints: ReadonlyMap<string, boolean> }
  | { readonly kind: "rejected" | "dropped" | "untouched" };

/** Tries every number that `numgen random` could give. */
export function traceNft(ruleset: NftRuleset, packet: TracedPacket): TraceResult {
  const endpoints = new Map<string, boolean>();
  const draws = { largest: 1 };
  for (let draw = 0; draw < draws.largest; draw++) {
    const walk = new PacketWalk(ruleset, packet, { draw, draws });
    const end = walk.run();
    if (end.kind !== "reached") {
      // Either all draws end at endpoints or none does.
      if (endpoints.size > 0) throw new Error("Cannot trace: only some draws reach an endpoint");
      return end;
    }
    endpoints.set(end.endpoint, end.masqueraded);
  }
  return { kind: "reached", endpoints };
}

type Verdict = "accept" | "drop" | "reject" | "return";
type End =
  | { readonly kind: "rejected" | "dropped" | "untouched" }
  | { readonly kind: "reached"; readonly endpoint: string; readonly masqueraded: boolean };

/** One packet on its way, with one choice of random numbers. */
class PacketWalk {
  readonly #ruleset: NftRuleset;
  readonly #packet: TracedPacket;
  readonly #random: { readonly draw: number; readonly draws: { largest: number } };
  #destination: string;
  #port: number;
  #translated = false;
  #masqueraded = false;
  #mark = 0;

  constructor(
    ruleset: NftRuleset,
    packet: TracedPacket,
    random: { readonly draw: number; readonly draws: { largest: number } },
  ) {
    this.#ruleset = ruleset;
    this.#packet = packet;
    this.#random = random;
    this.#destination = packet.destination;
    this.#port = packet.port;
  }

  run(): End {
    const first = this.#hook(this.#packet.fromNode ? "output" : "prerouting");
    if (first) return first;
    const isLocal = this.#packet.nodeAddresses.has(this.#destination);
    const rest = this.#packet.fromNode
      ? (isLocal ? ["postrouting", "input"] : ["postrouting"])
      : (isLocal ? ["input"] : ["forward", "postrouting"]);
    for (const hook of rest) {
      const end = this.#hook(hook);
      if (end) return end;
    }
    const moved = this.#destination !== this.#packet.destination ||
      this.#port !== this.#packet.port;
    if (!moved) return { kind: "untouched" };
    const endpoint = this.#destination.includes(":")
      ? `[${this.#destination}]:${this.#port}`
      : `${this.#destination}:${this.#port}`;
    return { kind: "reached", endpoint, masqueraded: this.#masqueraded };
  }

  #hook(hook: string): End | undefined {
    for (const base of this.#ruleset.baseChains) {
      if (base.hook !== hook) continue;
      const verdict = this.#chain(base.name);
      if (verdict === "drop") return { kind: "dropped" };
      if (verdict === "reject") return { kind: "rejected" };
    }
    return undefined;
  }

  #chain(name: string): Verdict | undefined {
    const rules = this.#ruleset.chains.get(name);
    if (rules === undefined) throw new Error(`Cannot trace: no chain "${name}"`);
    for (const rule of rules) {
      const verdict = this.#rule(rule.statements);
      if (verdict === "return") return undefined;
      if (verdict !== undefined) return verdict;
    }
    return undefined;
  }

  /** undefined: goes on with the next rule. */
  #rule(statements: readonly Json[]): Verdict | undefined {
    for (const statement of statements) {
      const [[kind, body]] = Object.entries(objectOf(statement));
      const outcome = this.#statement(kind, body);
      if (outcome !== "next") return outcome;
    }
    return undefined;
  }

  #statement(kind: string, body: Json): Verdict | "next" | undefined {
    switch (kind) {
      case "match":
        return this.#matches(objectOf(body)) ? "next" : undefined;
      case "counter":
      case "set":
        return "next";
      case "mangle":
        this.#mark = this.#number(objectOf(body)["value"]);
        return "next";
      case "vmap": {
        const verdict = this.#lookUp(objectOf(body));
        return verdict === undefined ? "next" : this.#verdict(objectOf(verdict));
      }
      case "dnat":
        return this.#translate(objectOf(body));
      case "masquerade":
        this.#masqueraded = true;
        return "accept";
      case "reject":
        // nft leaves out the match on TCP that a reset implies.
        return isTcpReset(body) && this.#packet.protocol !== "TCP" ? undefined : "reject";
      default:
        return this.#verdict({ [kind]: body });
    }
  }

  #verdict(verdict: JsonObject): Verdict | undefined {
    const [[kind, body]] = Object.entries(verdict);
    switch (kind) {
      case "accept":
      case "drop":
      case "return":
        return kind;
      case "jump":
        return this.#chain(textOf(objectOf(body)["target"]));
      case "goto":
        // Whatever the chain says, the calling chain is left.
        return this.#chain(textOf(objectOf(body)["target"])) ?? "return";
      default:
        throw unexpected("a known statement", verdict);
    }
  }

  /** A map without the key ends the rule, not the packet's way. */
  #translate(body: JsonObject): Verdict | undefined {
    const target = body["addr"];
    const map = isObject(target) ? target["map"] : undefined;
    if (map === undefined) {
      this.#destination = textOf(this.#value(target));
      if (body["port"] !== undefined) this.#port = this.#number(body["port"]);
    } else {
      const found = this.#lookUp(objectOf(map));
      if (found === undefined) return undefined;
      const [address, port] = listOf(objectOf(found)["concat"]);
      this.#destination = textOf(address);
      this.#port = Number(port);
    }
    this.#translated = true;
    return "accept";
  }

  #lookUp(body: JsonObject): Json | undefined {
    const data = body["data"];
    const map = typeof data === "string"
      ? this.#set(data)
      : new ListedSet(listOf(objectOf(data)["set"]));
    return map.get(this.#value(body["key"]));
  }

  #set(reference: string): ListedSet {
    const set = this.#ruleset.sets.get(reference.replace("@", ""));
    if (set === undefined) throw new Error(`Cannot trace: no set "${reference}"`);
    return set;
  }

  #matches(body: JsonObject): boolean {
    const right = body["right"];
    const isInside = typeof right === "string" && right.startsWith("@")
      ? this.#set(right)
      : new ListedSet(
        isObject(right) && right["set"] !== undefined ? listOf(right["set"]) : [right],
      );
    return isInside.has(this.#value(body["left"])) !== (body["op"] === "!=");
  }

  #number(expression: Json): number {
    const value = this.#value(expression);
    if (typeof value !== "number") throw unexpected("a number", expression);
    return value;
  }

  #value(expression: Json): Json {
    if (!isObject(expression)) return expression;
    const [[kind, body]] = Object.entries(expression);
    switch (kind) {
      case "concat":
        return listOf(body).map((part) => this.#value(part));
      case "payload":
        return this.#field(textOf(objectOf(body)["field"]));
      case "meta":
        return this.#meta(textOf(objectOf(body)["key"]));
      case "ct":
        return objectOf(body)["key"] === "state" ? "new" : this.#translated ? "dnat" : "none";
      case "fib":
        return this.#addressType(objectOf(body));
      case "numgen": {
        const modulus = Number(objectOf(body)["mod"]);
        this.#random.draws.largest = Math.max(this.#random.draws.largest, modulus);
        return this.#random.draw % modulus;
      }
      case "|":
        return this.#number(listOf(body)[0]) | this.#number(listOf(body)[1]);
      case "&":
        return this.#number(listOf(body)[0]) & this.#number(listOf(body)[1]);
      case "^":
        return this.#number(listOf(body)[0]) ^ this.#number(listOf(body)[1]);
      default:
        throw unexpected("a known expression", expression);
    }
  }

  #field(name: string): Json {
    switch (name) {
      case "saddr":
        return this.#packet.source;
      case "daddr":
        return this.#destination;
      case "dport":
        return this.#port;
      default:
        throw unexpected("a known header field", name);
    }
  }

  #meta(key: string): Json {
    if (key === "l4proto") return this.#packet.protocol.toLowerCase();
    if (key === "mark") return this.#mark;
    throw unexpected("a known meta key", key);
  }

  #addressType(body: JsonObject): Json {
    const isSource = listOf(body["flags"]).includes("saddr");
    const address = isSource ? this.#packet.source : this.#destination;
    return this.#packet.nodeAddresses.has(address) ? "local" : "unicast";
  }
}

function isTcpReset(body: Json): boolean {
  return isObject(body) && body["type"] === "tcp reset";
}
