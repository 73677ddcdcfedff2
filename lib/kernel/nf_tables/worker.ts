/// <reference lib="deno.worker" />
/**
 * The worker that owns the nf_tables socket. It is opened on request, so that a refusal of the kernel
 * reaches the owner as an error and does not end the worker.
 */
import { NetlinkError } from "../netlink/errors.ts";
import { DirectTransport } from "./direct_transport.ts";
import type { NfQuery } from "./transport.ts";
import type { WorkerAnswer, WorkerFailure, WorkerRequest } from "./worker_messages.ts";

serve();

function serve(): void {
  let server: Server | undefined;

  self.onmessage = ({ data: request }: MessageEvent<WorkerRequest>) => {
    if (request.kind === "close") {
      server?.close();
      Atomics.store(request.closed, 0, 1);
      Atomics.notify(request.closed, 0);
      return;
    }
    try {
      (server ??= new Server()).handle(request);
    } catch (error) {
      answer({ kind: "failed", id: request.id, failure: failureOf(error) });
    }
  };
}

/** What a dump gave, kept until what it is compared with is there. */
type Dumped =
  | { readonly kind: "elements"; readonly elements: Uint8Array; readonly query: NfQuery }
  | { readonly kind: "failed"; readonly error: unknown };

class Server {
  readonly #transport = new DirectTransport();
  readonly #dumped = new Map<number, Dumped>();

  close(): void {
    this.#transport.close();
  }

  handle(request: Exclude<WorkerRequest, { readonly kind: "close" }>): void {
    const { id } = request;
    switch (request.kind) {
      case "open":
        return answer({ kind: "done", id });
      case "commit": {
        const result = this.#transport.commitNumbered(request.bytes, request.series);
        return answer({ kind: "committed", id, result }, [result.bytes.buffer]);
      }
      case "query": {
        const payloads = this.#transport.packedPayloads(request.query);
        return answer({ kind: "payloads", id, payloads }, [
          payloads.bytes.buffer,
          payloads.lengths.buffer,
        ]);
      }
      case "query-each": {
        const groups = this.#transport.packedPayloadsOfEach(request.queries);
        const { counts, payloads } = groups;
        return answer({ kind: "payload-groups", id, groups }, [
          counts.buffer,
          payloads.bytes.buffer,
          payloads.lengths.buffer,
        ]);
      }
      case "look-up": {
        const result = this.#transport.lookUpList(request.query, request.elements);
        return answer({ kind: "looked-up", id, result });
      }
      case "digests": {
        const digests = this.#transport.digestsOf(request.query);
        return answer({ kind: "digested", id, digests }, [digests.buffer]);
      }
      case "dump":
        this.#dumped.set(id, this.#dump(request.query));
        return;
      case "compare": {
        const { elements, query } = this.#take(id);
        const difference = this.#transport.compareDump(elements, {
          query,
          desired: request.desired,
        });
        return answer({ kind: "compared", id, difference }, [
          difference.extra.buffer,
          difference.missing.buffer,
        ]);
      }
      case "forget":
        this.#dumped.delete(id);
    }
  }

  #dump(query: NfQuery): Dumped {
    try {
      return { kind: "elements", elements: this.#transport.dumpElements(query), query };
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  #take(id: number): Extract<Dumped, { kind: "elements" }> {
    const dumped = this.#dumped.get(id);
    this.#dumped.delete(id);
    if (dumped?.kind === "elements") return dumped;
    throw dumped?.error ?? new TypeError("Cannot compare elements: none were read");
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
