/** Sends a framed batch and says what became of it: a receipt, or which operations were refused. */
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import type { NetlinkAnswer } from "../netlink/messages.ts";
import type { FramedBatch } from "./batch_writer.ts";
import { blame } from "./blame.ts";
import { type BatchFailure, failureText, NfTablesError } from "./errors.ts";
import type { CommitEcho, CommitReceipt, CommitSeries, NfTransport } from "./transport.ts";

/** How a batch is sent, and how people are told that it was refused. */
export interface CommitBatchOptions {
  /** Names an operation (and element), or for -1 the whole batch, so that it completes "Cannot …". */
  readonly describe: (failure: BatchFailure) => string;
  /** A batch behind a refused one of the same series is not sent, and fails too. */
  readonly series?: CommitSeries;
}

/** What a committed batch gives. */
export interface Committed {
  readonly receipt: CommitReceipt;
  /** Payloads of the messages that asked to be echoed, each with its operation. */
  readonly echoes: readonly (Omit<CommitEcho, "sequence"> & { readonly operation: number })[];
}

/**
 * All of the batch takes effect at once, or nothing of it: then `NfTablesError` names each refused
 * operation. The batch's bytes are handed over and must not be used again. The batch is on its way
 * when this returns, so that the next one of a series may be handed over before it is awaited.
 */
export async function commitBatch(
  transport: NfTransport,
  batch: FramedBatch,
  { describe, series }: CommitBatchOptions,
): Promise<Committed> {
  try {
    const result = await transport.commit(batch.bytes, series);
    if (result.kind === "applied") {
      // Megabytes each, which would wait for the engine to look for garbage.
      result.bytes.buffer.transfer(0);
      const echoes = result.echoes.map(({ payload, sequence, type }) => ({
        operation: batch.messages[sequence]?.operation ?? -1,
        payload,
        type,
      }));
      return { receipt: result.receipt, echoes };
    }
    if (result.kind === "skipped") throw skipped(describe);
    const { bytes, refusals } = result;
    const failures = refusals.map((refusal) => failureOf(refusal, { ...batch, bytes }));
    throw new NfTablesError(failures, describe);
  } catch (error) {
    if (!hasErrno(error, Errno.EMSGSIZE)) throw error;
    // The socket did not take the batch: as good as a refusal, and a smaller one may pass.
    const { errno } = error;
    throw new NfTablesError([{ operation: -1, errno, message: failureText(errno, {}) }], describe);
  }
}

function skipped(describe: CommitBatchOptions["describe"]): Error {
  const whole = describe({ operation: -1, errno: 0, message: "" });
  return new Error(`Cannot ${whole}: a batch that this one builds on was refused`);
}

function failureOf(refusal: NetlinkAnswer, batch: FramedBatch): BatchFailure {
  const { errno, kernelMessage, offset, sequence } = refusal;
  const message = batch.messages[sequence];
  const { element, expression } = message ? blame(batch.bytes, message, offset) : {};
  return {
    operation: message?.operation ?? -1,
    ...(element !== undefined && { element }),
    errno,
    message: failureText(errno, {
      ...(kernelMessage !== undefined && { kernelMessage }),
      ...(expression !== undefined && { expression }),
    }),
  };
}
