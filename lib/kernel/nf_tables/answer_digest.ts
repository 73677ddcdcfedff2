/**
 * A number for many answers of nf_tables, made of a few of their attributes: what did not change need
 * not be handed from thread to thread, nor decoded.
 */
import { type AttributeRange as Range, visitAttributes } from "../netlink/attributes.ts";

/** What of the answers the number is made of. */
export interface DigestOptions {
  /** Their numbers. */
  readonly attributes: readonly number[];
  /** The one of them that is a list of expressions, of which no counter counts. */
  readonly expressions?: number;
  /** Answers whose attribute has another text than these do not count. */
  readonly only?: { readonly attribute: number; readonly texts: readonly string[] };
  /**
   * The number is that of the answers up to the last one whose attribute has one of these texts; that
   * of all answers where one of the texts never came.
   */
  readonly through?: { readonly attribute: number; readonly texts: readonly string[] };
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
  readonly #filter: EncodedTexts | undefined;
  readonly #through: EncodedTexts | undefined;
  /** The texts of `through` that came. */
  readonly #seen = new Set<number>();
  /** The number behind the last of them. */
  #reached = 0;
  #first = 0x811c9dc5;
  #second = 0x9747b28c;

  constructor({ attributes, expressions, only, through }: DigestOptions) {
    this.#attributes = new Set(attributes);
    this.#expressions = expressions;
    this.#filter = only && encodeTexts(only);
    this.#through = through && encodeTexts(through);
  }

  /** Takes an answer's payload, in its turn. */
  add(payload: Uint8Array): void {
    const whole = { from: HEADER_BYTES, to: payload.length };
    if (this.#filter && indexOfText(payload, this.#filter) < 0) return;
    visitAttributes(payload, whole, (type, from, to) => {
      if (!this.#attributes.has(type)) return;
      if (type === this.#expressions) this.#addExpressions(payload, { from, to });
      else this.#mix(payload, { type, from, to });
    });
    if (!this.#through) return;
    const index = indexOfText(payload, this.#through);
    if (index < 0) return;
    this.#seen.add(index);
    this.#reached = this.#mixed;
  }

  /** The number: equal for equal answers in equal order. */
  get value(): number {
    return this.#through && this.#seen.size === this.#through.texts.length
      ? this.#reached
      : this.#mixed;
  }

  get #mixed(): number {
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

interface EncodedTexts {
  readonly attribute: number;
  readonly texts: readonly Uint8Array[];
}

function encodeTexts(
  { attribute, texts }: { readonly attribute: number; readonly texts: readonly string[] },
): EncodedTexts {
  return { attribute, texts: texts.map((text) => encoder.encode(`${text}\0`)) };
}

/** Which of the texts an answer has; -1 for none of them. */
function indexOfText(payload: Uint8Array, { attribute, texts }: EncodedTexts): number {
  const whole = { from: HEADER_BYTES, to: payload.length };
  const at = findAttribute(payload, { ...whole, wanted: attribute });
  return texts.findIndex((text) => holdsAt(payload, { at, text }));
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
