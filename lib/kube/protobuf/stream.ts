/**
 * Decodes bodies while they arrive, so that a list of tens of megabytes is never in memory as bytes
 * and objects at once. Bytes of an unfinished item wait for the next chunk.
 */
import { type ListMeta, magic, readListMeta } from "./envelope.ts";
import { MalformedMessageError, type TextCache } from "./reader.ts";

// An apiserver refuses objects above 3 MiB long before this; it only stops a liar's length.
const maxItemBytes = 64 * 1024 * 1024;

/** Bytes that arrived and are not used yet. */
class Backlog {
  #bytes: Uint8Array = new Uint8Array();
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Uint8Array): void {
    const left = this.length;
    if (left === 0) {
      // The common case: the chunk ends with an item, and nothing is copied.
      this.#bytes = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      return;
    }
    const joined = new Uint8Array(left + chunk.length);
    joined.set(this.#bytes.subarray(this.#start, this.#end));
    joined.set(chunk, left);
    this.#bytes = joined;
    this.#start = 0;
    this.#end = joined.length;
  }

  /** A view on the bytes from an offset on, without using them. */
  peek(offset: number, length: number): Uint8Array {
    return this.#bytes.subarray(this.#start + offset, this.#start + offset + length);
  }

  at(offset: number): number {
    return this.#bytes[this.#start + offset];
  }

  drop(length: number): void {
    this.#start += length;
  }
}

/** Cuts a watch into its frames. */
export class FrameSplitter {
  readonly #backlog = new Backlog();

  /** The contents of the frames that are complete now; views that hold until the next call. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    const backlog = this.#backlog;
    backlog.push(chunk);
    while (backlog.length >= 4) {
      const [a, b, c, d] = backlog.peek(0, 4);
      const length = (a << 24 | b << 16 | c << 8 | d) >>> 0;
      if (length > maxItemBytes) throw new MalformedMessageError(`a frame of ${length} bytes`);
      if (backlog.length < 4 + length) return;
      const frame = backlog.peek(4, length);
      backlog.drop(4 + length);
      yield frame;
    }
  }

  /** Bytes of a frame that never became complete. */
  get pending(): number {
    return this.#backlog.length;
  }
}

/** A field of a message whose end has arrived. */
interface Field {
  readonly number: number;
  readonly content: Uint8Array;
}

/** Decodes the items of a list as they arrive. */
export class ListSplitter {
  readonly #backlog = new Backlog();
  readonly #cache: TextCache;
  /** What is expected next: the magic, the envelope's fields, the list's own fields. */
  #state: "magic" | "envelope" | "list" | "done" = "magic";
  #listBytesLeft = 0;
  #meta: ListMeta = { resourceVersion: "", continueToken: "" };

  constructor(cache: TextCache) {
    this.#cache = cache;
  }

  /** The items that are complete now; views that hold until the next call. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    this.#backlog.push(chunk);
    if (this.#state === "magic") this.#readMagic();
    if (this.#state === "envelope") this.#readEnvelope();
    while (this.#state === "list") {
      if (this.#listBytesLeft === 0) {
        this.#state = "done";
        return;
      }
      const before = this.#backlog.length;
      const field = this.#takeField();
      if (!field) return;
      this.#listBytesLeft -= before - this.#backlog.length;
      if (this.#listBytesLeft < 0) {
        throw new MalformedMessageError("an item reaches beyond its list");
      }
      if (field.number === 1) this.#meta = readListMeta(field.content, this.#cache);
      else if (field.number === 2) yield field.content;
    }
  }

  /** The list's metadata; throws where the list is not complete. Call it after the last chunk. */
  end(): ListMeta {
    const complete = this.#state === "done" || this.#state === "list" && this.#listBytesLeft === 0;
    if (!complete) throw new MalformedMessageError("the list ends too early");
    return this.#meta;
  }

  #readMagic(): void {
    if (this.#backlog.length < magic.length) return;
    if (!magic.every((byte, i) => this.#backlog.at(i) === byte)) {
      throw new MalformedMessageError("it does not begin as the API's messages do");
    }
    this.#backlog.drop(magic.length);
    this.#state = "envelope";
  }

  /** Passes over the envelope's fields until its `raw`, field 2, begins. */
  #readEnvelope(): void {
    for (;;) {
      const head = this.#peekHead();
      if (!head) return;
      if (head.number === 2) {
        // Of the envelope's fields only this one is large; it is read item by item.
        this.#backlog.drop(head.bytes);
        this.#listBytesLeft = head.length;
        this.#state = "list";
        return;
      }
      if (!this.#takeField()) return;
    }
  }

  #takeField(): Field | undefined {
    const head = this.#peekHead();
    if (!head) return undefined;
    if (head.length > maxItemBytes) {
      throw new MalformedMessageError(`an item of ${head.length} bytes`);
    }
    if (this.#backlog.length < head.bytes + head.length) return undefined;
    const content = this.#backlog.peek(head.bytes, head.length);
    this.#backlog.drop(head.bytes + head.length);
    return { number: head.number, content };
  }

  /** Tag and length of the next field, once both have arrived. */
  #peekHead(): { number: number; length: number; bytes: number } | undefined {
    const tag = this.#peekVarint(0);
    if (!tag) return undefined;
    const number = Math.floor(tag.value / 8);
    const wire = tag.value & 7;
    if (wire === 1 || wire === 5) return { number, length: wire === 1 ? 8 : 4, bytes: tag.bytes };
    const value = this.#peekVarint(tag.bytes);
    if (!value) return undefined;
    if (wire === 0) return { number, length: value.bytes, bytes: tag.bytes };
    if (wire === 2) return { number, length: value.value, bytes: tag.bytes + value.bytes };
    throw new MalformedMessageError(`wire type ${wire}`);
  }

  #peekVarint(offset: number): { value: number; bytes: number } | undefined {
    let value = 0;
    for (let bytes = 0; bytes < 10; bytes++) {
      if (offset + bytes >= this.#backlog.length) return undefined;
      const byte = this.#backlog.at(offset + bytes);
      value += (byte & 0x7f) * 2 ** (7 * bytes);
      if (byte < 0x80) return { value, bytes: bytes + 1 };
    }
    throw new MalformedMessageError("a number of more than ten bytes");
  }
}
