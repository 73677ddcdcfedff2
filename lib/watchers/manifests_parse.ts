/**
 * Text of a manifest file becomes values, one for each object, that can tell where any part of them
 * stands. JSON takes the fast way: places are searched for only when there is something to report.
 */
import { offsetOfUnexpectedToken } from "../base/json_error.ts";
import { placeInJson, placeOfOffset, type TextPlace } from "../base/json_place.ts";
import { type Duplicate, plainValue, readYaml, type YamlNode } from "../base/yaml.ts";
import { readBlockYaml } from "../base/yaml_block.ts";
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

/** Work that is done in many small steps; `yield` stands between two. */
export type Steps<T> = Generator<void, T>;

/** How the text says what it is: a name that ends in `.json`, or the first character of anything else. */
export interface ParseOptions {
  readonly source: string;
}

/**
 * A large YAML text is read document by document, so that its tree never stands whole in memory. Yields
 * between documents: others may want the processor.
 */
export function* parseManifests(text: string, { source }: ParseOptions): Steps<ParsedText> {
  if (source.endsWith(".json")) return parseJson(text);
  if (/^\s*[{[]/.test(text)) {
    const parsed = parseJson(text);
    // What begins like JSON may still be YAML in flow style, or JSON documents between `---`.
    if (parsed.kind === "documents") return parsed;
  }
  return yield* parseYaml(text, source);
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

/**
 * V8: `Expected ',' or '}' after property value in JSON at position 15 (line 2 column 3)`, but
 * `Unexpected token '}', ..." {"a": }"... is not valid JSON` and `Unexpected end of JSON input`.
 */
function jsonProblem(text: string, message: string): TextProblem {
  const position = /^(.*?)(?: in JSON)? at position (\d+)/s.exec(message);
  const token = /^Unexpected token '.*?'(?=, )/su.exec(message);
  const what = position?.[1] ?? token?.[0] ?? message;
  const offset = position
    ? Number(position[2])
    : token
    ? offsetOfUnexpectedToken(text)
    : text.trimEnd().length;
  return { ...placeOfOffset(text, offset), message: what.charAt(0).toLowerCase() + what.slice(1) };
}

function* parseYaml(text: string, source: string): Steps<ParsedText> {
  const documents: ManifestDocument[] = [];
  const problems: TextProblem[] = [];
  for (const part of yamlParts(text)) {
    yield;
    const items = yield* readYamlList(part, source);
    if (items) {
      documents.push(...items);
      continue;
    }
    const read = readYamlPart(part, source);
    problems.push(...read.problems);
    documents.push(...read.documents.flatMap(openList));
  }
  return problems.length > 0 ? { kind: "broken", problems } : { kind: "documents", documents };
}

interface ReadPart {
  readonly documents: readonly ManifestDocument[];
  readonly problems: readonly TextProblem[];
}

function readYamlPart(part: YamlPart, source: string): ReadPart {
  const block = readBlockYaml(part.text);
  if (block) {
    return {
      documents: [{ value: block.value, placeOf: yamlPlaces(part, source) }],
      problems: [],
    };
  }
  const documents: ManifestDocument[] = [];
  const problems: TextProblem[] = [];
  const start = { line: part.line, column: 1 };
  const limits = { tokens: Infinity, nodes: Infinity };
  for (const { root, problems: found } of readYaml(part.text, { source, start, limits })) {
    for (const { place, message } of found) problems.push({ ...placeOnly(place), message });
    if (root === undefined) continue;
    for (const { key, place } of duplicatesIn(root)) {
      problems.push({ ...placeOnly(place), message: `the key "${key}" is there twice` });
    }
    const value = plainValue(root);
    // An empty document, such as the one before a leading `---`, is nothing.
    if (value !== null) documents.push({ value, placeOf: yamlPlaces(part, source) });
  }
  return { documents, problems };
}

function placeOnly({ line, column }: TextPlace): TextPlace {
  return { line, column };
}

/**
 * The items of a list as `kubectl get -o yaml` prints it, each read for itself: the tree of ten
 * thousand objects at once does not fit into memory. Undefined for any other text, and when something
 * is wrong or refers to another item: then the text is read as a whole.
 */
function* readYamlList(
  part: YamlPart,
  source: string,
): Steps<readonly ManifestDocument[] | undefined> {
  const header = /^items:[ \t]*\r?\n(?=( *)- )/m.exec(part.text);
  if (!header) return undefined;
  const from = header.index + header[0].length;
  const nextKey = /^[^\s#-]/gm;
  nextKey.lastIndex = from;
  const end = nextKey.exec(part.text)?.index ?? part.text.length;
  const frame = part.text.slice(0, header.index) + part.text.slice(end);
  const around = readYamlPart({ text: frame, line: part.line }, source);
  const list = around.documents[0]?.value;
  if (around.problems.length > 0 || around.documents.length !== 1 || !isList(list)) {
    return undefined;
  }
  const documents: ManifestDocument[] = [];
  let line = part.line + lineBreaks(part.text.slice(0, from));
  for (const item of part.text.slice(from, end).split(new RegExp(`^(?=${header[1]}- )`, "m"))) {
    yield;
    // Without its dash the item is a document that is indented, in the same columns.
    const read = readYamlPart({ text: item.replace("-", " "), line }, source);
    if (read.problems.length > 0 || read.documents.length !== 1) return undefined;
    const [{ value, placeOf }] = read.documents;
    documents.push({ value: withKindOf(value, list), placeOf });
    line += lineBreaks(item);
  }
  return documents;
}

function lineBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
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
    line += lineBreaks(part);
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

function openList(document: ManifestDocument): readonly ManifestDocument[] {
  const { value, placeOf } = document;
  if (!isList(value)) return [document];
  const items: readonly unknown[] = Array.isArray(value.items) ? value.items : [];
  return items.map((item, index) => ({
    value: withKindOf(item, value),
    placeOf: (path: JsonPath) => placeOf(["items", index, ...path]),
  }));
}

type ListObject = JsonObject & { readonly kind: string };

function isList(value: unknown): value is ListObject {
  return isJsonObject(value) && typeof value.kind === "string" && value.kind.endsWith("List");
}

/** Items of a typed list carry no kind of their own: the list's tells it. */
function withKindOf(item: unknown, { kind, apiVersion }: ListObject): unknown {
  if (kind === "List" || !isJsonObject(item) || item.kind !== undefined) return item;
  return { ...item, apiVersion, kind: kind.slice(0, -"List".length) };
}
