/**
 * What the packet filters of a node do to a new packet from outside that is meant for the node itself: through
 * every chain on hook input, of both engines. Three answers: what is not understood makes neither of
 * the other two.
 */
import type {
  FirewallChain,
  FirewallRule,
  FirewallTable,
  FirewallVerdict,
} from "../../kernel/firewall/firewall.ts";
import { eitherOf, type KnownBits } from "./known_bits.ts";
import { type OutsidePacket, PacketView } from "./outside_packet.ts";
import { PacketState, type RuleEffect, walkRule } from "./rule_walk.ts";

/** A chain that the kernel calls. */
export interface BaseChain {
  readonly table: FirewallTable;
  readonly chain: string;
}

/** What becomes of the packet. Places read as `table ip filter, chain INPUT, handle 4`. */
export type PacketFate =
  | { readonly kind: "accepted" }
  | { readonly kind: "stopped"; readonly by: string; readonly at: BaseChain }
  | { readonly kind: "untold"; readonly because: string };

/** What is left out of the walk. */
export interface WalkOptions {
  /** Chains that are as if they were empty: those that go with the mode that is left. */
  readonly ignores: (chain: string) => boolean;
  /** Tables that are as if they were not there. */
  readonly ignoresTable: (table: FirewallTable) => boolean;
}

/** Walks the packet through all chains on hook input. */
export function walkInput(
  tables: readonly FirewallTable[],
  packet: OutsidePacket,
  options: WalkOptions,
): PacketFate {
  const families = packet.family === "IPv4" ? ["ip", "inet"] : ["ip6", "inet"];
  const hooks = tables
    .filter((table) => families.includes(table.family) && !table.isDormant)
    .filter((table) => !options.ignoresTable(table))
    .flatMap((table) =>
      table.chains.filter(({ base }) => base?.hook === "input").map((chain) => ({ table, chain }))
    )
    .sort((a, b) => (a.chain.base?.priority ?? 0) - (b.chain.base?.priority ?? 0));
  const state = new PacketState(new PacketView(packet));
  let untold: string | undefined;
  for (const { chain, table } of hooks) {
    const walk = new ChainWalk(table, state, options);
    const { because, mayAccept, stoppedBy } = walk.base(chain);
    if (stoppedBy !== undefined && !mayAccept) {
      return { kind: "stopped", by: stoppedBy, at: { table, chain: chain.name } };
    }
    if (stoppedBy !== undefined || !mayAccept) untold ??= because;
  }
  return untold === undefined ? { kind: "accepted" } : { kind: "untold", because: untold };
}

/** Where a rule stands, as people look for it. */
export function placeOf(table: FirewallTable, chain: string, rule?: FirewallRule): string {
  const engine = table.engine === "legacy"
    ? `${table.family}tables-legacy`
    : `table ${table.family}`;
  const where = `${engine} ${table.name}, chain ${chain}`;
  return rule ? `${where}, ${rule.place}${rule.comment ? ` ("${rule.comment}")` : ""}` : where;
}

/** All that may come of a chain. */
interface Outcome {
  readonly mayAccept: boolean;
  /** Where it may be stopped, if it may. */
  readonly stoppedBy: string | undefined;
  /** Whether it may come out at the end. */
  readonly mayGoOn: boolean;
}

/** Jumps are as deep as the kernel allows; rules that are walked more often than this are not understood. */
const MAX_DEPTH = 16;
const MAX_RULES = 100_000;

class ChainWalk {
  readonly #table: FirewallTable;
  readonly #state: PacketState;
  readonly #options: WalkOptions;
  readonly #chains: ReadonlyMap<string, FirewallChain>;
  #because: string | undefined;
  #rules = 0;
  /** The mark with which the packet may leave the chain. */
  #acceptedMark: KnownBits | undefined;

  constructor(table: FirewallTable, state: PacketState, options: WalkOptions) {
    this.#table = table;
    this.#state = state;
    this.#options = options;
    this.#chains = new Map(table.chains.map((chain) => [chain.name, chain]));
  }

  /** A chain that the kernel calls: its policy decides in the end. */
  base(chain: FirewallChain): Outcome & { readonly because: string } {
    const outcome = this.#chain(chain, 0);
    const drops = chain.base?.policy === "drop";
    const place = `${placeOf(this.#table, chain.name)}, policy drop`;
    if (outcome.mayGoOn && !drops) this.#accept();
    if (this.#acceptedMark) this.#state.mark = this.#acceptedMark;
    return {
      mayAccept: outcome.mayAccept || (outcome.mayGoOn && !drops),
      stoppedBy: outcome.stoppedBy ?? (outcome.mayGoOn && drops ? place : undefined),
      mayGoOn: false,
      because: this.#because ?? place,
    };
  }

  #accept(): void {
    const { mark } = this.#state;
    this.#acceptedMark = this.#acceptedMark ? eitherOf(this.#acceptedMark, mark) : mark;
  }

