/** Reads a command line with the rules of pflag, the library behind the flags of Kubernetes. */
import { describeError, UsageError } from "./errors.ts";
import { didYouMean } from "./nearest_name.ts";
import type { Flag, TypedFlag } from "./flags.ts";

/** What a command line says; texts of a flag stand in the order they were given. */
export interface ScannedFlags {
  /** By the flag's name, in the order of first appearance. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** What is no flag and no flag's value. */
  readonly operands: readonly string[];
  /** One line for each use of a flag that is going away. */
  readonly deprecations: readonly string[];
}

/** The value of a flag, given or not. */
export function valueOf<T>(flag: TypedFlag<T>, scanned: ScannedFlags): T {
  return flag.value(scanned.given.get(flag.name) ?? []);
}

/** Whether the flag stands on the command line, with whatever value. */
export function isGiven(flag: Flag, scanned: ScannedFlags): boolean {
  return scanned.given.has(flag.name);
}

/**
 * Takes `--name=value`, `--name value`, `-n=value`, `-nvalue`, `-n value`, and the name alone of
 * flags that may stand alone; flags and operands may be mixed until `--`. Underscores in names count
 * as hyphens. Throws a UsageError for the first thing that is wrong.
 */
export function scanFlags(args: readonly string[], flags: readonly Flag[]): ScannedFlags {
  const scanner = new Scanner(args, flags);
  scanner.scan();
  return scanner;
}

class Scanner implements ScannedFlags {
  readonly given = new Map<string, string[]>();
  readonly operands: string[] = [];
  readonly deprecations: string[] = [];
  readonly #rest: string[];
  readonly #byName: ReadonlyMap<string, Flag>;
  readonly #byLetter: ReadonlyMap<string, Flag>;

  constructor(args: readonly string[], flags: readonly Flag[]) {
    this.#rest = [...args];
    this.#byName = new Map(flags.map((flag) => [flag.name, flag]));
    this.#byLetter = new Map(
      flags.flatMap((flag) => flag.shorthand ? [[flag.shorthand, flag]] : []),
    );
  }

  scan(): void {
    for (let arg = this.#rest.shift(); arg !== undefined; arg = this.#rest.shift()) {
      if (arg === "--") {
        this.operands.push(...this.#rest.splice(0));
      } else if (arg.startsWith("--")) {
        this.#long(arg);
      } else if (arg.startsWith("-") && arg !== "-") {
        this.#short(arg.slice(1), arg);
      } else {
        this.operands.push(arg);
      }
    }
  }

  #long(arg: string): void {
    const [, name, value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (!name || name.startsWith("-")) {
      throw new UsageError(`Cannot read "${arg}": a flag is written --name=value`);
    }
    const flag = this.#byName.get(name.replaceAll("_", "-"));
    if (!flag) {
      const visible = [...this.#byName.values()].filter(({ deprecated }) => !deprecated);
      const names = visible.map((each) => `--${each.name}`);
      throw new UsageError(`Unknown flag "--${name}"${didYouMean(`--${name}`, names)}`);
    }
    this.#set(flag, value ?? flag.bare ?? this.#next(flag, `--${name}`));
  }

  /** A cluster of letters: each but the last stands alone, and the last may carry a value. */
  #short(letters: string, arg: string): void {
    const letter = letters[0];
    const flag = this.#byLetter.get(letter);
    if (!flag) {
      const cluster = arg === `-${letter}` ? "" : ` in "${arg}"`;
      throw new UsageError(`Unknown flag "-${letter}"${cluster}`);
    }
    const rest = letters.slice(1);
    if (rest.length > 1 && rest.startsWith("=")) {
      this.#set(flag, rest.slice(1));
    } else if (flag.bare !== undefined) {
      this.#set(flag, flag.bare);
      if (rest !== "") this.#short(rest, arg);
    } else {
      this.#set(flag, rest === "" ? this.#next(flag, `-${letter}`) : rest);
    }
  }

  #next(flag: Flag, written: string): string {
    const value = this.#rest.shift();
    if (value === undefined) {
      throw new UsageError(`Flag "${written}" needs a value: ${flag.summary}`);
    }
    return value;
  }

  #set(flag: Flag, text: string): void {
    try {
      flag.check(text);
    } catch (cause) {
      throw new UsageError(`Cannot read "--${flag.name}=${text}": ${describeError(cause)}`, {
        cause,
      });
    }
    const texts = this.given.get(flag.name);
    if (texts) texts.push(text);
    else this.given.set(flag.name, [text]);
    if (flag.deprecated) {
      this.deprecations.push(`Flag --${flag.name} has been deprecated, ${flag.deprecated}`);
    }
  }
}
