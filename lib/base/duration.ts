/**
 * Durations as Go and Kubernetes write them: `1h30m`, `500ms`, `1.5s`. Inside the program a duration
 * is a number of milliseconds; nanoseconds survive as its fraction.
 */

const nanosecondsPerUnit: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  "\u00b5s": 1e3,
  "\u03bcs": 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

const longest = 2 ** 63;

/** Milliseconds, or undefined when Go would refuse the text; a bare number but 0 is refused. */
export function parseDuration(text: string): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  const unsigned = text.replace(/^[-+]/, "");
  if (unsigned === "0") return 0;
  const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/gy;
  let nanoseconds = 0;
  let end = 0;
  for (const match of unsigned.matchAll(part)) {
    nanoseconds += Number(match[1]) * nanosecondsPerUnit[match[2]];
    end = match.index + match[0].length;
  }
  if (end === 0 || end !== unsigned.length || nanoseconds >= longest) return undefined;
  // Go cuts what is smaller than a nanosecond; the small addend undoes the rounding of 1.1 * 1e9.
  return nanoseconds === 0 ? 0 : sign * Math.floor(nanoseconds + 1e-4) / 1e6;
}

/** As Go prints a duration: `15m0s`, `1.5s`, `500ms`, `0s`. */
export function formatDuration(milliseconds: number): string {
  const nanoseconds = Math.round(Math.abs(milliseconds) * 1e6);
  if (nanoseconds === 0) return "0s";
  const sign = milliseconds < 0 ? "-" : "";
  if (nanoseconds < 1e3) return `${sign}${nanoseconds}ns`;
  if (nanoseconds < 1e6) return `${sign}${trimmed(nanoseconds, 1e3)}\u00b5s`;
  if (nanoseconds < 1e9) return `${sign}${trimmed(nanoseconds, 1e6)}ms`;
  const hours = Math.floor(nanoseconds / 3600e9);
  const minutes = Math.floor(nanoseconds / 60e9) % 60;
  const seconds = `${trimmed(nanoseconds % 60e9, 1e9)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** The quotient as a decimal without trailing zeros; `unit` is a power of ten. */
function trimmed(nanoseconds: number, unit: number): string {
  const whole = Math.floor(nanoseconds / unit);
  const digits = String(unit).length - 1;
  const fraction = String(nanoseconds % unit).padStart(digits, "0").replace(/0+$/, "");
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}
