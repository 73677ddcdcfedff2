/** Versions of software, as images and tools name them. */

/** A version's numbers: `v1.13.1-eksbuild.2` is 1, 13, 1. Undefined for a text without any. */
export function versionIn(text: string): readonly number[] | undefined {
  const found = /(?:^|[:v@/_-])v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return found?.slice(1).map((number) => Number(number ?? 0));
}

/** Whether it is before the other one. */
export function isBefore(version: readonly number[], other: readonly number[]): boolean {
  for (const [at, number] of other.entries()) {
    const own = version[at] ?? 0;
    if (own !== number) return own < number;
  }
  return false;
}
