/**
 * Finds where a value stands in JSON text. Parsing keeps no positions, which is what makes it fast;
 * only whoever has an error to report pays for finding its place.
 */

/** Lines and columns count from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * Where the value at the path begins; where the path leads to nothing, its nearest parent. The text
 * is one that `JSON.parse` accepts.
 */
export function placeInJson(text: string, path: readonly (string | number)[]): TextPlace {
  const scanner = new JsonScanner(text);
  scanner.skipSpace();
  let found = scanner.offset;
  for (const step of path) {
    if (!scanner.enter(step)) break;
    found = scanner.offset;
  }
  return placeOfOffset(text, found);
}

/** Line and column of an offset into the text. */
export function placeOfOffset(text: string, offset: number): TextPlace {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

class JsonScanner {
  readonly #text: string;
  offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.offset))) this.offset++;
  }

  /** Moves from the beginning of a container to that of its member. False leaves it anywhere. */
  enter(step: string | number): boolean {
    return typeof step === "number" ? this.#enterItem(step) : this.#enterField(step);
  }

  #enterItem(index: number): boolean {
    if (this.#text[this.offset] !== "[") return false;
    this.offset++;
    this.skipSpace();
    if (this.#text[this.offset] === "]") return false;
    for (let i = 0; i < index; i++) if (!this.#skipMember("]")) return false;
    return true;
  }

  #enterField(name: string): boolean {
    if (this.#text[this.offset] !== "{") return false;
    this.offset++;
    this.skipSpace();
    let last = -1;
    let more = this.#text[this.offset] !== "}";
    while (more) {
      const start = this.offset;
      this.#skipString();
      const key: unknown = JSON.parse(this.#text.slice(start, this.offset));
      this.skipSpace();
      this.offset++; // The colon.
      this.skipSpace();
      // Of equal keys the last one counts.
      if (key === name) last = this.offset;
      more = this.#skipMember("}");
    }
    if (last >= 0) this.offset = last;
    return last >= 0;
  }

  /** Skips a value and the comma behind it. False when the container ends there. */
  #skipMember(end: "]" | "}"): boolean {
    this.#skipValue();
    this.skipSpace();
    const ended = this.#text[this.offset] === end;
    this.offset++;
    this.skipSpace();
    return !ended;
  }

  #skipValue(): void {
    let depth = 0;
    do {
      const character = this.#text[this.offset];
      if (character === '"') {
        this.#skipString();
        continue;
      }
      if (character === "{" || character === "[") depth++;
      else if (character === "}" || character === "]") depth--;
      else if (depth === 0) {
        while (this.offset < this.#text.length && !/[\s,\]}]/.test(this.#text[this.offset])) {
          this.offset++;
        }
        return;
      }
      this.offset++;
    } while (depth > 0 && this.offset < this.#text.length);
  }

  #skipString(): void {
    this.offset++;
    while (this.offset < this.#text.length && this.#text[this.offset] !== '"') {
      this.offset += this.#text[this.offset] === "\\" ? 2 : 1;
    }
    this.offset++;
  }
}
