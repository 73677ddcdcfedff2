/** From the tree of a file to typed values, each with its place; every problem is collected. */
import * as z from "zod";
import type { AnyFields } from "../base/fields.ts";
import { nearestName } from "../base/nearest_name.ts";
import { type Place, plainValue, type YamlMapping, type YamlNode } from "../base/yaml.ts";
import { describePlace, type Problem, type ProblemKind, showValue } from "./problem.ts";
import { isSection, joinPath, type Row, type Table } from "./tables.ts";

/** A field that stands in a file. */
export interface Given {
  readonly row: Row;
  /** Decoded; undefined for null, which is as good as nothing. */
  readonly value: unknown;
  readonly node: YamlNode;
  readonly keyPlace: Place;
  /** As this file spells it: the document of a mode has its fields at the top. */
  readonly path: string;
}

export interface Decoded {
  /** By the path of the row, in the order of the file. */
  readonly given: ReadonlyMap<string, Given>;
  readonly problems: readonly Problem[];
}

export interface DecodeOptions {
  readonly table: Table;
  /** What the document may hold; the whole table by default. */
  readonly fields?: AnyFields;
  /** Where the document's fields stand in the table: the section of a mode, or nothing. */
  readonly prefix?: string;
  /** Fields that are known to be gone, with what to do about each. */
  readonly removed?: ReadonlyMap<string, string>;
}

/** Reads the document, leaving `apiVersion` and `kind` alone. */
export function decodeDocument(root: YamlMapping, options: DecodeOptions): Decoded {
  const decoder = new Decoder(options);
  decoder.section(root, options.fields ?? options.table.fields, "");
  return { given: decoder.given, problems: decoder.problems };
}

class Decoder {
  readonly given = new Map<string, Given>();
  readonly problems: Problem[] = [];
  readonly #options: DecodeOptions;

  constructor(options: DecodeOptions) {
    this.#options = options;
  }

  section(mapping: YamlMapping, fields: AnyFields, path: string): void {
    this.#duplicates(mapping, path);
    for (const { key, keyPlace, value } of mapping.entries) {
      if (path === "" && (key === "apiVersion" || key === "kind")) continue;
      const entry = Object.hasOwn(fields, key) ? fields[key] : undefined;
      const own = joinPath(path, key);
      if (!entry) {
        this.#unknown(own, keyPlace, Object.keys(fields));
      } else if (!isSection(entry)) {
        this.#field({ path: own, keyPlace, node: value });
      } else if (value.kind === "mapping") {
        this.section(value, entry.fields, own);
      } else if (!isNull(value)) {
        this.#problem("type", value.place, own, {
          rule: "must be a mapping of fields",
          value: showNode(value),
        });
      }
    }
  }

  #field({ path, keyPlace, node }: { path: string; keyPlace: Place; node: YamlNode }): void {
    const row = this.#options.table.byPath.get(joinPath(this.#options.prefix ?? "", path));
    if (!row) throw new TypeError(`The table has no row "${path}"`);
    const rule = `must be ${row.field.expected}`;
    if (isNull(node)) {
      if (row.field.refusesNull) {
        this.#problem("type", node.place, path, { rule, value: "null" });
        return;
      }
      this.given.set(row.path, { row, value: undefined, node, keyPlace, path });
      return;
    }
    this.#innerKeys(node, path, row.field.itemKeys);
    const result = z.safeDecode(row.field.type, plainValue(node));
    if (result.success) {
      this.given.set(row.path, { row, value: result.data, node, keyPlace, path });
      return;
    }
    const at = nodeAt(node, result.error.issues[0]?.path ?? []);
    this.#problem("type", at.place, path, { rule, value: showNode(at) });
  }

  /** Keys inside a value that is no section: gates, and lists of mappings. */
  #innerKeys(node: YamlNode, path: string, itemKeys: readonly string[]): void {
    if (node.kind === "mapping") {
      this.#duplicates(node, path);
      for (const { value } of node.entries) this.#innerKeys(value, path, []);
    }
    if (node.kind !== "list") return;
    for (const [index, item] of node.items.entries()) {
      const own = `${path}[${index}]`;
      this.#innerKeys(item, own, []);
      if (item.kind !== "mapping" || itemKeys.length === 0) continue;
      for (const { key, keyPlace } of item.entries) {
        if (!itemKeys.includes(key)) this.#unknown(`${own}.${key}`, keyPlace, itemKeys);
      }
    }
  }

  #duplicates(mapping: YamlMapping, path: string): void {
    for (const { key, place, first } of mapping.duplicates) {
      const rule = `is given twice, first at ${describePlace(first)}`;
      this.#problem("duplicate-field", place, joinPath(path, key), { rule });
    }
  }

  #unknown(path: string, place: Place, siblings: readonly string[]): void {
    const hint = this.#options.removed?.get(path) ?? this.#nearest(path, siblings);
    this.#problem("unknown-field", place, path, { rule: "unknown field", hint });
  }

  #nearest(path: string, siblings: readonly string[]): string {
    const name = path.slice(path.lastIndexOf(".") + 1);
    const elsewhere = this.#options.table.rows.find((row) =>
      row.path.endsWith(`.${name}`) || row.path.includes(`${name}.`) && !row.path.startsWith(name)
    );
    const near = nearestName(name, siblings) ??
      elsewhere?.path.slice(0, elsewhere.path.indexOf(name) + name.length);
    return near === undefined ? "" : `did you mean "${near}"?`;
  }

  #problem(
    kind: ProblemKind,
    place: Place,
    path: string,
    more: { rule: string; value?: string; hint?: string },
  ): void {
    this.problems.push({ kind, severity: "error", place, path, hint: "", upstream: "", ...more });
  }
}

function isNull(node: YamlNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

/** The part of a value that a path of keys and indexes leads to, as far as it exists. */
function nodeAt(node: YamlNode, path: readonly PropertyKey[]): YamlNode {
  let at = node;
  for (const key of path) {
    const next = at.kind === "list"
      ? at.items[Number(key)]
      : at.kind === "mapping"
      ? at.entries.find((entry) => entry.key === key)?.value
      : undefined;
    if (!next) return at;
    at = next;
  }
  return at;
}

function showNode(node: YamlNode): string {
  if (node.kind === "mapping") return "a mapping";
  if (node.kind === "list") return "a list";
  return typeof node.value === "number" ? node.text : showValue(node.value);
}
