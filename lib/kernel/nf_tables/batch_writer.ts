/**
 * Frames one nf_tables batch: a begin, any number of messages, an end. It keeps which message stands
 * for which operation of its caller, so that a refusal of the kernel names its cause.
 */
import { MessageFlag } from "../netlink/messages.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { BATCH_GENMSG, BatchAttr, Msg } from "./wire.ts";

/** One message of the batch. */
export interface BatchMessage {
  /** Index into the caller's operations; -1 for the batch's own begin and end. */
  readonly operation: number;
  /** Where the message starts in the bytes. */
  readonly start: number;
  /** Element messages: index of the first element in the operation. */
  readonly firstElement?: number;
}

/** A batch ready to be sent in one piece. `messages[n]` has the sequence number n. */
export interface FramedBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly messages: readonly BatchMessage[];
}

/** What a message starts with. */
export interface BatchMessageHeader {
  /** See `Msg`. */
  readonly type: number;
  /** `NLM_F_REQUEST` is added. */
  readonly flags: number;
  /** `struct nfgenmsg`: see `genmsg`. */
  readonly genmsg: Uint8Array;
  /** What the message stands for. */
  readonly operation: number;
  readonly firstElement?: number;
}

/** How a batch starts. */
export interface BatchWriterOptions {
  /** Room for the whole batch, as a rule: growing copies what is written. */
  readonly capacity?: number;
  /** The kernel refuses the batch when the ruleset has moved on. */
  readonly generation?: number;
}

/** Writes messages one after the other: `begin`, attributes by `writer`, `end`; at last `finish`. */
export class BatchWriter {
  /** Writes the attributes of the message that was begun. */
  readonly writer: MessageWriter;
  readonly #messages: BatchMessage[] = [];

  constructor({ capacity, generation }: BatchWriterOptions = {}) {
    this.writer = new MessageWriter(capacity);
    this.begin({ type: Msg.batchBegin, flags: 0, genmsg: BATCH_GENMSG, operation: -1 });
    if (generation !== undefined) this.writer.u32be(BatchAttr.genId, generation);
    this.end();
  }

  /** Starts a message. */
  begin({ type, flags, genmsg, operation, firstElement }: BatchMessageHeader): void {
    const sequence = this.#messages.length;
    const start = this.writer.length;
    this.#messages.push(
      firstElement === undefined ? { operation, start } : { operation, start, firstElement },
    );
    this.writer.begin({ type, flags: flags | MessageFlag.request, sequence }, genmsg);
  }

  /** Completes the message. */
  end(): void {
    this.writer.end();
  }

  /** Completes the batch. */
  finish(): FramedBatch {
    this.begin({ type: Msg.batchEnd, flags: 0, genmsg: BATCH_GENMSG, operation: -1 });
    this.end();
    return { bytes: this.writer.bytes(), messages: this.#messages };
  }
}
