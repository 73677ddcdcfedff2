/**
 * Many or long changes in slices: each takes the kernel some ten milliseconds, and between two of
 * them others get their turn. The short ones come first, so that nobody waits for a Service with a
 * million endpoints but that Service. Pure.
 */
import type { ServicePort } from "../../snapshot/snapshot.ts";
import { elementsIn } from "./capacity.ts";
import type { ServiceChange } from "./plan.ts";

/** More elements than these are written in slices. */
const elementsAtOnce = 20_000;
/** A slice has so many elements at most: few enough that what they leave behind in memory is little. */
const elementsPerSlice = 5_000;
/** A slice has so many service ports at most. */
const changesPerSlice = 1_000;
/** Endpoints of a list before and after are compared in the time in which one is written. */
const comparedPerWritten = 8;

/**
 * The changes in the order in which they are to be written. A service port that takes an address of
 * another is in its slice: removals come first only within one.
 */
export function sliceChanges(
  changes: readonly ServiceChange[],
): readonly (readonly ServiceChange[])[] {
  const weights = new Map(changes.map((change) => [change, weightOf(change)]));
  const weigh = (list: readonly ServiceChange[]) =>
    list.reduce((sum, change) => sum + (weights.get(change) ?? 0), 0);
  if (changes.length <= changesPerSlice && weigh(changes) <= elementsAtOnce) {
    return [changes];
  }
  const slices: ServiceChange[][] = [];
  let weight = Infinity;
  for (const each of inseparable(changes).sort((a, b) => weigh(a) - weigh(b))) {
    const own = weigh(each);
    const isFull = weight + own > elementsPerSlice ||
      (slices.at(-1)?.length ?? 0) + each.length > changesPerSlice;
    if (isFull) {
      slices.push([]);
      weight = 0;
    }
    slices.at(-1)?.push(...each);
    weight += own;
  }
  return slices;
}

function weightOf({ after, before }: ServiceChange): number {
  const [fewer, more] = [elementsIn(before), elementsIn(after)].sort((a, b) => a - b);
  return more - fewer + fewer / comparedPerWritten;
}

/** Changes of which one takes a frontend that another gives up are one list. */
function inseparable(changes: readonly ServiceChange[]): ServiceChange[][] {
  const givers = new Map<string, ServiceChange>();
  for (const change of changes) {
    for (const frontend of frontendsOf(change.before)) givers.set(frontend, change);
  }
  const lists = new Map(changes.map((change) => [change, [change]]));
  for (const change of changes) {
    for (const frontend of frontendsOf(change.after)) {
      const own = lists.get(change);
      const other = lists.get(givers.get(frontend) ?? change);
      if (!own || !other || own === other) continue;
      other.push(...own);
      for (const each of own) lists.set(each, other);
    }
  }
  return [...new Set(lists.values())];
}

function frontendsOf(servicePort: ServicePort | undefined): readonly string[] {
  if (!servicePort) return [];
  const { clusterIP, externalIPs, loadBalancerVIPs, nodePort, port, protocol } = servicePort;
  const addresses = [clusterIP, ...externalIPs, ...loadBalancerVIPs].filter((each) => each !== "");
  return [
    ...addresses.map((address) => `${address} ${protocol} ${port}`),
    ...nodePort === 0 ? [] : [`${protocol} ${nodePort}`],
  ];
}
