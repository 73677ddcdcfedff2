/**
 * The tables of fields as flat rows: each row joins a place in the file with a place in the internal
 * configuration. Two rows of two versions with the same internal place are the same setting, and
 * that is all that decoding, writing and converting need to know.
 */
import type { AnyField, AnyFields, AnySection } from "../base/fields.ts";
import { internalDefaults } from "./internal.ts";

/** Where a row of v1alpha1 goes, if not to the place of the same name. */
export interface Move {
  /** Internal places; none means that nothing reads the value. */
  readonly to: readonly string[];
  /** Whether the value counts, with this mode in the file. */
  readonly counts: (mode: string) => boolean;
}

export interface Row extends Move {
  /** In the file, such as `iptables.masqueradeBit`. */
  readonly path: string;
  readonly field: AnyField;
}

export interface Table {
  readonly fields: AnyFields;
  /** In the order of the table. */
  readonly rows: readonly Row[];
  /** The same by path. */
  readonly byPath: ReadonlyMap<string, Row>;
}

export const always = () => true;

/** The rows of a table; `moves` names a field, or a section with everything below it. */
export function tableOf(fields: AnyFields, moves: Readonly<Record<string, Move>> = {}): Table {
  const rows: Row[] = [];
  collect(rows, fields, { path: "", move: { to: [""], counts: always }, moves });
  return { fields, rows, byPath: new Map(rows.map((row) => [row.path, row])) };
}

/** The value at an internal place, such as `linux.conntrack.min`. */
export function valueAt(configuration: unknown, place: string): unknown {
  let value = configuration;
  for (const key of place.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Joins the parts of a path that are not empty. */
export function joinPath(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(".");
}

interface CollectContext {
  readonly path: string;
  readonly move: Move;
  readonly moves: Readonly<Record<string, Move>>;
}

function collect(rows: Row[], fields: AnyFields, context: CollectContext): void {
  for (const [name, entry] of Object.entries(fields)) {
    const path = joinPath(context.path, name);
    const own = context.moves[path];
    const to = own?.to ?? context.move.to.map((place) => joinPath(place, name));
    const counts = own?.counts ?? context.move.counts;
    if (isSection(entry)) {
      collect(rows, entry.fields, { ...context, path, move: { to, counts } });
    } else {
      rows.push({ path, field: entry, to: to.map(withUnit), counts });
    }
  }
}

/** Whether the entry of a table is a section. */
export function isSection(entry: AnyField | AnySection): entry is AnySection {
  return entry.kind === "section";
}

const defaults = internalDefaults();

/** The internal name says the unit that the file's value says itself. */
function withUnit(place: string): string {
  if (valueAt(defaults, place) !== undefined) return place;
  return `${place}Ms`;
}
