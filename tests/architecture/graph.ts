/** What can only be seen of all files together: circles of imports, and what nobody imports. */
import type { Doors, Import } from "./module.ts";

/** A file of the graph: its path and its doors. */
export interface GraphFile {
  readonly path: string;
  readonly doors: Doors;
}

/** Each circle of files that import each other, of types too, as its shortest round. */
export function importCircles(files: readonly GraphFile[]): string[][] {
  const edges = new Map(files.map(({ path, doors }) => [path, doors.imports.map((i) => i.target)]));
  return components(edges).filter((group) =>
    group.length > 1 || edges.get(group[0])?.includes(group[0])
  ).map((group) => shortestRound(group.toSorted()[0], edges));
}

/** Groups of files that reach each other (Tarjan, without recursion's limits being near). */
function components(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const waiting = new Set<string>();
  const groups: string[][] = [];
  const enter = (path: string): number => {
    const index = order.size;
    order.set(path, index);
    low.set(path, index);
    stack.push(path);
    waiting.add(path);
    for (const target of edges.get(path) ?? []) {
      if (!edges.has(target)) continue;
      if (!order.has(target)) low.set(path, Math.min(low.get(path)!, enter(target)));
      else if (waiting.has(target)) low.set(path, Math.min(low.get(path)!, order.get(target)!));
    }
    if (low.get(path) === index) {
      const group = stack.splice(stack.indexOf(path));
      group.forEach((each) => waiting.delete(each));
      groups.push(group);
    }
    return low.get(path)!;
  };
  for (const path of edges.keys()) if (!order.has(path)) enter(path);
  return groups;
}

function shortestRound(start: string, edges: ReadonlyMap<string, readonly string[]>): string[] {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const target of edges.get(path) ?? []) {
      if (target === start) {
        const round = [start];
        for (let at = path; at !== start; at = cameFrom.get(at)!) round.splice(1, 0, at);
        return [...round, start];
      }
      if (edges.has(target) && !cameFrom.has(target)) {
        cameFrom.set(target, path);
        queue.push(target);
      }
    }
  }
  return [start];
}

/** Who imports what: for each path, its importers and the names they take. */
export type Importers = ReadonlyMap<string, readonly (Import & { readonly by: string })[]>;

/** Turns the imports round. */
export function importersOf(files: readonly GraphFile[]): Importers {
  const importers = new Map<string, (Import & { by: string })[]>();
  for (const { path, doors } of files) {
    for (const each of doors.imports) {
      const known = importers.get(each.target);
      if (known) known.push({ ...each, by: path });
      else importers.set(each.target, [{ ...each, by: path }]);
    }
  }
  return importers;
}
