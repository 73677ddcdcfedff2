/**
 * A check as data: what it is called, what it needs to know, why it matters, and one pure function from
 * facts to findings. It reads nothing itself, so a test of it is a table.
 */
import type { Fact, FactName } from "./fact.ts";
import type { FactValues } from "./facts/fact_values.ts";
import type { FromMode } from "./modes.ts";

/** The groups in the order of the report. */
export const checkGroups = [
  "kernel",
  "ipvs",
  "nodeports",
  "software",
  "config",
  "cluster",
  "rehearsal",
] as const;

/** As JSON spells it. */
export type CheckGroup = typeof checkGroups[number];

/** Which program serves the new mode: this one, or stock kube-proxy. */
export type ToProxy = "this" | "upstream";

/** The move that is judged. */
export interface Move {
  /** Undefined where nothing was found and nobody said. */
  readonly from: FromMode | undefined;
  /** Somebody said it, by `--from`. */
  readonly fromGiven: boolean;
  readonly to: "nftables";
  readonly toProxy: ToProxy;
}

/**
 * What a check found. `pass` says what was seen to be right, or what is good to know; `untold` says
 * that something was not understood, and makes the check `unknown` unless another finding is worse.
 */
export interface Finding {
  readonly level: "pass" | "warn" | "fail" | "untold";
  /** What it is about, and where it looked: `table ip filter, chain INPUT`, `kernel 5.10.0`. */
  readonly subject: string;
  /** What was found there, a sentence or a quote each. */
  readonly evidence: readonly string[];
  /** What to do: commands that can be run as they are, or config lines, or a sentence. */
  readonly advice: readonly string[];
  /** A `fail` that nothing which can be done on this node mends: it makes the verdict `no`. */
  readonly unfixable?: true;
}

/** The facts that a check asked for, and the move. */
export interface Given<N extends FactName, W extends FactName> {
  /** Those of `needs`: undefined where they are absent. */
  readonly facts: { readonly [K in N]: FactValues[K] | undefined };
  /** Those of `wants`, known or not: the check does without. */
  readonly tried: { readonly [K in W]: Fact<FactValues[K]> };
  readonly move: Move;
}

/** One of the checks, with the facts that it needs and those that it merely wants. */
export interface CheckOf<N extends FactName, W extends FactName> {
  /** Stable: `KRN03`. */
  readonly id: string;
  readonly group: CheckGroup;
  /** Stable, in kebab case: `nft-expressions`. */
  readonly title: string;
  /** Why it matters to this move: one sentence. */
  readonly why: string;
  /** How it looks: a sentence or two for `--explain`. */
  readonly looks: string;
  readonly links: readonly string[];
  /** Where it applies; everywhere when absent. Elsewhere it passes, with a note that says so. */
  readonly where?: {
    readonly from?: readonly FromMode[];
    readonly toProxy?: ToProxy;
    /** Only where somebody said from which mode. */
    readonly fromGiven?: true;
  };
  /** The results that its function can give, besides `skip` and `unknown`, which any check can have. */
  readonly results: readonly ("pass" | "warn" | "fail")[];
  /** Where one of these is not known, the runner says `skip` or `unknown` and does not ask. */
  readonly needs: readonly N[];
  readonly wants?: readonly W[];
  /** The check is unknown when its facts take longer; 32 s when absent. */
  readonly timeoutMs?: number;
  /** Pure: the same facts give the same findings. None at all is a pass. */
  judge(given: Given<N, W>): readonly Finding[];
}

/** Any check, in the list of all of them. */
export type Check = CheckOf<FactName, FactName>;

/** Makes a check; its function is given exactly the facts that it names. */
export function check<N extends FactName = never, W extends FactName = never>(
  definition: CheckOf<N, W>,
): Check {
  return definition;
}
