/**
 * Writes netlink messages and their attributes into one growing buffer. Host order is little-endian
 * (see attributes.ts); methods that end in `be` write network order. The bytes between fields are
 * always written, so a reused buffer never leaks what it held before.
 */
import { HEADER_BYTES } from "./messages.ts";

const NESTED = 0x8000;
const MAX_ATTRIBUTE = 0xffff;

/** The header of a message that is being written. */
export interface MessageHeader {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
}

/** How attributes are written. */
export interface MessageWriterOptions {
  /** Whether nested attributes are marked as such, as requests have it; many of the kernel's answers do not. */
  readonly marksNested?: boolean;
}

/** Builds a list of messages: `begin`, attributes, `end`, and again. */
export class MessageWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView<ArrayBuffer>;
  #at = 0;
  #messageStart = 0;
  readonly #encoder = new TextEncoder();
  readonly #nested: number;

  constructor(capacity = 4096, { marksNested = true }: MessageWriterOptions = {}) {
    this.#nested = marksNested ? NESTED : 0;
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** How many bytes are written so far. */
  get length(): number {
    return this.#at;
  }

  /** The bytes written so far: a view, valid until more is written. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Forgets what is written and keeps the buffer. */
  reset(): void {
    this.#at = 0;
  }

  /** Starts a message; `family` is the fixed header behind nlmsghdr (genmsg, ifinfomsg, nfgenmsg, …). */
  begin(header: MessageHeader, family: Uint8Array): void {
    this.#reserve(HEADER_BYTES + family.length + 4);
    const at = this.#at;
    this.#messageStart = at;
    this.#view.setUint16(at + 4, header.type, true);
    this.#view.setUint16(at + 6, header.flags, true);
    this.#view.setUint32(at + 8, header.sequence, true);
    this.#view.setUint32(at + 12, 0, true);
    this.#bytes.set(family, at + HEADER_BYTES);
    this.#at = this.#pad(at + HEADER_BYTES + family.length);
  }

  /** Completes the message. */
  end(): void {
    this.#view.setUint32(this.#messageStart, this.#at - this.#messageStart, true);
  }

  /** Opens a nested attribute; give what it returns to `endNested`. */
  beginNested(type: number): number {
    this.#reserve(4);
    const start = this.#at;
    this.#view.setUint16(start + 2, type | this.#nested, true);
    this.#at = start + 4;
    return start;
  }

  /** Closes a nested attribute. Throws when it outgrew its 16-bit length. */
  endNested(start: number): void {
    const length = this.#at - start;
    if (length > MAX_ATTRIBUTE) throw tooLong(length);
    this.#view.setUint16(start, length, true);
  }

  u8(type: number, value: number): void {
    const at = this.#header(type, 1);
    this.#bytes[at] = value;
  }

  u16(type: number, value: number): void {
    const at = this.#header(type, 2);
    this.#view.setUint16(at, value, true);
  }

  u16be(type: number, value: number): void {
    const at = this.#header(type, 2);
    this.#view.setUint16(at, value, false);
  }

  u32(type: number, value: number): void {
    const at = this.#header(type, 4);
    this.#view.setUint32(at, value, true);
  }

  u32be(type: number, value: number): void {
    const at = this.#header(type, 4);
    this.#view.setUint32(at, value, false);
  }

  u64be(type: number, value: bigint): void {
    const at = this.#header(type, 8);
    this.#view.setBigUint64(at, value, false);
  }

  /** A zero-terminated string. */
  string(type: number, value: string): void {
    this.#reserve(value.length * 3 + 12);
    const start = this.#at;
    const written = this.#writeAscii(value, start + 4) ??
      this.#encoder.encodeInto(value, this.#bytes.subarray(start + 4)).written;
    const length = written + 5;
    if (length > MAX_ATTRIBUTE) throw tooLong(length);
    this.#bytes[start + 4 + written] = 0;
    this.#view.setUint16(start, length, true);
    this.#view.setUint16(start + 2, type, true);
    this.#at = this.#pad(start + length);
  }

  /** Names are ASCII, and there are hundreds of thousands. Undefined for any other text. */
  #writeAscii(value: string, at: number): number | undefined {
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return undefined;
      this.#bytes[at + i] = code;
    }
    return value.length;
  }

  /** Raw bytes: addresses, keys, structures, attributes copied from a dump. Zeros behind them make up the size. */
  raw(type: number, value: Uint8Array, size = value.length): void {
    const at = this.#header(type, size);
    this.#bytes.set(value, at);
    if (size > value.length) this.#bytes.fill(0, at + value.length, at + size);
  }

  /** An attribute without a value. */
  flag(type: number): void {
    this.#header(type, 0);
  }

  /**
   * Writes attribute header and padding, moves behind it, and returns where its value goes. May
   * replace the buffer: call it before reading `#bytes` or `#view`, not within their arguments.
   */
  #header(type: number, size: number): number {
    const length = size + 4;
    if (length > MAX_ATTRIBUTE) throw tooLong(length);
    this.#reserve(length + 4);
    const start = this.#at;
    this.#view.setUint16(start, length, true);
    this.#view.setUint16(start + 2, type, true);
    this.#at = this.#pad(start + length);
    return start + 4;
  }

  #pad(at: number): number {
    while ((at & 3) !== 0) this.#bytes[at++] = 0;
    return at;
  }

  #reserve(size: number): void {
    const needed = this.#at + size;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function tooLong(length: number): RangeError {
  return new RangeError(`Cannot write netlink attribute: ${length} bytes do not fit in 65535`);
}
