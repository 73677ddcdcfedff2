import { CommandError, type CommandResult, type Commands, type RunOptions } from "./commands.ts";

/** What a scripted program does with its arguments and its input. */
export type FakeProgram = (args: readonly string[], input: string) => Partial<CommandResult>;

/** Programs written by the test, by name; a name that is not among them is not installed. */
export class FakeCommands implements Commands {
  readonly #programs: Readonly<Record<string, FakeProgram>>;
  readonly #ran: string[] = [];

  constructor(programs: Readonly<Record<string, FakeProgram>> = {}) {
    this.#programs = programs;
  }

  /** The command lines so far, in order. */
  get ran(): readonly string[] {
    return this.#ran;
  }

  lookPath(name: string): string | undefined {
    return Object.hasOwn(this.#programs, name) ? `/usr/sbin/${name}` : undefined;
  }

  async run(argv: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    if (!this.lookPath(argv[0])) throw new CommandError(argv, { reason: "it is not installed" });
    if (options.signal?.aborted) throw new CommandError(argv, { reason: "killed by SIGKILL" });
    this.#ran.push(argv.join(" "));
    let input = "";
    for await (const piece of options.input ?? "") input += piece;
    const result = this.#programs[argv[0]](argv.slice(1), input);
    return { exitCode: 0, stdout: "", stderr: "", ...result };
  }
}