  #chain(chain: FirewallChain, depth: number): Outcome {
    let mayAccept = false;
    let stoppedBy: string | undefined;
    if (!chain.rules || depth > MAX_DEPTH) {
      this.#because ??= `the rules of ${placeOf(this.#table, chain.name)} were not read`;
      return { mayAccept: true, stoppedBy: placeOf(this.#table, chain.name), mayGoOn: true };
    }
    let returned: KnownBits | undefined;
    for (const rule of chain.rules) {
      const before = this.#state.mark;
      const effect = this.#walk(rule, chain);
      // Most rules of a large set are about others: nothing is worked out for them.
      if (effect.matches === "no") continue;
      const place = placeOf(this.#table, chain.name, rule);
      const end = this.#verdicts(effect, { depth, place });
      if (effect.matches === "maybe") this.#state.mark = eitherOf(before, this.#state.mark);
      mayAccept ||= end.mayAccept;
      stoppedBy ??= end.stoppedBy;
      if (end.mayReturn) {
        const { mark } = this.#state;
        returned = returned ? eitherOf(returned, mark) : mark;
      }
      if (effect.matches === "yes" && !end.mayGoOn) {
        if (returned) this.#state.mark = returned;
        return { mayAccept, stoppedBy, mayGoOn: returned !== undefined };
      }
    }
    if (returned) this.#state.mark = eitherOf(returned, this.#state.mark);
    return { mayAccept, stoppedBy, mayGoOn: true };
  }

  #walk(rule: FirewallRule, { name }: FirewallChain): RuleEffect {
    const place = () => placeOf(this.#table, name, rule);
    if (++this.#rules > MAX_RULES) {
      this.#because ??= `${place()}: too many rules`;
      return { matches: "maybe", verdicts: ["untold"], because: undefined };
    }
    const effect = walkRule(rule, this.#state);
    const decides = effect.verdicts.length > 0 && effect.matches !== "no";
    const isClear = effect.matches === "yes" && !effect.verdicts.includes("untold");
    if (decides && !isClear) this.#because ??= `${place()}: ${effect.because ?? "not understood"}`;
    return effect;
  }

  #verdicts(
    { verdicts }: RuleEffect,
    at: { readonly depth: number; readonly place: string },
  ): Outcome & { readonly mayReturn: boolean } {
    const ends = verdicts.map((verdict) => this.#verdict(verdict, at));
    return {
      mayAccept: ends.some(({ mayAccept }) => mayAccept),
      stoppedBy: ends.map(({ stoppedBy }) => stoppedBy).find((place) => place !== undefined),
      mayGoOn: ends.length === 0 || ends.some(({ mayGoOn }) => mayGoOn),
      mayReturn: ends.some(({ mayReturn }) => mayReturn),
    };
  }

  #verdict(
    verdict: FirewallVerdict | "stop" | "untold",
    { depth, place }: { readonly depth: number; readonly place: string },
  ): Outcome & { readonly mayReturn: boolean } {
    const nothing = { mayAccept: false, stoppedBy: undefined, mayGoOn: false, mayReturn: false };
    if (verdict === "untold") {
      return { mayAccept: true, stoppedBy: place, mayGoOn: true, mayReturn: false };
    }
    if (verdict === "stop") return { ...nothing, stoppedBy: place };
    switch (verdict.kind) {
      case "accept":
        this.#accept();
        return { ...nothing, mayAccept: true };
      case "drop":
        return { ...nothing, stoppedBy: place };
      case "continue":
        return { ...nothing, mayGoOn: true };
      case "return":
        return { ...nothing, mayReturn: true };
      case "jump":
      case "goto": {
        const inner = this.#jump(verdict.chain, depth);
        const isJump = verdict.kind === "jump";
        return {
          ...inner,
          mayGoOn: isJump && inner.mayGoOn,
          mayReturn: !isJump && inner.mayGoOn,
        };
      }
    }
  }

  #jump(name: string, depth: number): Outcome {
    const chain = this.#chains.get(name);
    if (!chain || this.#options.ignores(name)) {
      return { mayAccept: false, stoppedBy: undefined, mayGoOn: true };
    }
    return this.#chain(chain, depth + 1);
  }
}
