/**
 * A number for many answers of nf_tables, made of a few of their attributes: what did not change need
 * not be handed from thread to thread, nor decoded.
 */
import { forEachAttribute } from "../netlink/attributes.ts";

/** What of the answers the number is made of. */
export interface DigestOptions {
  /** Their numbers. */
  readonly attributes: readonly number[];
  /** The one of them that is a list of expressions, of which no counter counts. */
  readonly expressions?: number;
  /** Answers whose attribute has another text than these do not count. */
  readonly only?: { readonly attribute: number; readonly texts: readonly string[] };
}

/** A part of a payload. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** `struct nfgenmsg`, in which the generation is. */
const HEADER_BYTES = 4;
/** An expression begins with its name, behind the header of that. */
const NAME_AT = 4;
const encoder = new TextEncoder();
const counter = encoder.encode("counter\0");

/** Two hashes of 32 bits, of which 53 bits are kept. */
export class AnswerDigest {
  readonly #attributes: ReadonlySet<number>;
  readonly #expressions: number | undefined;
  readonly #filter:
    | { readonly attribute: number; readonly texts: readonly Uint8Array[] }
    | undefined;
  #first = 0x811c9dc5;
  #second = 0x9747b28c;

  constructor({ attributes, expressions, only }: DigestOptions) {
    this.#attributes = new Set(attributes);
    this.#expressions = expressions;
    this.#filter = only && {
      attribute: only.attribute,
      texts: only.texts.map((text) => encoder.encode(`${text}\0`)),
    };
  }

  /** Takes an answer's payload, in its turn. */
  add(payload: Uint8Array): void {
    const whole = { from: HEADER_BYTES, to: payload.length };
    const filter = this.#filter;
    if (filter) {
      const at = findAttribute(payload, { ...whole, wanted: filter.attribute });
      if (!filter.texts.some((text) => holdsAt(payload, { at, text }))) return;
    }
    visitAttributes(payload, whole, (type, from, to) => {
      if (!this.#attributes.has(type)) return;
      if (type === this.#expressions) this.#addExpressions(payload, { from, to });
      else this.#mix(payload, { type, from, to });
    });
  }

  /** The number: equal for equal answers in equal order. */
  get value(): number {
    return (this.#first >>> 0) * 0x20_0000 + (this.#second >>> 11);
  }

  #addExpressions(payload: Uint8Array, list: Range): void {
    visitAttributes(payload, list, (type, from, to) => {
      const isCounter = holdsAt(payload, { at: from + NAME_AT, text: counter });
      if (!isCounter) this.#mix(payload, { type, from, to });
    });
  }

  #mix(bytes: Uint8Array, { from, to, type }: Range & { readonly type: number }): void {
    let [first, second] = [this.#first, this.#second];
    const take = (word: number) => {
      first = Math.imul(first ^ word, 0x01000193);
      first ^= first >>> 13;
      second = Math.imul(second ^ word, 0x5bd1e995);
      second ^= second >>> 15;
    };
    take(type << 16 | (to - from));
    // Four at once: it may be a hundred megabytes. What is behind the end is the padding of the last.
    for (let at = from; at < to; at += 4) {
      take(bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | bytes[at + 3] << 24);
    }
    this.#first = first;
    this.#second = second;
  }
}

/** Where the value of the attribute begins; past the end where there is none. */
function findAttribute(
  payload: Uint8Array,
  { wanted, ...range }: Range & { readonly wanted: number },
): number {
  let found = payload.length;
  visitAttributes(payload, range, (type, from) => {
    if (type !== wanted) return true;
    found = from;
    return false;
  });
  return found;
}

function holdsAt(
  payload: Uint8Array,
  { at, text }: { readonly at: number; readonly text: Uint8Array },
): boolean {
  for (let i = 0; i < text.length; i++) if (payload[at + i] !== text[i]) return false;
  return true;
}

/** Without a view of each value: there are hundreds of thousands. Ends where `visit` answers false. */
function visitAttributes(
  payload: Uint8Array,
  { from, to }: Range,
  visit: (type: number, from: number, to: number) => boolean | void,
): void {
  let at = from;
  while (at + 4 <= to) {
    const length = payload[at] | (payload[at + 1] << 8);
    // Says what is wrong with it.
    if (length < 4 || at + length > to) forEachAttribute(payload.subarray(at, to), () => {});
    const type = (payload[at + 2] | (payload[at + 3] << 8)) & 0x3fff;
    if (visit(type, at + 4, at + length) === false) return;
    at += (length + 3) & ~3;
  }
}
