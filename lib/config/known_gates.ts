/** Feature gates as the configuration needs them; the registry itself is given by whoever loads. */

export type GateStage = "ALPHA" | "BETA" | "GA" | "DEPRECATED";

export interface KnownGate {
  readonly default: boolean;
  /** A locked gate cannot be set to anything but its default. */
  readonly locked: boolean;
  readonly stage: GateStage;
}

/** Every gate that may be named, `AllAlpha` and `AllBeta` included. */
export interface KnownGates {
  lookup(name: string): KnownGate | undefined;
  /** For suggestions, sorted. */
  names(): readonly string[];
}
