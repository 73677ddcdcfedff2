/** How failures are told to people: one sentence, whatever was thrown. */

/** The command line cannot be understood. Whoever runs commands turns it into exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * One sentence without a stack, a line break or a full stop. What the runtime adds to a message for
 * programmers (error numbers, class names) is taken away; several causes are joined.
 */
export function describeError(error: unknown): string {
  return oneLine(messageOf(error)) || "unknown error";
}

/** The stacks of an error and of everything that caused it, for verbosity 6 and above. */
export function describeStack(error: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  for (let next = error; next instanceof Error && !seen.has(next); next = next.cause) {
    seen.add(next);
    parts.push(next.stack ?? `${next.name}: ${next.message}`);
  }
  return parts.length === 0 ? describeError(error) : parts.join("\ncaused by: ");
}

/** Whether writing failed because nobody reads the other end any more. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.BadResource;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    const causes = error.errors.map(describeError).join("; ");
    return error.message ? `${error.message}: ${causes}` : causes;
  }
  if (error instanceof Error) return error.message || error.name;
  return typeof error === "string" ? error : JSON.stringify(error) ?? String(error);
}

/** Deno words a failed call `No such file or directory (os error 2): readfile 'x'`. */
function oneLine(message: string): string {
  return message
    .replace(/ \(os error \d+\)/g, "")
    .replace(/\s*\n\s*/g, " ")
    .replace(/[.\s]+$/, "")
    .trim();
}
