/** Other programs, run as children: the few tools whose work has no netlink of its own. */

/** A finished program. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a program is run. */
export interface RunOptions {
  /** What it reads from standard input, whole or in pieces that are made while it reads; nothing when absent. */
  readonly input?: string | Iterable<string> | AsyncIterable<string>;
  /** Set beside what this process has in its own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Kills it, with the programs that it has started, when aborted. */
  readonly signal?: AbortSignal;
}

/** Finds and runs programs. */
export interface Commands {
  /** The file that the name means, as a shell would find it; undefined when there is none. */
  lookPath(name: string): string | undefined;
  /**
   * Runs `argv[0]` with the rest as arguments and waits for its end. A non-zero exit is a result;
   * throws `CommandError` only when it could not be run or was killed.
   */
  run(argv: readonly string[], options?: RunOptions): Promise<CommandResult>;
}

/** A program that could not be run, or whose exit code its caller did not expect. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly argv: readonly string[];
  /** Undefined when it never ran to an end. */
  readonly exitCode: number | undefined;
  readonly stderr: string;

  constructor(argv: readonly string[], options: CommandErrorOptions) {
    super(`Cannot run "${argv.join(" ")}": ${options.reason}`, { cause: options.cause });
    this.argv = argv;
    this.exitCode = options.exitCode;
    this.stderr = options.stderr ?? "";
  }
}

/** What `CommandError` is made of. */
export interface CommandErrorOptions {
  readonly reason: string;
  readonly exitCode?: number;
  readonly stderr?: string;
  readonly cause?: unknown;
}

/** The result, or a `CommandError` with the program's last words when it did not exit with 0. */
export function expectSuccess(argv: readonly string[], result: CommandResult): CommandResult {
  if (result.exitCode === 0) return result;
  const lastLine = result.stderr.trim().split("\n").at(-1);
  throw new CommandError(argv, {
    reason: `exit code ${result.exitCode}${lastLine ? `: ${lastLine}` : ""}`,
    exitCode: result.exitCode,
    stderr: result.stderr,
  });
}

/** Real programs. `searchPath` is the value of PATH. */
export class SystemCommands implements Commands {
  readonly #folders: readonly string[];

  constructor(searchPath: string) {
    // An empty entry would mean the current folder, where a daemon must not find programs.
    this.#folders = searchPath.split(":").filter((folder) => folder.startsWith("/"));
  }

  lookPath(name: string): string | undefined {
    if (name.includes("/")) return isExecutable(name) ? name : undefined;
    return this.#folders.map((folder) => `${folder}/${name}`).find(isExecutable);
  }

  async run(argv: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const program = this.lookPath(argv[0]);
    if (!program) {
      throw new CommandError(argv, { reason: `"${argv[0]}" is not installed; install it` });
    }
    const child = spawn(argv, program, options);
    using _killing = killWhenAborted(child, options.signal);
    const feeding = Promise.allSettled([feed(child, options.input)]);
    const output = await child.output();
    const [fed] = await feeding;
    if (fed.status === "rejected") throw fed.reason;
    const stderr = new TextDecoder().decode(output.stderr);
    if (output.signal !== null) {
      throw new CommandError(argv, { reason: `killed by ${output.signal}`, stderr });
    }
    return { exitCode: output.code, stdout: new TextDecoder().decode(output.stdout), stderr };
  }
}

function spawn(argv: readonly string[], program: string, options: RunOptions): Deno.ChildProcess {
  try {
    return new Deno.Command(program, {
      args: argv.slice(1),
      stdin: options.input === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      ...(options.env && { env: { ...options.env } }),
      // Leads a group of its own, which can be killed as one.
      detached: true,
    }).spawn();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(argv, { reason, cause });
  }
}

/** None of them may go on: it would hold the output open, and do its work after all. */
function killWhenAborted(child: Deno.ChildProcess, signal: AbortSignal | undefined): Disposable {
  const kill = () => {
    try {
      Deno.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  if (signal?.aborted) kill();
  else signal?.addEventListener("abort", kill, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", kill) };
}

async function feed(child: Deno.ChildProcess, input: RunOptions["input"]): Promise<void> {
  if (input === undefined) return;
  const writer = child.stdin.getWriter();
  const encoder = new TextEncoder();
  // If it stopped reading: why, its exit code and its last words say.
  const isRead = (writing: Promise<void>) => writing.then(() => true, () => false);
  try {
    for await (const piece of typeof input === "string" ? [input] : input) {
      if (!await isRead(writer.write(encoder.encode(piece)))) return;
    }
  } finally {
    await isRead(writer.close());
  }
}

function isExecutable(path: string): boolean {
  try {
    const info = Deno.statSync(path);
    return info.isFile && ((info.mode ?? 0) & 0o111) !== 0;
  } catch {
    // Not there, or in a folder that cannot be read: not to be found either way.
    return false;
  }
}
