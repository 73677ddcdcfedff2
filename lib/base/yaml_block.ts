/**
 * The YAML that programs print (kubectl, Go's marshaller), read ten times faster than any YAML: block
 * mappings and lists, one scalar a line, plain or in simple quotes. Whatever else stands in a text
 * leaves it to `readYaml`, which knows all of YAML and says what is wrong.
 */
import { readPlain } from "./yaml_scalar.ts";

/** A text that is as plain as that, and its value. */
export interface BlockYaml {
  readonly value: Readonly<Record<string, unknown>>;
}

/** The one document of the text, with the value that `readYaml` gives; undefined when it is not that plain. */
export function readBlockYaml(text: string): BlockYaml | undefined {
  try {
    const lines = new Lines(text);
    const first = lines.next();
    if (!first || first.dash >= 0) return undefined;
    const value = readMapping(lines, first, 0);
    return lines.peek() ? undefined : { value };
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

/** Hostile texts are for those who count. */
const maxDepth = 32;
/** Longer lines are for those who need no backtracking. */
const maxScalar = 1024;

class NotPlain extends Error {}

/** A line that holds something. */
interface Line {
  /** The column of the item's dash; -1 where there is none. */
  readonly dash: number;
  /** The column of the key or the scalar, behind the dash. */
  readonly indent: number;
  /** Undefined where a scalar stands alone. */
  readonly key: string | undefined;
  /** Empty behind a key whose value follows below. */
  readonly rest: string;
}

const lineContent = /( *)(?:(- +)?(?:([A-Za-z0-9_][A-Za-z0-9_./-]*):(?: +(.*))?|(.+)))?$/my;
/** No indicator at the start, no `: ` and no ` #` within, no space at the end. */
const plainScalar =
  /^(?:[A-Za-z0-9_./~+]|-(?=[A-Za-z0-9.]))(?:[A-Za-z0-9_./~+=@%()<>,;*&!?$^|'"[\]{}\\-]|:(?=[A-Za-z0-9_./:-])| (?=[A-Za-z0-9_./(-]))*$/;
const quotedScalar = /^(?:"([ !#-[\]-~]*)"|'([ -&(-~]*)')$/;

class Lines {
  readonly #text: string;
  readonly #pattern = new RegExp(lineContent);
  #offset: number;
  #ahead: Line | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#offset = /^---[ ]*\n/.exec(text)?.[0].length ?? 0;
  }

  peek(): Line | undefined {
    return this.#ahead ??= this.#read();
  }

  next(): Line | undefined {
    const line = this.peek();
    this.#ahead = undefined;
    return line;
  }

  #read(): Line | undefined {
    while (this.#offset < this.#text.length) {
      this.#pattern.lastIndex = this.#offset;
      const match = this.#pattern.exec(this.#text);
      if (!match) throw new NotPlain();
      const [whole, { length: spaces }, dash = "", key, rest = "", alone] = match;
      this.#offset += whole.length;
      // What a regular expression takes for the end of a line need not be one in YAML.
      if (this.#offset < this.#text.length && this.#text[this.#offset] !== "\n") {
        throw new NotPlain();
      }
      this.#offset++;
      if (whole.length === spaces || dash === "" && alone?.startsWith("#")) continue;
      return {
        dash: dash === "" ? -1 : spaces,
        indent: spaces + dash.length,
        key,
        rest: alone ?? rest,
      };
    }
    return undefined;
  }
}

/** A mapping whose first line was taken already. */
function readMapping(lines: Lines, first: Line, depth: number): Record<string, unknown> {
  if (depth > maxDepth) throw new NotPlain();
  const mapping: Record<string, unknown> = {};
  for (let line = first;;) {
    const { key, rest } = line;
    // Two equal keys are an error that wants its place.
    if (key === undefined || key === "__proto__" || Object.hasOwn(mapping, key)) {
      throw new NotPlain();
    }
    mapping[key] = rest === "" ? readBelow(lines, { indent: first.indent, depth }) : scalarOf(rest);
    const following = lines.peek();
    if (!following || following.dash >= 0 || following.indent < first.indent) return mapping;
    if (following.indent > first.indent) throw new NotPlain();
    line = following;
    lines.next();
  }
}

interface Above {
  readonly indent: number;
  readonly depth: number;
}

/** The value of a key that has none on its own line. */
function readBelow(lines: Lines, { indent, depth }: Above): unknown {
  const line = lines.peek();
  // The items of a list may stand as deep as its key.
  if (line && line.dash >= indent) return readList(lines, { indent: line.dash, depth: depth + 1 });
  if (!line || line.dash >= 0 || line.indent <= indent) return null;
  lines.next();
  return readMapping(lines, line, depth + 1);
}

function readList(lines: Lines, { indent, depth }: Above): unknown[] {
  const items: unknown[] = [];
  for (;;) {
    const line = lines.peek();
    if (!line || line.dash < indent) return items;
    if (line.dash > indent) throw new NotPlain();
    lines.next();
    items.push(line.key === undefined ? scalarOf(line.rest) : readMapping(lines, line, depth + 1));
  }
}

function scalarOf(text: string): unknown {
  if (text === "{}") return {};
  if (text === "[]") return [];
  if (text.length > maxScalar) throw new NotPlain();
  if (plainScalar.test(text)) return readPlain(text);
  const quoted = quotedScalar.exec(text);
  if (!quoted) throw new NotPlain();
  return quoted[1] ?? quoted[2];
}
