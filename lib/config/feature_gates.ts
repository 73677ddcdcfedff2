/**
 * Which feature gates exist and which are on. Rules and messages are upstream's, so that a list of
 * gates which starts one program starts the other.
 */
import { gateDependencies, gateGroups } from "./feature_gates_data.ts";
import type { GateStage, KnownGate, KnownGates } from "./known_gates.ts";

/** A gate and its state, as metrics and status pages show it. */
export interface GateState {
  readonly name: string;
  readonly stage: GateStage;
  readonly enabled: boolean;
}

/** The state of every gate; it never changes once resolved. */
export interface FeatureGates {
  /** Throws for a name that no gate has: asking for one is a slip of the program. */
  enabled(name: string): boolean;
  /** Every gate, sorted by name. */
  all(): readonly GateState[];
}

/** Why a requested gate cannot be set, in upstream's words. */
export interface GateProblem {
  readonly gate: string;
  readonly message: string;
}

/** A gate that may be set, though it will go away. */
export interface GateWarning {
  readonly gate: string;
  readonly value: boolean;
  /** How far the gate's feature is, as a word in a sentence. */
  readonly stage: "GA" | "deprecated";
}

export type GateResolution =
  | {
    readonly kind: "resolved";
    readonly gates: FeatureGates;
    readonly warnings: readonly GateWarning[];
  }
  | { readonly kind: "refused"; readonly problems: readonly GateProblem[] };

const known: ReadonlyMap<string, KnownGate> = new Map(
  gateGroups
    .flatMap(({ stage, default: on, locked, names }) =>
      words(names).map((name) => [name, { default: on, locked, stage }] as const)
    )
    .sort(([left], [right]) => left < right ? -1 : 1),
);

const dependencies: ReadonlyMap<string, readonly string[]> = new Map(
  gateDependencies.trim().split("\n").map((line) => {
    const [gate, needed] = line.split(":");
    return [gate.trim(), words(needed)];
  }),
);

/** The groups: setting one sets every gate of its stage that is not named itself. */
const groupStages: Readonly<Record<string, GateStage>> = { AllAlpha: "ALPHA", AllBeta: "BETA" };

/** The gates of Kubernetes 1.37.0. */
export const knownGates: KnownGates = {
  lookup: (name) => known.get(name),
  names: () => [...known.keys()],
};

/** Sets the requested gates over the defaults; every problem is found, unknown names first. */
export function resolveGates(requested: Readonly<Record<string, boolean>>): GateResolution {
  const entries = Object.entries(requested).sort(([left], [right]) => left < right ? -1 : 1);
  const problems = entries.flatMap(([gate, value]) => refusal(gate, value));
  if (problems.length > 0) return { kind: "refused", problems };
  const states = new Map([...known].map(([name, gate]) => [name, gate.default]));
  for (const [gate, value] of entries) {
    for (const member of membersOf(gate)) states.set(member, value);
  }
  // A gate's own name beats its group, whatever their order.
  for (const [gate, value] of entries) states.set(gate, value);
  const unmet = unmetDependencies(states);
  if (unmet.length > 0) return { kind: "refused", problems: unmet };
  return { kind: "resolved", gates: gatesOf(states), warnings: entries.flatMap(warningOf) };
}

function refusal(name: string, value: boolean): GateProblem[] {
  const gate = known.get(name);
  if (!gate) return [{ gate: name, message: `unrecognized feature gate: ${name}` }];
  if (!gate.locked || gate.default === value) return [];
  const message =
    `cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`;
  return [{ gate: name, message }];
}

function membersOf(name: string): string[] {
  const stage = groupStages[name];
  if (!stage) return [];
  return [...known]
    .filter(([member, gate]) => gate.stage === stage && !(member in groupStages))
    .map(([member]) => member);
}

function unmetDependencies(states: ReadonlyMap<string, boolean>): GateProblem[] {
  return [...dependencies].flatMap(([gate, needed]) => {
    const off = needed.filter((name) => !states.get(name));
    if (!states.get(gate) || off.length === 0) return [];
    const list = off.join(" ");
    return [{
      gate,
      message: `${gate} is enabled, but depends on features that are disabled: [${list}]`,
    }];
  });
}

function warningOf([gate, value]: [string, boolean]): GateWarning[] {
  const stage = known.get(gate)?.stage;
  if (gate in groupStages || (stage !== "GA" && stage !== "DEPRECATED")) return [];
  return [{ gate, value, stage: stage === "GA" ? "GA" : "deprecated" }];
}

function gatesOf(states: ReadonlyMap<string, boolean>): FeatureGates {
  return {
    enabled: (name) => {
      const state = states.get(name);
      if (state === undefined) throw new RangeError(`Unknown feature gate "${name}"`);
      return state;
    },
    all: () =>
      [...known].map(([name, { stage }]) => ({ name, stage, enabled: states.get(name) === true })),
  };
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
