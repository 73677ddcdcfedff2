/**
 * Text of a manifest file becomes values, one for each object, that can tell where any part of them
 * stands. JSON takes the fast way: places are searched for only when there is something to report.
 */
import { placeInJson, placeOfOffset, type TextPlace } from "../base/json_place.ts";
import { type Duplicate, plainValue, readYaml, type YamlNode } from "../base/yaml.ts";
import { isJsonObject, type JsonObject, type JsonPath } from "../kube/json/values.ts";

/** One object of a file. */
export interface ManifestDocument {
  readonly value: unknown;
  /** Where the part at the path begins, or the nearest thing above it. */
  readonly placeOf: (path: JsonPath) => TextPlace;
}

/** What is wrong with a text, and where. */
export interface TextProblem extends TextPlace {
  /** A clause: `unexpected end of JSON`. */
  readonly message: string;
}

/** Either all objects of the text, lists opened, or what keeps it from being understood. */
export type ParsedText =
  | { readonly kind: "documents"; readonly documents: readonly ManifestDocument[] }
  | { readonly kind: "broken"; readonly problems: readonly TextProblem[] };

/** How the text says what it is: a name that ends in `.json`, or the first character of anything else. */
export interface ParseOptions {
  readonly source: string;
}

/** A large YAML text is read document by document, so that its tree never stands whole in memory. */
export function parseManifests(text: string, { source }: ParseOptions): ParsedText {
  if (source.endsWith(".json")) return parseJson(text);
  if (/^\s*[{[]/.test(text)) {
    const parsed = parseJson(text);
    // What begins like JSON may still be YAML in flow style, or JSON documents between `---`.
    if (parsed.kind === "documents") return parsed;
  }
  return parseYaml(text, source);
}

function parseJson(text: string): ParsedText {
  try {
    const value: unknown = JSON.parse(text);
    const documents = openList({ value, placeOf: (path) => placeInJson(text, path) });
    return { kind: "documents", documents };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "broken", problems: [jsonProblem(text, error.message)] };
  }
}

/** V8: `Expected ',' or '}' after property value in JSON at position 15 (line 2 column 3)`. */
function jsonProblem(text: string, message: string): TextProblem {
  const position = /^(.*?)(?: in JSON)? at position (\d+)/s.exec(message);
  const what = position?.[1] ?? message;
  const offset = position ? Number(position[2]) : text.trimEnd().length;
  return { ...placeOfOffset(text, offset), message: what.charAt(0).toLowerCase() + what.slice(1) };
}

function parseYaml(text: string, source: string): ParsedText {
  const documents: ManifestDocument[] = [];
  const problems: TextProblem[] = [];
  for (const part of yamlParts(text)) {
    const start = { line: part.line, column: 1 };
    const limits = { tokens: Infinity, nodes: Infinity };
    for (const { root, problems: found } of readYaml(part.text, { source, start, limits })) {
      problems.push(...found.map(({ place, message }) => ({
        line: place.line,
        column: place.column,
        message,
      })));
      if (root === undefined) continue;
      for (const { key, place } of duplicatesIn(root)) {
        const message = `the key "${key}" is there twice`;
        problems.push({ line: place.line, column: place.column, message });
      }
      const value = plainValue(root);
      // An empty document, such as the one before a leading `---`, is nothing.
      if (value === null) continue;
      documents.push(...openList({ value, placeOf: yamlPlaces(part, source) }));
    }
  }
  return problems.length > 0 ? { kind: "broken", problems } : { kind: "documents", documents };
}

function* duplicatesIn(node: YamlNode): Iterable<Duplicate> {
  if (node.kind === "list") { for (const item of node.items) yield* duplicatesIn(item); }
  if (node.kind !== "mapping") return;
  yield* node.duplicates;
  for (const { value } of node.entries) yield* duplicatesIn(value);
}

interface YamlPart {
  readonly text: string;
  readonly line: number;
}

/** Splits where a line begins with `---`: inside of anything that line would be indented. */
function* yamlParts(text: string): Iterable<YamlPart> {
  let line = 1;
  let start = 0;
  for (const separator of text.matchAll(/^---(?=\s|$)/gm)) {
    if (separator.index === start) continue;
    const part = text.slice(start, separator.index);
    if (/^%/m.test(part)) continue; // Directives belong to the document behind the separator.
    yield { text: part, line };
    line += part.split("\n").length - 1;
    start = separator.index;
  }
  if (start < text.length) yield { text: text.slice(start), line };
}

/** Reads the part again when a place is asked for: keeping every tree would cost far more. */
function yamlPlaces(part: YamlPart, source: string): ManifestDocument["placeOf"] {
  return (path) => {
    const start = { line: part.line, column: 1 };
    const limits = { tokens: Infinity, nodes: Infinity };
    const [document] = readYaml(part.text, { source, start, limits });
    return document?.root ? placeInYaml(document.root, path) : start;
  };
}

function placeInYaml(root: YamlNode, path: JsonPath): TextPlace {
  let node = root;
  for (const step of path) {
    const next = node.kind === "mapping"
      ? node.entries.find(({ key }) => key === step)?.value
      : node.kind === "list"
      ? node.items[Number(step)]
      : undefined;
    if (next === undefined) break;
    node = next;
  }
  return { line: node.place.line, column: node.place.column };
}

/** Items of a typed list carry no kind of their own: the list's tells it. */
function openList(document: ManifestDocument): readonly ManifestDocument[] {
  const { value, placeOf } = document;
  if (!isJsonObject(value) || typeof value.kind !== "string" || !value.kind.endsWith("List")) {
    return [document];
  }
  const items: readonly unknown[] = Array.isArray(value.items) ? value.items : [];
  return items.map((item, index) => ({
    value: withKindOf(item, value, value.kind === "List" ? "" : String(value.kind).slice(0, -4)),
    placeOf: (path: JsonPath) => placeOf(["items", index, ...path]),
  }));
}

function withKindOf(item: unknown, list: JsonObject, kind: string): unknown {
  if (kind === "" || !isJsonObject(item) || item.kind !== undefined) return item;
  return { ...item, apiVersion: list.apiVersion, kind };
}
