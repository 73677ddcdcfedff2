/**
 * One rule, step by step, as the kernel does it, with values of which not every bit is known. It gives
 * what may happen; the chains are walked by packet_walk.ts.
 */
import type {
  FirewallExpression,
  FirewallRule,
  FirewallSet,
  FirewallVerdict,
} from "../../kernel/firewall/firewall.ts";
import { Meta } from "../../kernel/firewall/packet_keys.ts";
import {
  type Answer,
  both,
  certain,
  eitherOf,
  equals,
  isWithin,
  type KnownBits,
  masked,
  not,
  uncertain,
} from "./known_bits.ts";
import { hostNumber, type PacketView } from "./outside_packet.ts";

/** What a rule may do to the packet. */
export interface RuleEffect {
  /** Whether it gets to its verdict. */
  readonly matches: Answer;
  /** One, where it is known; several, of a map; `untold` for one that we do not know. */
  readonly verdicts: readonly (FirewallVerdict | "stop" | "untold")[];
  /** Why something was not known, in the words of whoever reads the report. */
  readonly because: string | undefined;
}

/** CmpOp of the kernel. */
const Op = { eq: 0, neq: 1, lt: 2, lte: 3, gt: 4, gte: 5 } as const;
const REGISTER_BYTES = 64;

/** A packet on its way: what rules change of it goes on to the next one. */
export class PacketState {
  readonly view: PacketView;
  mark: KnownBits = certain(new Uint8Array(4));
  readonly #bytes = new Uint8Array(REGISTER_BYTES);
  readonly #known = new Uint8Array(REGISTER_BYTES);

  constructor(view: PacketView) {
    this.view = view;
  }

