/** The nf_tables socket in a worker of its own, and a way past it for small batches: the program's transport. */
import { NetlinkError } from "../netlink/errors.ts";
import type { CommitNotices } from "./commit_notices.ts";
import { CommitWays } from "./commit_ways.ts";
import type { ListDifference } from "./compare_element_lists.ts";
import { DirectTransport } from "./direct_transport.ts";
import { SeriesNumbers } from "./series_numbers.ts";
import type {
  CommitResult,
  CommitSeries,
  LookUpResult,
  NfDigestQuery,
  NfQuery,
  NfQueryEach,
  NfTransport,
} from "./transport.ts";
import {
  type PackedPayloads,
  unpackGroups,
  unpackPayloads,
  visitPayloads,
} from "./packed_payloads.ts";
import type { WorkerAnswer, WorkerRequest } from "./worker_messages.ts";
import { workerUrl } from "./worker_url.ts";

interface Pending {
  resolve(answer: WorkerAnswer): void;
  reject(error: Error): void;
}

/** Who is told of a death, and who works. */
export interface WorkerTransportOptions {
  /** Told once when the worker died by itself: nothing can be asked of this transport any more. */
  readonly onDeath?: (error: Error) => void;
  /** What answers; the program's own worker when absent. */
  readonly worker?: Worker;
  /** What small batches are sent by; a socket of their own when absent. */
  readonly small?: Pick<DirectTransport, "commitLater" | "close">;
}

/** How long an idle thread may take to close its socket. */
const CLOSE_PATIENCE_MS = 100;

/** Forwards to a worker; buffers are handed over, not copied. */
export class WorkerTransport implements NfTransport {
  readonly #worker: Worker;
  /** The generation is asked for all the time: here that takes a tenth of the way to the worker and back. */
  readonly #here = new DirectTransport({ hasNotices: true });
  readonly #small: Pick<DirectTransport, "commitLater" | "close">;
  readonly #ways: CommitWays;
  readonly #series = new SeriesNumbers();
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #broken: Error | undefined;

  /**
   * Starts a worker and opens its socket, in the network namespace in which this thread is now.
   * Throws `NetlinkError` where the kernel refuses.
   */
  static async open(options: WorkerTransportOptions = {}): Promise<WorkerTransport> {
    const transport = new WorkerTransport(options);
    try {
      await transport.#ask((id) => ({ kind: "open", id }));
      return transport;
    } catch (error) {
      transport.close();
      throw error;
    }
  }

