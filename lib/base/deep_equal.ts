/**
 * Whether two plain values (primitives, arrays, objects without prototype tricks) say the same.
 * Shared parts cost nothing: identical references are not walked.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b);
  if (!isPlainObject(a) || !isPlainObject(b)) return false;
  for (const key in a) if (!deepEqual(a[key], b[key])) return false;
  for (const key in b) if (!(key in a)) return false;
  return true;
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i])) return false;
  return true;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
