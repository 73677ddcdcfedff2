/**
 * Reads protobuf messages field by field, without a schema and without copies. It is total: fields
 * nobody asks for are skipped whatever their wire type, and bytes that are no message, or end too
 * early, are one `MalformedMessageError`, never a wrong value or a read past the end.
 *
 *   const end = reader.enter();
 *   for (let field = reader.next(end); field !== 0; field = reader.next(end)) { switch (field) ... }
 */

/** The bytes are not what their content type says. */
export class MalformedMessageError extends SyntaxError {
  constructor(cause: string) {
    super(`Cannot decode a protobuf message: ${cause}`);
    this.name = "MalformedMessageError";
  }
}

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

// Longer text goes to TextDecoder, which costs a call into native code.
const shortText = 48;
const internSlots = 4096;

const utf8 = new TextDecoder();

/**
 * A bounded memory of texts, so that equal names in thousands of objects are one string. A slot
 * holds the latest text of its hash: there is nothing to grow and nothing to clear.
 */
export class TextCache {
  readonly #slots: (string | undefined)[] = new Array(internSlots).fill(undefined);

  readonly #codes: readonly number[][] = Array.from(
    { length: shortText + 1 },
    (_, length) => new Array(length).fill(0),
  );

  /** The text of the bytes, the same string as before where that is still known. */
  shared(bytes: Uint8Array, { start, end }: Range): string {
    let hash = end - start;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]) | 0;
    const slot = (hash ^ (hash >>> 15)) & (internSlots - 1);
    const known = this.#slots[slot];
    if (known !== undefined && equals(known, bytes, { start, end })) return known;
    const text = this.fresh(bytes, { start, end });
    this.#slots[slot] = text;
    return text;
  }

  /** The text of the bytes as a string of its own. */
  fresh(bytes: Uint8Array, { start, end }: Range): string {
    const length = end - start;
    if (length > shortText) return utf8.decode(bytes.subarray(start, end));
    // Of all ways to make a short string, a call with a plain array is the cheapest: views on the
    // bytes are objects too, and texts put together piece by piece stay chains, which take memory.
    const codes = this.#codes[length];
    for (let i = 0; i < length; i++) {
      const byte = bytes[start + i];
      if (byte > 0x7f) return utf8.decode(bytes.subarray(start, end));
      codes[i] = byte;
    }
    return Reflect.apply(String.fromCharCode, null, codes);
  }
}

/** Part of a buffer. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** A cursor over one buffer. Methods that read a value consume the field `next` announced. */
export class Reader {
  readonly #bytes: Uint8Array;
  readonly #cache: TextCache;
  #position: number;
  #end: number;
  #wire = varint;

  constructor(bytes: Uint8Array, cache: TextCache) {
    this.#bytes = bytes;
    this.#cache = cache;
    this.#position = 0;
    this.#end = bytes.length;
  }

  /** Where the whole buffer ends: the limit for `next` at the outermost message. */
  get length(): number {
    return this.#end;
  }

  /** The number of the next field before `end`, or 0 where the message is over. */
  next(end: number): number {
    if (this.#position >= end) {
      if (this.#position > end) {
        throw new MalformedMessageError("a field reaches beyond its message");
      }
      return 0;
    }
    const tag = this.#varint();
    this.#wire = tag & 7;
    const field = tag >>> 3;
    if (field === 0) throw new MalformedMessageError("field number 0");
    return field;
  }

  /** Passes over the value of a field that nobody reads. */
  skip(): void {
    switch (this.#wire) {
      case varint:
        this.#varint();
        return;
      case fixed64:
        return this.#advance(8);
      case lengthDelimited:
        return this.#advance(this.#varint());
      case fixed32:
        return this.#advance(4);
      default:
        throw new MalformedMessageError(`wire type ${this.#wire}`);
    }
  }

  /** Goes into a nested message and says where it ends. */
  enter(): number {
    this.#expect(lengthDelimited);
    const length = this.#varint();
    const end = this.#position + length;
    if (end > this.#end) throw new MalformedMessageError("it ends too early");
    return end;
  }

  /** A bytes field as a view on the buffer. */
  bytes(): Uint8Array {
    const end = this.enter();
    const start = this.#position;
    this.#position = end;
    return this.#bytes.subarray(start, end);
  }

  /** A string that is mostly unique, such as an object's name or address. */
  text(): string {
    const end = this.enter();
    const start = this.#position;
    this.#position = end;
    return this.#cache.fresh(this.#bytes, { start, end });
  }

  /** A string that many objects share, such as a namespace: equal texts are mostly one string. */
  sharedText(): string {
    const end = this.enter();
    const start = this.#position;
    this.#position = end;
    return this.#cache.shared(this.#bytes, { start, end });
  }

  /** An int32 or enum; protobuf writes negative ones as ten bytes. */
  int32(): number {
    this.#expect(varint);
    return this.#varint() | 0;
  }

  /** An int64 as a number: exact up to 2^53, which is enough for seconds. */
  int64(): number {
    this.#expect(varint);
    // In three parts, because the operators work on 32 bits and BigInt costs a call for each byte.
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i < 8) middle |= bits << (7 * (i - 4));
      else high |= bits << (7 * (i - 8));
      if (byte < 0x80) return ((high << 24 >> 24) * 2 ** 28 + middle) * 2 ** 28 + low;
    }
    throw new MalformedMessageError("a number of more than ten bytes");
  }

  bool(): boolean {
    this.#expect(varint);
    return this.#varint() !== 0;
  }

  /** The low 32 bits, unsigned. */
  #varint(): number {
    let byte = this.#byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 70; shift += 7) {
      byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedMessageError("a number of more than ten bytes");
  }

  #byte(): number {
    if (this.#position >= this.#end) throw new MalformedMessageError("it ends too early");
    return this.#bytes[this.#position++];
  }

  #advance(length: number): void {
    this.#position += length;
    if (this.#position > this.#end) throw new MalformedMessageError("it ends too early");
  }

  #expect(wire: number): void {
    if (this.#wire !== wire) {
      throw new MalformedMessageError(`wire type ${this.#wire} where ${wire} belongs`);
    }
  }
}

function equals(text: string, bytes: Uint8Array, { start, end }: Range): boolean {
  if (text.length !== end - start) return false;
  for (let i = start; i < end; i++) if (text.charCodeAt(i - start) !== bytes[i]) return false;
  return true;
}
