/**
 * Namespaces that are left out of a watch. As many as fit into a request's URL are left out by the
 * server; the rest arrives and is dropped here.
 */
import { untilAborted } from "../base/abort.ts";

/** One state of the set. */
export interface Exclusion {
  /** Sorted. */
  readonly all: readonly string[];
  /** Those that the server is asked to leave out; sorted. */
  readonly atServer: readonly string[];
  readonly names: ReadonlySet<string>;
}

/** Where a watch learns which namespaces to leave out. */
export interface ExclusionFeed {
  readonly current: Exclusion;
  /** Resolves when `current` is worth starting with, or the signal aborts. */
  ready(signal: AbortSignal): Promise<void>;
  /** Resolves when `current` is another than the given one, or the signal aborts. */
  changedFrom(known: Exclusion, signal: AbortSignal): Promise<void>;
}

/** What a request may hold: about 6 KB of selector text, and no more than so many names. */
const maxNames = 150;
const maxSelectorBytes = 6_000;

/** The exclusion of these namespaces. */
export function excludeNamespaces(names: Iterable<string>): Exclusion {
  const all = [...new Set(names)].sort();
  const atServer: string[] = [];
  let bytes = 0;
  for (const name of all) {
    bytes += namespaceTerm(name).length + 1;
    if (atServer.length === maxNames || bytes > maxSelectorBytes) break;
    atServer.push(name);
  }
  return { all, atServer, names: new Set(all) };
}

/** Whether both leave out the same namespaces. */
export function sameExclusion(a: Exclusion, b: Exclusion): boolean {
  return a === b || a.all.length === b.all.length && a.all.every((name) => b.names.has(name));
}

/** Nothing is left out. */
export const noExclusion: Exclusion = excludeNamespaces([]);

/** For resources that no namespace is left out of. */
export const neverExcluding: ExclusionFeed = {
  current: noExclusion,
  ready: () => Promise.resolve(),
  changedFrom: (_known, signal) => untilAborted(signal),
};

/** The field selector that leaves out what the server leaves out. */
export function exclusionSelector(fieldSelector: string, exclusion: Exclusion): string {
  return [fieldSelector, ...exclusion.atServer.map(namespaceTerm)]
    .filter((term) => term !== "").join(",");
}

function namespaceTerm(name: string): string {
  return `metadata.namespace!=${name}`;
}
