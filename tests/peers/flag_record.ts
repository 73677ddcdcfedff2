/** The record of what upstream's program made of each command line. */

export interface FlagRecord {
  readonly name: string;
  readonly args: readonly string[];
  readonly exitCode: number;
  /** What it wrote, if it did. */
  readonly configuration?: unknown;
  /** The last line it said, if it refused. */
  readonly said?: string;
}

/** The lines `FLAG: --name="value"` without their head, sorted by name. */
export interface FlagDump {
  readonly args: readonly string[];
  readonly flags: readonly string[];
}

export interface RecordedFlags {
  /** As it prints its version. */
  readonly program: string;
  readonly date: string;
  readonly dumps: readonly FlagDump[];
  readonly records: readonly FlagRecord[];
}

const here = new URL(".", import.meta.url).pathname;

export const recordPath = `${here}recorded/flags/kubernetes-1.37.0.json`;

/** The path of a file that command lines name as `@name.yaml`. */
export function flagFile(name: string): string {
  return `${here}flag_files/${name}`;
}

/** Reads the record. */
export async function readRecord(): Promise<RecordedFlags> {
  return JSON.parse(await Deno.readTextFile(recordPath));
}
