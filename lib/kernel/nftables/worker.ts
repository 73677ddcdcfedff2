/// <reference lib="deno.worker" />
/**
 * The worker that owns the nf_tables socket. It is opened on request, so that a refusal of the kernel
 * reaches the owner as an error and does not end the worker.
 */
import { NetlinkError } from "../netlink/errors.ts";
import { DirectTransport } from "./direct_transport.ts";
import {
  packPayloads,
  type WorkerAnswer,
  type WorkerFailure,
  type WorkerRequest,
} from "./worker_messages.ts";

serve();

function serve(): void {
  let transport: DirectTransport | undefined;
  const opened = (): DirectTransport => transport ??= new DirectTransport();

  self.onmessage = async ({ data: request }: MessageEvent<WorkerRequest>) => {
    try {
      if (request.kind === "close") {
        transport?.close();
        transport = undefined;
        answer({ kind: "done", id: request.id });
      } else {
        await handle(opened(), request);
      }
    } catch (error) {
      answer({ kind: "failed", id: request.id, failure: failureOf(error) });
    }
  };
}

async function handle(
  transport: DirectTransport,
  request: Exclude<WorkerRequest, { kind: "close" }>,
): Promise<void> {
  const { id } = request;
  switch (request.kind) {
    case "open":
      return answer({ kind: "done", id });
    case "commit": {
      const result = await transport.commit(request.bytes);
      return answer({ kind: "committed", id, result }, [result.bytes.buffer]);
    }
    case "query": {
      const payloads = packPayloads(await transport.query(request.query));
      return answer({ kind: "payloads", id, payloads }, [
        payloads.bytes.buffer,
        payloads.lengths.buffer,
      ]);
    }
    case "compare": {
      const difference = await transport.compare(request.query, request.desired);
      return answer({ kind: "compared", id, difference }, [
        difference.extra.buffer,
        difference.missing.buffer,
      ]);
    }
  }
}

function answer(message: WorkerAnswer, transfer: Transferable[] = []): void {
  self.postMessage(message, transfer);
}

function failureOf(error: unknown): WorkerFailure {
  if (error instanceof NetlinkError) {
    const { op, errno, kernelMessage } = error;
    return {
      kind: "netlink",
      options: { op, errno, ...(kernelMessage !== undefined && { kernelMessage }) },
    };
  }
  return { kind: "other", message: error instanceof Error ? error.message : String(error) };
}
