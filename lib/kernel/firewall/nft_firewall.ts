/** Every table of nf_tables in this network namespace, by netlink. Asking makes the kernel load nf_tables. */
import type { IpFamily } from "../../base/ip_family.ts";
import {
  readAttributes,
  readList,
  readString,
  readU32be,
  readU64be,
} from "../netlink/attributes.ts";
import { partsOf, structureOf } from "../xtables/expression_parts.ts";
import { joinElementLists } from "../nf_tables/join_element_lists.ts";
import type { NfQuery, NfTransport } from "../nf_tables/transport.ts";
import {
  attributesOf,
  ChainAttr,
  ElemListAttr,
  HookAttr,
  HOOKS,
  ListAttr,
  Msg,
  RuleAttr,
  SetAttr,
  TableAttr,
  TableFlag,
} from "../nf_tables/wire.ts";
import { readComment } from "../nftables/user_data.ts";
import type {
  FirewallChain,
  FirewallFamily,
  FirewallHook,
  FirewallQuestion,
  FirewallRule,
  FirewallSet,
  FirewallTable,
} from "./firewall.ts";
import { readExpressions, setNamesOf } from "./nft_expressions.ts";
import { readSet, readSetShape, type SetShape } from "./nft_sets.ts";
import { commentOf } from "./xt_expressions.ts";

/** NFPROTO_*. */
const families: ReadonlyMap<number, FirewallFamily> = new Map([
  [1, "inet"],
  [2, "ip"],
  [3, "arp"],
  [5, "netdev"],
  [7, "bridge"],
  [10, "ip6"],
]);
/** NF_INET_INGRESS, of inet tables; netdev tables number their hooks anew. */
const INET_INGRESS = 5;
const NETDEV_HOOKS = ["ingress", "egress"];
/** A ruleset that changes all the time is given up after so many attempts. */
const MAX_ATTEMPTS = 5;

/** All tables at one moment. Throws `NetlinkError`, and `Error` where it changes all the time. */
export async function readNftFirewall(
  transport: NfTransport,
  question: FirewallQuestion,
): Promise<readonly FirewallTable[]> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await transport.generation();
    const tables = await new NftReading(transport, question).tables();
    if (await transport.generation() === before) return tables;
  }
  throw new Error(
    `Cannot read the rules of nf_tables: they changed during each of ${MAX_ATTEMPTS} attempts`,
  );
}

interface TableId {
  readonly nfproto: number;
  readonly family: FirewallFamily;
  readonly name: string;
}

interface RawRule {
  readonly place: string;
  readonly comment: string | undefined;
  readonly expressions: Uint8Array;
}

class NftReading {
  readonly #transport: NfTransport;
  readonly #question: FirewallQuestion;

  constructor(transport: NfTransport, question: FirewallQuestion) {
    this.#transport = transport;
    this.#question = question;
  }

  async tables(): Promise<readonly FirewallTable[]> {
    const payloads = await this.#ask("list tables", { type: Msg.getTable, nfproto: 0, names: [] });
    const chains = await this.#ask("list chains", { type: Msg.getChain, nfproto: 0, names: [] });
    const found: FirewallTable[] = [];
    for (const payload of payloads) {
      const family = families.get(payload[0]);
      const attributes = readAttributes(attributesOf(payload));
      if (!family) continue;
      const flags = numberOf(attributes.get(TableAttr.flags));
      const id = { nfproto: payload[0], family, name: stringOf(attributes.get(TableAttr.name)) };
      found.push({
        engine: "nft",
        family,
        name: id.name,
        isDormant: (flags & TableFlag.dormant) !== 0,
        isOwned: (flags & TableFlag.owner) !== 0,
        chains: await this.#chains(id, chains),
      });
    }
    return found;
  }

  async #chains(id: TableId, all: readonly Uint8Array[]): Promise<readonly FirewallChain[]> {
    const heads = all.filter((payload) => payload[0] === id.nfproto)
      .map((payload) => readAttributes(attributesOf(payload)))
      .filter((attributes) => stringOf(attributes.get(ChainAttr.table)) === id.name)
      .map((attributes) => ({
        name: stringOf(attributes.get(ChainAttr.name)),
        base: hookOf(attributes, id.family),
      }));
    const table = { engine: "nft" as const, family: id.family, name: id.name };
    const wanted = heads.map(({ name }) => name)
      .filter((name) => this.#question.wantsRules(table, name));
    const raw = await this.#rawRules(id, wanted);
    const sets = await this.#sets(id, [...raw.values()].flat());
    const context = { setOf: (name: string) => sets.get(name), family: xtFamilyOf(id.family) };
    return heads.map(({ base, name }): FirewallChain => ({
      name,
      base,
      rules: raw.get(name)?.map(({ comment, expressions, place }): FirewallRule => ({
        place,
        comment,
        expressions: readExpressions(expressions, context),
      })),
    }));
  }

