/** The record of what upstream's program made of each command line. */

/** A configuration, or a section of one. */
export interface Values {
  readonly [field: string]: unknown;
}

/** Values by dotted paths. */
export type Changes = Readonly<Record<string, unknown>>;

export interface FlagRecord {
  readonly name: string;
  readonly args: readonly string[];
  readonly exitCode: number;
  /** Where what it wrote differs from `base`, by dotted paths; absent where it refused. */
  readonly changed?: Changes;
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
  /** What it writes without any argument. */
  readonly base: Values;
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

/** Where a configuration differs from the base. A field that the base has is never gone. */
export function changesFrom(base: Values, values: Values, path = ""): Changes {
  const changes = Object.entries(values).map(([field, value]) => {
    const [known, place] = [base[field], `${path}${field}`];
    if (isSection(known) && isSection(value)) return changesFrom(known, value, `${place}.`);
    return JSON.stringify(known) === JSON.stringify(value) ? {} : { [place]: value };
  });
  return Object.assign({}, ...changes);
}

/** The configuration that differs so from the base. */
export function withChanges(base: Values, changes: Changes, path = ""): Values {
  const own = Object.entries(base).map(([field, known]) => {
    return [field, isSection(known) ? withChanges(known, changes, `${path}${field}.`) : known];
  });
  // A field that is set may be one that is left out otherwise.
  const set = Object.entries(changes).filter(([place]) => place.startsWith(path))
    .map(([place, value]) => [place.slice(path.length), value] as const)
    .filter(([field]) => !field.includes("."));
  return Object.fromEntries([...own, ...set]);
}

function isSection(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.keys(value).length > 0;
}
