/**
 * Order of resource versions. They are decimal numbers that grow (the API says so since 1.35);
 * where one is anything else, nothing is said about its order.
 */

/** Below zero when `a` is older, above when newer, 0 when equal; undefined when that cannot be told. */
export function compareVersions(a: string, b: string): number | undefined {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The oldest of the versions; the first where their order is unknown. */
export function oldestVersion(first: string, others: readonly string[]): string {
  return others.reduce((a, b) => (compareVersions(b, a) ?? 0) < 0 ? b : a, first);
}
