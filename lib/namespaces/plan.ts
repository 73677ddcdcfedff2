/** What a command does to each namespace. One that cannot be changed keeps all of them as they are. */
import { didYouMean } from "../base/nearest_name.ts";
import type { NamespaceFacts } from "./facts.ts";
import { fieldManager, optOutLabel, optOutValue, protectionOf } from "./label.ts";

export type Action = "opt-in" | "opt-out";

export type Step =
  | { readonly kind: "change"; readonly facts: NamespaceFacts; readonly remarks: readonly string[] }
  | { readonly kind: "keep"; readonly facts: NamespaceFacts; readonly reason: string }
  | { readonly kind: "refuse"; readonly name: string; readonly message: string };

export interface PlanRequest {
  /** As given; repetitions count once. */
  readonly names: readonly string[];
  /** Those of the names that exist. */
  readonly known: ReadonlyMap<string, NamespaceFacts>;
  /** What there is, for names that are slips; may be empty. */
  readonly candidates: readonly string[];
  readonly force: boolean;
}

/** One step a name, in the order of the names' alphabet. */
export function planOptOut(request: PlanRequest): readonly Step[] {
  return sorted(request.names).map((name) => {
    const facts = request.known.get(name);
    if (!facts) return unknownNamespace("opt-out", name, request.candidates);
    if (facts.optedOut) return { kind: "keep", facts, reason: alreadyOut(facts) };
    const protection = protectionOf(name);
    if (protection && !request.force) {
      const message = `Cannot opt out "${name}": ${protection}; give --force if that is meant`;
      return { kind: "refuse", name, message };
    }
    const owner = facts.managers.find((manager) => manager !== fieldManager);
    if (facts.value !== undefined && owner !== undefined) {
      return { kind: "refuse", name, message: ownedByAnother(facts, owner) };
    }
    const remarks = [
      ...(protection ? [`forced, although ${protection}`] : []),
      ...(facts.value === undefined ? [] : [`its label has the value "${facts.value}" until now`]),
    ];
    return { kind: "change", facts, remarks };
  });
}

/** The same for the way back; nothing protects a namespace from it. */
export function planOptIn(request: PlanRequest): readonly Step[] {
  return sorted(request.names).map((name) => {
    const facts = request.known.get(name);
    if (!facts) return unknownNamespace("opt-in", name, request.candidates);
    if (!facts.optedOut) return { kind: "keep", facts, reason: notOut(facts) };
    const others = facts.managers.filter((manager) => manager !== fieldManager);
    const remarks = others.length === 0
      ? []
      : [`its label was set by ${quoted(others)}, which may set it again: change it there too`];
    return { kind: "change", facts, remarks };
  });
}

/** Why the apply of a label was refused in favour of another manager. */
export function ownedByAnother({ name, value }: NamespaceFacts, owner: string): string {
  return `Cannot opt out "${name}": its label ${optOutLabel} has the value "${value}" and belongs ` +
    `to the field manager "${owner}"; set it to ${optOutValue} there, or remove it first: ` +
    `kubectl label namespace ${name} ${optOutLabel}-`;
}

function unknownNamespace(action: Action, name: string, candidates: readonly string[]): Step {
  const verb = action === "opt-out" ? "opt out" : "opt in";
  const hint = didYouMean(name, candidates) || "; kubectl get namespaces lists what there is";
  return {
    kind: "refuse",
    name,
    message: `Cannot ${verb} "${name}": there is no such namespace${hint}`,
  };
}

function alreadyOut({ since, managers }: NamespaceFacts): string {
  return `is out already${since === undefined ? "" : ` since ${since}`}${
    managers.length === 0 ? "" : `, by ${quoted(managers)}`
  }`;
}

function notOut({ value }: NamespaceFacts): string {
  if (value === undefined) return "is not out";
  return `is not out: its label has the value "${value}", and only "${optOutValue}" means anything`;
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
