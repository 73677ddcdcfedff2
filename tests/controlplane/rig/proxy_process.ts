/** A proxy as a process in a node's namespace: ours or upstream's, alike but for the program. */
import { findProgram } from "./binaries.ts";
import { TextLineStream } from "../../kernel/rig/lines.ts";
import { ourProgramArgv } from "../../kernel/rig/our_program.ts";
import { patience } from "../../kernel/rig/patience.ts";

/** What is run, and how its log says that every Service works, where it does say so. */
export interface ProxyProgram {
  readonly name: "ours" | "upstream";
  readonly argv: readonly string[];
}

export function ourProgram(): ProxyProgram {
  return { name: "ours", argv: ourProgramArgv() };
}

/** Undefined when nobody built it. */
export function upstreamProgram(): ProxyProgram | undefined {
  const binary = findProgram("kube-proxy");
  return binary === undefined ? undefined : { name: "upstream", argv: [binary] };
}

export interface ProxyProcessOptions {
  readonly program: ProxyProgram;
  /** The node's network namespace. */
  readonly namespace: string;
  readonly args: readonly string[];
  /** Beside the test's own environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What the kernel counts of a process. */
export interface Usage {
  readonly residentMb: number;
  readonly peakMb: number;
  /** With its children that ended. */
  readonly cpuSeconds: number;
  readonly descriptors: number;
  readonly sockets: number;
}

const LAST_LINES = 25;
const DEADLINE_MS = 30_000 * patience;
/** USER_HZ, the same on every Linux that runs these tests. */
const TICKS_PER_SECOND = 100;

/** One process. Its rules stay when it ends. */
export class ProxyProcess implements AsyncDisposable {
  readonly program: ProxyProgram;
  readonly pid: number;
  /** The exit code. */
  readonly ended: Promise<number>;
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<unknown>;
  readonly #lines: string[] = [];
  readonly #listeners = new Set<() => void>();
  #stdout = "";
  #running = true;

  constructor({ program, namespace, args, env = {} }: ProxyProcessOptions) {
    this.program = program;
    // `ip` becomes the program, so that the process is the proxy itself.
    this.#process = new Deno.Command("ip", {
      args: ["netns", "exec", namespace, ...program.argv, ...args],
      env: { ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.pid = this.#process.pid;
    this.#reading = Promise.all([this.#readLog(), this.#readOutput()]);
    this.ended = this.#end();
  }

  /** Resolves when a line of the log holds the text, also when it did before. */
  async said(text: string, deadlineMs: number = DEADLINE_MS): Promise<void> {
    const found = Promise.withResolvers<void>();
    const look = () => {
      if (this.#lines.some((line) => line.includes(text))) found.resolve();
      else if (!this.#running) found.reject(this.#missing(text, "it ended"));
    };
    const timer = setTimeout(() => found.reject(this.#missing(text, "time is up")), deadlineMs);
    this.#listeners.add(look);
    try {
      look();
      await found.promise;
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(look);
    }
  }

  /** Every Service works, as our program says. */
  inSync(deadlineMs?: number): Promise<void> {
    return this.said('"In sync"', deadlineMs);
  }

  /** The lines of the log that hold the text. */
  linesWith(text: string): readonly string[] {
    return this.#lines.filter((line) => line.includes(text));
  }

  /** How many lines of the log hold the text. */
  count(text: string): number {
    return this.linesWith(text).length;
  }

  /** Warnings and errors among the lines from `from` on, as klog writes them. */
  complaints(from = 0): readonly string[] {
    return this.#lines.slice(from).filter((line) => /^[WEF]\d{4} /.test(line));
  }

  /** How many lines the log has. */
  get lineCount(): number {
    return this.#lines.length;
  }

  /** What it said last. */
  log(): string {
    return this.#lines.slice(-LAST_LINES).join("\n");
  }

  /** All it printed on its standard output. */
  get stdout(): string {
    return this.#stdout;
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** Ends it; one that has ended is fine. Resolves to its exit code. */
  end(signal: Deno.Signal): Promise<number> {
    if (this.#running) {
      try {
        this.#process.kill(signal);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
    return this.ended;
  }

  usage(): Usage {
    const status = Deno.readTextFileSync(`/proc/${this.pid}/status`);
    const stat = Deno.readTextFileSync(`/proc/${this.pid}/stat`);
    const megabytes = (field: string) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? NaN) / 1024;
    // utime, stime, cutime and cstime, counted behind the name in brackets.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 15).map(Number);
    const links = [...Deno.readDirSync(`/proc/${this.pid}/fd`)].map(({ name }) =>
      linkOf(`/proc/${this.pid}/fd/${name}`)
    );
    return {
      residentMb: megabytes("VmRSS"),
      peakMb: megabytes("VmHWM"),
      cpuSeconds: ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND,
      descriptors: links.length,
      sockets: links.filter((link) => link.startsWith("socket:")).length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const timer = setTimeout(() => void this.end("SIGKILL"), 5_000);
    await this.end("SIGTERM");
    clearTimeout(timer);
  }

  async #end(): Promise<number> {
    const { code } = await this.#process.status;
    await this.#reading;
    this.#running = false;
    this.#tell();
    return code;
  }

  async #readLog(): Promise<void> {
    for await (const line of this.#process.stderr.pipeThrough(new TextLineStream())) {
      this.#lines.push(line);
      this.#tell();
    }
  }

  async #readOutput(): Promise<void> {
    for await (const text of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      this.#stdout += text;
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #missing(text: string, cause: string): Error {
    return new Error(
      `Cannot find "${text}" in the log of ${this.program.name}: ${cause}:\n${this.log()}`,
    );
  }
}

/** A descriptor may be gone by the time it is looked at. */
function linkOf(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return "";
  }
}
