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

  /** The text of the ASCII bytes, the same string as before where that is still known. */
  text(bytes: Uint8Array, range: { readonly start: number; readonly end: number }): string {
    const { start, end } = range;
    let hash = end - start;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]) | 0;
    const slot = (hash ^ (hash >>> 15)) & (internSlots - 1);
    const known = this.#slots[slot];
    if (known !== undefined && equals(known, bytes.subarray(start, end))) return known;
    const text = utf8.decode(bytes.subarray(start, end));
    this.#slots[slot] = text;
    return text;
  }
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
    if (end - start > shortText) return utf8.decode(this.#bytes.subarray(start, end));
    const bytes = this.#bytes.subarray(start, end);
    for (let i = start; i < end; i++) if (this.#bytes[i] > 0x7f) return utf8.decode(bytes);
    // Put together one by one, longer texts would stay chains of parts, which take more memory.
    return Reflect.apply(String.fromCharCode, null, bytes);
  }

  /** A string that many objects share, such as a namespace: equal texts are mostly one string. */
  sharedText(): string {
    const end = this.enter();
    const start = this.#position;
    this.#position = end;
    return this.#cache.text(this.#bytes, { start, end });
  }

  /** An int32 or enum; protobuf writes negative ones as ten bytes. */
  int32(): number {
    this.#expect(varint);
    return this.#varint() | 0;
  }

  /** An int64 as a number: exact up to 2^53, which is enough for seconds. */
  int64(): number {
    this.#expect(varint);
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
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

function equals(text: string, bytes: Uint8Array): boolean {
  if (text.length !== bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) if (text.charCodeAt(i) !== bytes[i]) return false;
  return true;
}