  /** Registers 1 to 4 have 16 bytes, 8 to 23 are the same in pieces of 4. */
  read(register: number, length: number): KnownBits {
    const at = offsetOf(register);
    return { bytes: this.#bytes.slice(at, at + length), known: this.#known.slice(at, at + length) };
  }

  /** Whether the register begins with these bytes, with no copy of it: rules ask this most. */
  begins(register: number, expected: Uint8Array): Answer {
    const at = offsetOf(register);
    let answer: Answer = "yes";
    for (let i = 0; i < expected.length; i++) {
      const known = this.#known[at + i] ?? 0;
      if (((this.#bytes[at + i] ?? 0) ^ expected[i]) & known) return "no";
      if (known !== 0xff) answer = "maybe";
    }
    return answer;
  }

  write(register: number, value: KnownBits): void {
    const at = offsetOf(register);
    const room = REGISTER_BYTES - at;
    // The kernel clears the rest of the last four bytes.
    const end = Math.min(at + ((value.bytes.length + 3) & ~3), REGISTER_BYTES);
    this.#bytes.fill(0, at, end);
    this.#known.fill(0xff, at, end);
    this.#bytes.set(value.bytes.subarray(0, room), at);
    this.#known.set(value.known.subarray(0, room), at);
  }
}

function offsetOf(register: number): number {
  return register < 8 ? (register - 1) * 16 : (register - 8) * 4;
}

/** Takes the packet through a rule. */
export function walkRule({ expressions }: FirewallRule, state: PacketState): RuleEffect {
  let matches: Answer = "yes";
  let because: string | undefined;
  for (const expression of expressions) {
    const step = stepOf(expression, state, matches);
    because ??= step.because;
    matches = both(matches, step.passes);
    if (matches === "no") return { matches, verdicts: [], because };
    if (matches === "maybe") because ??= "what it compares is not known";
    if (step.verdicts) return { matches, verdicts: step.verdicts, because };
  }
  return { matches, verdicts: [], because };
}

interface Step {
  readonly passes: Answer;
  readonly verdicts?: RuleEffect["verdicts"];
  readonly because?: string;
}

const pass: Step = { passes: "yes" };

/** `reached`: whether the packet gets to this step for sure. */
function stepOf(expression: FirewallExpression, state: PacketState, reached: Answer): Step {
  switch (expression.kind) {
    case "payload":
    case "meta":
    case "ct":
    case "fib":
    case "immediate":
    case "load-unknown":
      return load(expression, state);
    case "cmp":
      return { passes: compared(state, expression) };
    case "range": {
      const { first, from, last } = expression;
      const within = isWithin(state.read(from, first.length), first, last);
      return { passes: expression.not ? not(within) : within };
    }
    case "bitwise": {
      const { from, into, mask, xor } = expression;
      state.write(into, masked(state.read(from, mask.length), mask, xor));
      return pass;
    }
    case "set-meta":
      if (expression.key === Meta.mark) setMark(state, state.read(expression.from, 4), reached);
      return pass;
    case "set-mark": {
      const { mask, value } = expression;
      const cleared = masked(state.mark, hostNumber(~mask >>> 0), hostNumber(value));
      setMark(state, cleared, reached);
      return pass;
    }
    case "match-mark": {
      const { mask, value } = expression;
      const kept = masked(state.mark, hostNumber(mask), new Uint8Array(4));
      const same = equals(kept, hostNumber(value));
      return { passes: expression.not ? not(same) : same };
    }
    case "lookup":
      return lookedUp(expression, state);
    case "verdict":
      return { passes: "yes", verdicts: [expression.verdict] };
    case "reject":
      return { passes: "yes", verdicts: ["stop"] };
    case "translate":
      return { passes: "yes", verdicts: [{ kind: "accept" }] };
    case "match-unknown":
      return { passes: "maybe", because: expression.what };
    case "decide-unknown":
      return { passes: "yes", verdicts: ["untold"], because: expression.what };
    case "passive":
      return pass;
  }
}

type Load = Extract<
  FirewallExpression,
  { readonly kind: "payload" | "meta" | "ct" | "fib" | "immediate" | "load-unknown" }
>;

function load(expression: Load, state: PacketState): Step {
  const { view } = state;
  const value = loaded(expression, state, view);
  if (!value) return { passes: "no" };
  state.write(expression.into, value);
  return expression.kind === "load-unknown" ? { passes: "yes", because: expression.what } : pass;
}

function loaded(
  expression: Load,
  { mark }: PacketState,
  view: PacketView,
): KnownBits | undefined {
  switch (expression.kind) {
    case "payload": {
      const { base, length, offset } = expression;
      return base === "other" ? uncertain(length) : view.payload(base, offset, length);
    }
    case "meta":
      return expression.key === Meta.mark ? mark : view.meta(expression.key);
    case "ct":
      return view.ct(expression.key);
    case "fib":
      return view.fib(expression.result, expression.flags);
    case "immediate":
      return certain(expression.value);
    case "load-unknown":
      return uncertain(16);
  }
}

function setMark(state: PacketState, value: KnownBits, reached: Answer): void {
  state.mark = reached === "yes" ? value : eitherOf(state.mark, value);
}

function compared(
  state: PacketState,
  { from, op, value }: Extract<FirewallExpression, { readonly kind: "cmp" }>,
): Answer {
  if (op === Op.eq) return state.begins(from, value);
  if (op === Op.neq) return not(state.begins(from, value));
  const found = state.read(from, value.length);
  const lowest = new Uint8Array(value.length);
  const highest = new Uint8Array(value.length).fill(0xff);
  switch (op) {
    case Op.lt:
      return not(isWithin(found, value, highest));
    case Op.lte:
      return isWithin(found, lowest, value);
    case Op.gt:
      return not(isWithin(found, lowest, value));
    case Op.gte:
      return isWithin(found, value, highest);
    default:
      return "maybe";
  }
}

type Lookup = Extract<FirewallExpression, { readonly kind: "lookup" }>;

function lookedUp(expression: Lookup, state: PacketState): Step {
  const { from, into, set, setName } = expression;
  if (!set) {
    const because = `set "${setName}" was not read`;
    return into === 0
      ? { passes: "maybe", verdicts: ["untold"], because }
      : { passes: "maybe", because };
  }
  const length = set.fieldBytes.reduce((sum, bytes) => sum + bytes, 0);
  const found = candidates(set, state.read(from, length));
  if (into === undefined) {
    return { passes: expression.not ? not(found.answer) : found.answer };
  }
  if (into === 0) {
    return {
      passes: found.answer,
      verdicts: found.elements.map(({ verdict }) => verdict ?? "untold"),
    };
  }
  const [first, ...others] = found.elements.map(({ value }) => certain(value ?? new Uint8Array()));
  if (first) state.write(into, others.reduce(eitherOf, first));
  return { passes: found.answer };
}

/** The elements that the key may be, and whether it is one of them. */
function candidates(
  set: FirewallSet,
  key: KnownBits,
): { readonly answer: Answer; readonly elements: FirewallSet["elements"] } {
  const possible: FirewallSet["elements"][number][] = [];
  for (const element of set.elements) {
    if (element.isCatchAll) continue;
    const answer = holds(set, { first: element.first, last: element.last, key });
    if (answer === "yes") return { answer, elements: [element] };
    if (answer === "maybe") possible.push(element);
  }
  const catchAll = set.elements.filter(({ isCatchAll }) => isCatchAll);
  if (catchAll.length > 0) return { answer: "yes", elements: [...possible, ...catchAll] };
  return { answer: possible.length > 0 ? "maybe" : "no", elements: possible };
}

function holds(
  { fieldBytes }: FirewallSet,
  { first, key, last }: {
    readonly first: Uint8Array;
    readonly last: Uint8Array;
    readonly key: KnownBits;
  },
): Answer {
  let answer: Answer = "yes";
  let at = 0;
  for (const bytes of fieldBytes) {
    const end = at + bytes;
    const field = { bytes: key.bytes.subarray(at, end), known: key.known.subarray(at, end) };
    answer = both(answer, isWithin(field, first.subarray(at, end), last.subarray(at, end)));
    if (answer === "no") return answer;
    at = end;
  }
  return answer;
}
