/**
 * The edge at which YAML and JSON enter: text becomes a small tree in which everything knows its
 * line and column. Scalars mean what they mean to Kubernetes (YAML 1.1, as its Go library reads it):
 * `yes` and `on` are booleans, `010` is eight. Hostile text costs at most what the limits allow.
 */
import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { readPlain, readTagged, type ScalarValue } from "./yaml_scalar.ts";

/** Where something stands; lines and columns count from 1. */
export interface Place {
  readonly source: string;
  readonly line: number;
  readonly column: number;
}

export interface YamlScalar {
  readonly kind: "scalar";
  readonly value: ScalarValue;
  /** As it stands in the text, without quotes. */
  readonly text: string;
  readonly place: Place;
}

export interface YamlList {
  readonly kind: "list";
  readonly items: readonly YamlNode[];
  readonly place: Place;
}

export interface YamlEntry {
  readonly key: string;
  readonly keyPlace: Place;
  readonly value: YamlNode;
}

/** Keys are unique: of equal ones the last counts, and the others are in `duplicates`. */
export interface YamlMapping {
  readonly kind: "mapping";
  readonly entries: readonly YamlEntry[];
  readonly duplicates: readonly Duplicate[];
  readonly place: Place;
}

/** A key that was given before. */
export interface Duplicate {
  readonly key: string;
  readonly place: Place;
  readonly first: Place;
}

export type YamlNode = YamlScalar | YamlList | YamlMapping;

export interface YamlProblem {
  readonly place: Place;
  /** A clause that goes after the place. */
  readonly message: string;
}

export interface YamlDocument {
  /** Undefined when the document could not be understood. */
  readonly root: YamlNode | undefined;
  readonly problems: readonly YamlProblem[];
}

export interface YamlOptions {
  /** What the text is called in messages: a path, mostly. */
  readonly source: string;
  /** Where the text begins, when it is a part of another one; line 1, column 1 by default. */
  readonly start?: { readonly line: number; readonly column: number };
  /** How much there may be; the defaults suit files that people write. */
  readonly limits?: Partial<YamlLimits>;
}

export interface YamlLimits {
  readonly tokens: number;
  readonly nodes: number;
  readonly depth: number;
}

const defaultLimits: YamlLimits = { tokens: 100_000, nodes: 100_000, depth: 64 };

/** How many problems are shown at most. */
const maxProblems = 20;

/** Every document of the text, in order; a text without any gives none. */
export function readYaml(text: string, options: YamlOptions): YamlDocument[] {
  return new Reader(text, options).read();
}

/** UTF-8 as text, or why it is none. A byte order mark is left out. */
export function decodeText(bytes: Uint8Array, source: string): string | YamlProblem {
  const place = (offset: number): Place => {
    // A sequence that is cut off at the end is where the trouble begins: it must not count.
    const before = new TextDecoder().decode(bytes.subarray(0, offset), { stream: true });
    const lines = before.split("\n");
    return { source, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  };
  const control = bytes.findIndex((byte) =>
    byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d || byte === 0x7f
  );
  if (control >= 0) {
    const hex = bytes[control].toString(16).padStart(2, "0");
    return { place: place(control), message: `this is no text: it holds the byte 0x${hex}` };
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { place: place(firstInvalid(bytes)), message: "this is no UTF-8 text" };
  }
}

/** The value without places, as JSON would give it. */
export function plainValue(node: YamlNode): unknown {
  switch (node.kind) {
    case "scalar":
      return node.value;
    case "list":
      return node.items.map(plainValue);
    case "mapping":
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainValue(value)]));
  }
}

