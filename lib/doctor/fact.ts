/**
 * What doctor knows of a node: facts by name, each read at most once and only when a check needs it.
 * A fact that could not be had is a value too, so that no check ever takes silence for health.
 */
import type { FactValues } from "./facts/fact_values.ts";

/** The name of a fact. */
export type FactName = keyof FactValues;

/** Four answers: only the first two are conclusive. */
export type Fact<T> =
  | { readonly kind: "value"; readonly value: T }
  /** It was looked for, and it is not there; half a sentence says where. */
  | { readonly kind: "absent"; readonly because: string }
  /** What it takes to look is not there: no apiserver, no such mount. */
  | { readonly kind: "lacking" } & Reason
  /** It could not be told. */
  | { readonly kind: "unknown" } & Reason;

/** Why a fact is not known. */
export interface Reason {
  /** A sentence or half of one: `/proc/net/tcp, line 3: "zz" is no address`. */
  readonly because: string;
  /** What gives it: the mount or the right that is missing, as a line to add. */
  readonly advice?: readonly string[];
}

/** Facts by name. */
export interface Facts {
  /** Reads it on the first call; never throws, and answers in time. */
  read<N extends FactName>(name: N): Promise<Fact<FactValues[N]>>;
}

/** What a reader is given. */
export interface FactContext {
  /** Aborted when the reader's time is over. */
  readonly signal: AbortSignal;
  /** Facts that this one is made of. */
  readonly facts: Facts;
}

/** How one fact is read. What it throws makes the fact unknown, with the error. */
export interface FactReader<T> {
  /** The fact is unknown when it takes longer; 10 s when absent. */
  readonly timeoutMs?: number;
  read(context: FactContext): Fact<T> | Promise<Fact<T>>;
}

/** How every fact is read. */
export type FactReaders = { readonly [N in FactName]: FactReader<FactValues[N]> };