  /** Chain by chain: dumping all rules of a table is quadratic in the kernel. */
  async #rawRules(
    id: TableId,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, readonly RawRule[]>> {
    const query = {
      op: `list rules of ${describe(id)}`,
      type: Msg.getRule,
      nfproto: id.nfproto,
      names: [[RuleAttr.table, id.name] as const],
      dump: true,
    };
    const groups = names.length === 0
      ? []
      : await this.#transport.queryEach({ query, attribute: RuleAttr.chain, names });
    return new Map(groups.map((payloads, at) => [names[at], payloads.map(readRule)]));
  }

  /** Those that the rules look into; a set that went away meanwhile moves the generation too. */
  async #sets(
    id: TableId,
    rules: readonly RawRule[],
  ): Promise<ReadonlyMap<string, FirewallSet>> {
    const names = new Set(rules.flatMap(({ expressions }) => setNamesOf(expressions)));
    if (names.size === 0) return new Map();
    const about = { nfproto: id.nfproto, names: [[SetAttr.table, id.name] as const] };
    const payloads = await this.#ask(`list sets of ${describe(id)}`, {
      ...about,
      type: Msg.getSet,
    });
    const shapes = payloads.filter((payload) => payload[0] === id.nfproto).map(readSetShape)
      .filter(({ name }) => names.has(name));
    const sets = new Map<string, FirewallSet>();
    for (const shape of shapes) sets.set(shape.name, await this.#set(id, shape));
    return sets;
  }

  async #set(id: TableId, shape: SetShape): Promise<FirewallSet> {
    const payloads = await this.#ask(`list elements of "${shape.name}" in ${describe(id)}`, {
      type: Msg.getSetElem,
      nfproto: id.nfproto,
      names: [[ElemListAttr.table, id.name], [ElemListAttr.set, shape.name]],
    });
    return readSet(shape, joinElementLists(payloads));
  }

  #ask(
    op: string,
    query: Omit<NfQuery, "op" | "dump">,
  ): Promise<readonly Uint8Array[]> {
    return this.#transport.query({ ...query, op, dump: true });
  }
}

function readRule(payload: Uint8Array): RawRule {
  const attributes = readAttributes(attributesOf(payload));
  const handle = attributes.get(RuleAttr.handle);
  const expressions = attributes.get(RuleAttr.expressions) ?? new Uint8Array();
  const userData = attributes.get(RuleAttr.userData);
  return {
    place: `handle ${handle ? readU64be(handle) : 0}`,
    comment: (userData && readComment(userData)) ?? xtComment(expressions),
    expressions,
  };
}

/** iptables-nft keeps a comment as a match. */
function xtComment(expressions: Uint8Array): string | undefined {
  for (const each of readList(expressions, ListAttr.element)) {
    const { data, name } = partsOf(each);
    const comment = name === "match" ? commentOf(structureOf(data)) : undefined;
    if (comment !== undefined) return comment;
  }
  return undefined;
}

function hookOf(
  attributes: ReadonlyMap<number, Uint8Array>,
  family: FirewallFamily,
): FirewallHook | undefined {
  const hook = attributes.get(ChainAttr.hook);
  if (!hook) return undefined;
  const place = readAttributes(hook);
  const number = numberOf(place.get(HookAttr.number));
  return {
    type: stringOf(attributes.get(ChainAttr.type)),
    hook: family === "netdev"
      ? NETDEV_HOOKS[number] ?? "ingress"
      : number === INET_INGRESS
      ? "ingress"
      : HOOKS[number] ?? "prerouting",
    priority: numberOf(place.get(HookAttr.priority)) | 0,
    policy: attributes.has(ChainAttr.policy) && numberOf(attributes.get(ChainAttr.policy)) === 0
      ? "drop"
      : "accept",
  };
}

/** Only tables of these two families can hold structures of xtables. */
function xtFamilyOf(family: FirewallFamily): IpFamily {
  return family === "ip6" ? "IPv6" : "IPv4";
}

function describe({ family, name }: TableId): string {
  return `table "${family} ${name}"`;
}

function stringOf(value: Uint8Array | undefined): string {
  return value ? readString(value) : "";
}

function numberOf(value: Uint8Array | undefined): number {
  return value ? readU32be(value) : 0;
}