  private constructor({ small, worker, onDeath = () => {} }: WorkerTransportOptions) {
    const smallBatches = this.#small = small ?? new DirectTransport();
    this.#ways = new CommitWays({
      small: (bytes) => smallBatches.commitLater(bytes),
      large: (bytes, series) => this.#commit(bytes, series),
    });
    this.#worker = worker ??
      new Worker(workerUrl(import.meta.url), { type: "module", name: "nf_tables" });
    this.#worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => this.#answered(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      const error = new Error(`Cannot go on with nf_tables: its worker died: ${event.message}`);
      this.#breakWith(error);
      onDeath(error);
    };
  }

  get largestBatch(): number {
    return this.#here.largestBatch;
  }

  get notices(): CommitNotices | undefined {
    return this.#here.notices;
  }

  async generation(): Promise<number> {
    if (this.#broken) throw this.#broken;
    return await this.#here.generation();
  }

  async commit(bytes: Uint8Array<ArrayBuffer>, series?: CommitSeries): Promise<CommitResult> {
    if (this.#broken) throw this.#broken;
    return await this.#ways.commit(bytes, this.#series.of(series));
  }

  async query(query: NfQuery): Promise<readonly Uint8Array[]> {
    if (query.isSmall && !this.#broken) return await this.#here.query(query);
    return unpackPayloads(await this.#packedPayloads(query));
  }

  async visit(query: NfQuery, visit: (payload: Uint8Array) => void): Promise<void> {
    visitPayloads(await this.#packedPayloads(query), visit);
  }

  async queryEach(queries: NfQueryEach): Promise<readonly (readonly Uint8Array[])[]> {
    const answer = await this.#ask((id) => ({ kind: "query-each", id, queries }));
    if (answer.kind !== "payload-groups") throw unexpected(answer);
    return unpackGroups(answer.groups);
  }

  async digests(query: NfDigestQuery): Promise<Float64Array> {
    const answer = await this.#ask((id) => ({ kind: "digests", id, query }));
    if (answer.kind !== "digested") throw unexpected(answer);
    return answer.digests;
  }

  async lookUp(query: NfQuery, elements: Uint8Array<ArrayBuffer>): Promise<LookUpResult> {
    const answer = await this.#ask(
      (id) => ({ kind: "look-up", id, query, elements }),
      [elements.buffer],
    );
    if (answer.kind !== "looked-up") throw unexpected(answer);
    return answer.result;
  }

  async compare(
    query: NfQuery,
    desired: Promise<Uint8Array<ArrayBuffer>>,
  ): Promise<ListDifference> {
    const id = this.#nextId++;
    this.#worker.postMessage({ kind: "dump", id, query } satisfies WorkerRequest);
    let list: Uint8Array<ArrayBuffer>;
    try {
      list = await desired;
    } catch (error) {
      this.#worker.postMessage({ kind: "forget", id } satisfies WorkerRequest);
      throw error;
    }
    const answer = await this.#send({ kind: "compare", id, desired: list }, [list.buffer]);
    if (answer.kind !== "compared") throw unexpected(answer);
    return answer.difference;
  }

  /** Ends the worker. A commit that the kernel has begun is applied or refused as a whole all the same. */
  close(): void {
    if (this.#broken === undefined) this.#closeSocket();
    this.#breakWith(new Error("Cannot use nf_tables: it was closed"));
    this.#worker.terminate();
    this.#here.close();
    // Not under a batch: another file may get the socket's number at once.
    this.#ways.whenIdle(() => this.#small.close());
  }

  async #packedPayloads(query: NfQuery): Promise<PackedPayloads> {
    const answer = await this.#ask((id) => ({ kind: "query", id, query }));
    if (answer.kind !== "payloads") throw unexpected(answer);
    return answer.payloads;
  }

  async #commit(
    bytes: Uint8Array<ArrayBuffer>,
    series: number | undefined,
  ): Promise<CommitResult> {
    const answer = await this.#ask(
      (id) => ({ kind: "commit", id, bytes, ...(series !== undefined && { series }) }),
      [bytes.buffer],
    );
    if (answer.kind !== "committed") throw unexpected(answer);
    return answer.result;
  }

  /**
   * A thread that is ended leaves its descriptors open, and an open socket keeps the kernel's module from
   * being unloaded. One that is in the middle of a commit is not waited for.
   */
  #closeSocket(): void {
    const closed = new Int32Array(new SharedArrayBuffer(4));
    this.#worker.postMessage({ kind: "close", id: this.#nextId++, closed } satisfies WorkerRequest);
    Atomics.wait(closed, 0, 0, CLOSE_PATIENCE_MS);
  }

  #ask(
    request: (id: number) => WorkerRequest,
    transfer: Transferable[] = [],
  ): Promise<WorkerAnswer> {
    return this.#send(request(this.#nextId++), transfer);
  }

  #send(request: WorkerRequest, transfer: Transferable[]): Promise<WorkerAnswer> {
    if (this.#broken) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      this.#pending.set(request.id, { resolve, reject });
      this.#worker.postMessage(request, transfer);
    });
  }

  #answered(answer: WorkerAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (answer.kind !== "failed") return pending?.resolve(answer);
    const { failure } = answer;
    pending?.reject(
      failure.kind === "netlink" ? new NetlinkError(failure.options) : new Error(failure.message),
    );
  }

  #breakWith(error: Error): void {
    this.#broken ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#broken);
    this.#pending.clear();
  }
}

function unexpected(answer: WorkerAnswer): Error {
  return new TypeError(`Unexpected answer "${answer.kind}" of the nf_tables worker`);
}
