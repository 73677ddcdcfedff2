/** What a command of the program is, and what it is given. */
import type { Completion, Flag, TypedFlag } from "../lib/base/flags.ts";
import type { Logger } from "../lib/base/log.ts";

/** A stream to write to. Writing to one that nobody reads any more ends the program quietly. */
export interface Output {
  /** Writes all of the text before it returns. */
  write(text: string): void;
  readonly isTerminal: boolean;
}

/** Where a command reads what it is piped. */
export interface Input {
  readonly readable: ReadableStream<Uint8Array>;
  readonly isTerminal: boolean;
}

/** The process around a command; tests make their own. */
export interface Surroundings {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly pid: number;
  env(name: string): string | undefined;
  /** Aborted by SIGINT and SIGTERM, which end the process at once until somebody asks for this. */
  readonly signal: AbortSignal;
}

/** What follows a command's words on the command line. */
export interface Arguments {
  /** The value of a flag, given or not. */
  get<T>(flag: TypedFlag<T>): T;
  /** Whether the flag was given, with whatever value. */
  has(flag: Flag): boolean;
  readonly operands: readonly string[];
  /** Every flag that was given and its texts, for commands that read them as a whole. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** One line for each use of a flag that is going away. */
  readonly deprecations: readonly string[];
}

export interface CommandContext extends Surroundings {
  readonly arguments: Arguments;
  /** Says on stderr what --v and --logging-format ask for. */
  readonly logger: Logger;
}

/** What a command takes besides flags. */
export interface Operand {
  /** As help shows it: `FILE`. */
  readonly name: string;
  readonly optional?: boolean;
  readonly repeated?: boolean;
  readonly completion?: Completion;
  /** Words that the command itself can offer while somebody types, such as names in a cluster. */
  offer?(context: CommandContext): Promise<readonly string[]>;
}

export interface Example {
  readonly what: string;
  readonly command: string;
}

/** A command: everything that parsing, help and completion need to know, and what it does. */
export interface Command {
  /** A sentence or two for its help; the summary of its entry stands above. */
  readonly description?: string;
  readonly operands: readonly Operand[];
  readonly flags: readonly Flag[];
  readonly examples: readonly [Example, ...Example[]];
  /** The exit code of a command line that cannot be understood, where it is not 2. */
  readonly usageExitCode?: number;
  /** Resolves to the exit code; what it throws is told in one sentence, with exit code 1. */
  run(context: CommandContext): Promise<number>;
}

/** A command's place in the list: enough for an overview without loading the command. */
export interface CommandEntry {
  /** `["config", "convert"]` */
  readonly words: readonly string[];
  /** What it does, in half a line. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** Words that are no command but the beginning of several. */
export interface CommandGroup {
  readonly word: string;
  readonly summary: string;
}

/** The commands there are; a group holds those that begin with its word. */
export interface CommandTree {
  readonly entries: readonly CommandEntry[];
  readonly groups: readonly CommandGroup[];
}
