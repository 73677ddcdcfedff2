/** What stands at some place of a JSON value that somebody else wrote. */

/** Text or number at the end of the way; undefined where there is none. */
export function textAt(value: unknown, ...way: readonly string[]): string | undefined {
  const found = valueAt(value, way);
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean"
    ? String(found)
    : undefined;
}

/** The list at the end of the way; empty where there is none. */
export function listAt(value: unknown, ...way: readonly string[]): readonly unknown[] {
  const found = valueAt(value, way);
  return Array.isArray(found) ? found : [];
}

function valueAt(value: unknown, way: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of way) {
    if (typeof found !== "object" || found === null) return undefined;
    found = Object.hasOwn(found, name)
      ? Object.entries(found).find(([key]) => key === name)?.[1]
      : undefined;
  }
  return found;
}
