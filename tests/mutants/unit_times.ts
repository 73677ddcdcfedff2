/** How long each file of the unit tests takes. */

/** Seconds by the test's path. */
export type UnitTimes = ReadonlyMap<string, number>;

/** Reads what `deno test --junit-path` wrote. */
export function readUnitTimes(report: string): UnitTimes {
  const times = new Map<string, number>();
  for (const suite of report.matchAll(/<testsuite name="([^"]*)"[^>]*>(.*?)<\/testsuite>/gs)) {
    const path = suite[1].replace(/^\.\//, "");
    const seconds = [...suite[2].matchAll(/<testcase [^>]*?time="([\d.]+)"/g)];
    times.set(path, seconds.reduce((sum, [, text]) => sum + Number(text), 0));
  }
  return times;
}

/** More than these tests need, also on a busy machine. A test that is not known takes a second. */
export function limitOf(tests: readonly string[], times: UnitTimes): number {
  return 4 * tests.reduce((sum, test) => sum + (times.get(test) ?? 1), 0);
}