/** Offset of the first byte that is no UTF-8, found by halving. */
function firstInvalid(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    try {
      // `stream` lets a sequence be unfinished at the end.
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return good;
}

class Reader {
  readonly #text: string;
  readonly #options: YamlOptions;
  readonly #limits: YamlLimits;
  readonly #lines = new LineCounter();
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<unknown>();
  #nodes = 0;
  #problems: YamlProblem[] = [];
  /** Why the text as a whole is not read. */
  #refusal: YamlProblem | undefined;

  constructor(text: string, options: YamlOptions) {
    this.#text = text;
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  read(): YamlDocument[] {
    // Scalars are read by our own rules, and equal keys are ours to report.
    const composer = new Composer({ schema: "failsafe", uniqueKeys: false, prettyErrors: false });
    const documents: YamlDocument[] = [];
    for (const document of composer.compose(this.#tokens())) {
      documents.push(this.#document(document));
    }
    return this.#refusal ? [{ root: undefined, problems: [this.#refusal] }] : documents;
  }

  /** The parser recurses and slows down where the lexer does not: hostile text ends between them. */
  *#tokens(): Generator<CST.Token, void> {
    const parser = new Parser(this.#lines.addNewLine);
    this.#lines.addNewLine(0);
    let tokens = 0;
    let depth = 0;
    for (const token of new Lexer().lex(this.#text)) {
      if (token === "[" || token === "{") depth++;
      if (token === "]" || token === "}") depth--;
      const message = depth > this.#limits.depth
        ? this.#tooDeep()
        : ++tokens > this.#limits.tokens
        ? `there is more in this text than ${this.#limits.tokens} pieces`
        : undefined;
      if (message !== undefined) {
        this.#refusal = this.#problem(parser.offset, message);
        return;
      }
      yield* parser.next(token);
    }
    yield* parser.end();
  }

  #document(document: Document.Parsed): YamlDocument {
    this.#problems = [];
    this.#anchors.clear();
    for (const error of document.errors.slice(0, maxProblems)) {
      if (error.code === "RESOURCE_EXHAUSTION") {
        this.#problems = [this.#problem(error.pos[0], this.#tooDeep())];
        break;
      }
      this.#problems.push(this.#problem(error.pos[0], lowerFirst(error.message)));
    }
    if (this.#problems.length > 0) return { root: undefined, problems: this.#problems };
    const root = this.#node(document.contents, document.contents?.range[0] ?? 0, 0);
    return { root: this.#problems.length > 0 ? undefined : root, problems: this.#problems };
  }

  #node(node: Node | null, offset: number, depth: number): YamlNode {
    const place = this.#place(node?.range?.[0] ?? offset);
    const none: YamlScalar = { kind: "scalar", value: null, text: "", place };
    if (node === null || this.#exhausted(offset, depth)) return none;
    if (isAlias(node)) return this.#alias(node, place, depth);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node, place);
    this.#open.add(node);
    try {
      if (isSeq<Node>(node)) {
        const items = node.items.map((item) => this.#node(item, offset, depth + 1));
        return { kind: "list", items, place };
      }
      return isMap<Node, Node | null>(node) ? this.#mapping(node, place, depth) : none;
    } finally {
      this.#open.delete(node);
    }
  }

  #mapping(node: YAMLMap<Node, Node | null>, place: Place, depth: number): YamlMapping {
    const entries = new Map<string, YamlEntry>();
    const duplicates: Duplicate[] = [];
    const merged: YamlEntry[] = [];
    for (const { key, value } of node.items) {
      const offset = key.range?.[0] ?? 0;
      const keyPlace = this.#place(offset);
      if (!isScalar(key)) {
        this.#report(offset, "a key must be a single word");
        continue;
      }
      const name = key.source ?? String(key.value);
      const child = this.#node(value, key.range?.[1] ?? offset, depth + 1);
      if (name === "<<" && key.type === "PLAIN") {
        merged.push(...this.#merged(child));
        continue;
      }
      const first = entries.get(name);
      if (first) duplicates.push({ key: name, place: keyPlace, first: first.keyPlace });
      entries.set(name, { key: name, keyPlace, value: child });
    }
    for (const entry of merged) if (!entries.has(entry.key)) entries.set(entry.key, entry);
    return { kind: "mapping", entries: [...entries.values()], duplicates, place };
  }

  /** What `<<` brings: the entries of one mapping or of several, of which the first win. */
  #merged(node: YamlNode): readonly YamlEntry[] {
    if (node.kind === "mapping") return node.entries;
    if (node.kind === "list") return node.items.flatMap((item) => this.#merged(item));
    this.#problems.push({ place: node.place, message: '"<<" needs a mapping' });
    return [];
  }

  #alias(node: Alias, place: Place, depth: number): YamlNode {
    const target = this.#anchors.get(node.source);
    if (target && !this.#open.has(target)) {
      return { ...this.#node(target, node.range?.[0] ?? 0, depth), place };
    }
    const message = target
      ? `the alias *${node.source} stands inside what it names`
      : `there is no anchor &${node.source} before the alias *${node.source}`;
    this.#problems.push({ place, message });
    return { kind: "scalar", value: null, text: "", place };
  }

  #scalar(node: Scalar, place: Place): YamlScalar {
    const text = String(node.value ?? "");
    if (node.tag === undefined || node.tag === "!") {
      const plain = node.type === "PLAIN" && node.tag === undefined;
      return { kind: "scalar", value: plain ? readPlain(text) : text, text, place };
    }
    const value = readTagged(text, node.tag);
    if (value === undefined) {
      this.#problems.push({ place, message: `the tag ${node.tag} does not fit this value` });
    }
    return { kind: "scalar", value: value ?? null, text, place };
  }

  #exhausted(offset: number, depth: number): boolean {
    const message = depth > this.#limits.depth
      ? this.#tooDeep()
      : ++this.#nodes > this.#limits.nodes
      ? `with its aliases this text grows beyond ${this.#limits.nodes} values`
      : undefined;
    if (message === undefined) return false;
    if (!this.#problems.some((problem) => problem.message === message)) {
      this.#report(offset, message);
    }
    return true;
  }

  #tooDeep(): string {
    return `this is nested more than ${this.#limits.depth} levels deep`;
  }

  #report(offset: number, message: string): void {
    this.#problems.push(this.#problem(offset, message));
  }

  #problem(offset: number, message: string): YamlProblem {
    return { place: this.#place(offset), message };
  }

  #place(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    const start = this.#options.start ?? { line: 1, column: 1 };
    return {
      source: this.#options.source,
      line: start.line + Math.max(line, 1) - 1,
      column: start.column + Math.max(col, 1) - 1,
    };
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, "");
}
