/** A shell at a terminal of its own: a test types keys and reads what a person would see. */

const deadlineMs = 20_000;
/** What a terminal is told besides letters: cursor, colours, titles. */
// deno-lint-ignore no-control-regex
const escapes = /\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()=>].?)|[\r\x07\x0f]/g;

/** How a shell is started, and how it learns to complete. */
export interface Shell {
  readonly name: string;
  readonly command: string;
  /** What kind of terminal it sees: as dumb a one as it shows offers on. */
  readonly terminal: string;
  /** What a person types to load the completion. */
  readonly setup: readonly string[];
  /** How often TAB is pressed until all offers are shown. */
  readonly tabsToList: number;
}

/** A running shell; disposing leaves it as a person would. */
export class Terminal implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #seen = "";
  #more = Promise.withResolvers<void>();
  readonly #reading: Promise<void>;

  constructor(shell: Shell, env: Record<string, string>, cwd: string) {
    this.#child = new Deno.Command("script", {
      args: ["--quiet", "--flush", "--command", shell.command, "/dev/null"],
      env: { ...env, TERM: shell.terminal, PS1: "READY$ ", LC_ALL: "C.UTF-8", HISTFILE: "" },
      cwd,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Types the keys and forgets what was seen before. */
  async type(keys: string): Promise<void> {
    this.#seen = "";
    await this.#writer.write(new TextEncoder().encode(keys));
  }

  /** Waits until the condition holds for what was seen since the last keys; gives that back. */
  async until(what: string, condition: (seen: string) => boolean): Promise<string> {
    const deadline = AbortSignal.timeout(deadlineMs);
    const passed = new Promise<void>((resolve) =>
      deadline.addEventListener("abort", () => resolve())
    );
    while (!condition(this.#seen)) {
      if (deadline.aborted) throw new Error(`No ${what} after 20 s; last seen: ${this.#seen}`);
      await Promise.race([this.#more.promise, passed]);
    }
    return this.#seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.type("\x03\x15exit\n");
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), deadlineMs);
    await this.#child.status;
    clearTimeout(killer);
    await this.#reading;
    await this.#writer.abort().catch(() => {});
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) {
      this.#seen += decoder.decode(bytes, { stream: true }).replaceAll(escapes, "");
      this.#more.resolve();
      this.#more = Promise.withResolvers();
    }
  }
}
