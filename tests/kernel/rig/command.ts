/** Programs that the rig runs. */

/** What a program left behind. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, whatever its exit code. */
export async function tryCommand(
  argv: readonly string[],
  stdin: string = "",
): Promise<CommandResult> {
  const process = new Deno.Command(argv[0], {
    args: argv.slice(1),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = process.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(stdin))
    .then(() => writer.close())
    // A program that ends without reading its input says why in its exit code.
    .catch(() => undefined);
  const [output] = await Promise.all([process.output(), written]);
  const decoder = new TextDecoder();
  return {
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}

/** Runs a program and gives its output; throws with its own words when it fails. */
export async function runCommand(argv: readonly string[], stdin: string = ""): Promise<string> {
  const result = await tryCommand(argv, stdin);
  if (result.code === 0) return result.stdout;
  const words = result.stderr.trim() || result.stdout.trim();
  throw new Error(`Cannot run "${argv.join(" ")}": exit code ${result.code}: ${words}`);
}

/** Sends the signal in that many milliseconds, unless the process has ended by then; not once it is disposed. */
export function signalAfter(
  process: Deno.ChildProcess,
  { ms, signal }: { readonly signal: Deno.Signal; readonly ms: number },
): Disposable {
  const timer = setTimeout(() => {
    try {
      process.kill(signal);
    } catch {
      // It ended a moment ago.
    }
  }, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
