/** What a guest's serial console says about the tests that ran in it. */

/** How a guest test ended. A guest that was stopped or died says so in the place of what is missing. */
export type Verdict =
  | { readonly kind: "passed"; readonly seconds: number; readonly output: string }
  | { readonly kind: "failed"; readonly code: number; readonly output: string }
  | { readonly kind: "hang"; readonly seconds: number; readonly output: string }
  | { readonly kind: "panic"; readonly output: string };

/** What was asked of a guest, and what it left. */
export interface GuestRecord {
  /** A word that only this guest was told: what a test prints cannot be taken for a mark. */
  readonly nonce: string;
  readonly tests: readonly string[];
  /** All that came over the serial console. */
  readonly console: string;
  /** The time at which the guest was stopped; undefined when it ended by itself. */
  readonly stoppedAfterSeconds?: number;
}

/** A panic can be long, and what led to it stands before it. */
const TOLD_LINES = 200;

/** The verdict on each test, in order. A test passed only if its own mark says so. */
export function verdictsOf(record: GuestRecord): ReadonlyMap<string, Verdict> {
  return new Map(record.tests.map((name) => [name, verdictOf(name, record)]));
}

function verdictOf(name: string, record: GuestRecord): Verdict {
  const lines = record.console.replaceAll("\r", "").split("\n");
  const begun = lines.indexOf(`${record.nonce} begins ${name}`);
  const marks = lines.map((line) => endOf(name, record.nonce, line));
  const ended = marks.findIndex((mark) => mark !== undefined);
  const mark = marks[ended];
  // Without a beginning the last of what came says why: the kernel, or the test before.
  const told = lines.slice(Math.max(begun, 0), mark === undefined ? undefined : ended);
  const output = told.slice(-TOLD_LINES).join("\n");
  if (begun >= 0 && ended > begun && mark !== undefined) {
    const { code, seconds } = mark;
    if (code !== 0) return { kind: "failed", code, output };
    return { kind: "passed", seconds, output: told.slice(1).join("\n") };
  }
  const seconds = record.stoppedAfterSeconds;
  return seconds === undefined ? { kind: "panic", output } : { kind: "hang", seconds, output };
}

/** What a mark of the end says; a line that the guest did not finish is none. */
function endOf(name: string, nonce: string, line: string) {
  const start = `${nonce} ends ${name} `;
  if (!line.startsWith(start)) return undefined;
  const words = /^(\d+) (\d+)$/.exec(line.slice(start.length));
  return words === null ? undefined : { code: Number(words[1]), seconds: Number(words[2]) };
}

/** One sentence for a verdict that is not `passed`, with what was seen; undefined for one that is. */
export function complaintOf(verdict: Verdict): string | undefined {
  switch (verdict.kind) {
    case "passed":
      return undefined;
    case "failed":
      return `failed in the guest with exit code ${verdict.code}:\n${verdict.output}`;
    case "hang":
      return `not done when the guest was stopped after ${verdict.seconds} s:\n${verdict.output}`;
    case "panic":
      return `the guest ended before the test did; its kernel may have panicked:\n${verdict.output}`;
  }
}
