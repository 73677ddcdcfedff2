import assert from "node:assert/strict";
import { streamBody } from "../../../lib/kube/body.ts";
import { Connection } from "../../../lib/kube/connection.ts";
import { ConnectionError } from "../../../lib/kube/status.ts";
import { FakeClock, settle } from "../../fakes/fake_clock.ts";

const silenceMs = 20_000;
const never = 3_600_000;

interface Limits {
  readonly bodyMs?: number;
  readonly connectionMs?: number;
}

/** A connection whose questions are answered as told, and bodies over it that have no end. */
class Scene implements AsyncDisposable {
  questions = 0;
  readonly clock = new FakeClock();
  readonly connection: Connection;
  readonly #stop = new AbortController();
  readonly #bodies: ReadableStreamDefaultController<Uint8Array>[] = [];
  readonly #ends: Promise<void>[] = [];
  readonly #failures: (string | undefined)[] = [];

  constructor(answer: (connection: Connection) => boolean) {
    this.connection = new Connection({
      host: "apiserver:6443",
      client: Deno.createHttpClient({}),
      tls: { certificateAuthority: "", certificate: "", key: "" },
      clock: this.clock,
      ask: async (connection) => {
        this.questions++;
        await this.clock.sleep(10);
        return answer(connection);
      },
    });
  }

  /** How each body failed, in the order in which they were read. */
  get failures(): readonly (string | undefined)[] {
    return this.#failures;
  }

  read(limits: Limits = {}): void {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void this.#bodies.push(controller),
    });
    const index = this.#failures.push(undefined) - 1;
    const end = this.#readAll(new Response(body), limits).catch((error) => {
      if (this.#stop.signal.aborted) return;
      assert.ok(error instanceof ConnectionError, String(error));
      this.#failures[index] = error.message.replace(/^.*": /, "");
    });
    this.#ends.push(end);
  }

  send(body: number): Promise<void> {
    this.#bodies[body].enqueue(new Uint8Array(1));
    return settle();
  }

  async #readAll(response: Response, { bodyMs = never, connectionMs = never }: Limits) {
    const chunks = streamBody({ response, connection: this.connection }, {
      clock: this.clock,
      signal: this.#stop.signal,
      silenceMs: bodyMs,
      connectionSilenceMs: connectionMs,
    });
    for await (const _ of chunks) {
      // Only how it ends counts.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.connection.close();
    await Promise.all(this.#ends);
  }
}

const dies = (connection: Connection) => {
  connection.giveUp();
  return false;
};

Deno.test("streamBody: every reader of a dead connection learns it from one question", async () => {
  await using scene = new Scene(dies);
  scene.read({ connectionMs: silenceMs });
  scene.read();
  await scene.clock.advance(silenceMs);
  assert.deepEqual(scene.failures, [undefined, undefined]);
  await scene.clock.advance(10);
  assert.deepEqual(scene.failures, Array(2).fill("it does not answer any more"));
  assert.equal(scene.questions, 1);
});

Deno.test("streamBody: a reader that comes after a connection's death need not wait", async () => {
  await using scene = new Scene(dies);
  scene.connection.giveUp();
  scene.read();
  await settle();
  assert.deepEqual(scene.failures, ["it does not answer any more"]);
});

Deno.test("streamBody: a connection that answers is asked once in each silence", async () => {
  await using scene = new Scene((connection) => {
    connection.noteReceived();
    return true;
  });
  scene.read({ connectionMs: silenceMs });
  scene.read({ connectionMs: silenceMs });
  await scene.clock.advance(2.5 * silenceMs);
  assert.equal(scene.questions, 2);
  assert.deepEqual(scene.failures, [undefined, undefined]);
});

Deno.test("streamBody: bytes of one answer spare the connection all questions", async () => {
  await using scene = new Scene(dies);
  scene.read({ connectionMs: silenceMs });
  scene.read({ connectionMs: silenceMs });
  for (let i = 0; i < 6; i++) {
    await scene.clock.advance(silenceMs / 2);
    await scene.send(1);
  }
  assert.equal(scene.questions, 0);
  await scene.clock.advance(silenceMs);
  assert.equal(scene.questions, 1);
});

Deno.test("streamBody: an answer that is silent for too long ends, however alive the others are", async () => {
  await using scene = new Scene(dies);
  scene.read({ bodyMs: silenceMs });
  scene.read();
  for (let i = 0; i < 4; i++) {
    await scene.clock.advance(silenceMs / 4);
    await scene.send(1);
  }
  assert.deepEqual(scene.failures, ["it has been silent for 20 s", undefined]);
});

Deno.test("streamBody: a connection that was closed for another reason is not asked", async () => {
  await using scene = new Scene(dies);
  scene.read({ connectionMs: silenceMs });
  scene.connection.close();
  await scene.clock.advance(2 * silenceMs);
  assert.equal(scene.questions, 0);
  assert.deepEqual(scene.failures, [undefined]);
});

Deno.test("streamBody: an answer without a body gives nothing", async () => {
  await using scene = new Scene(dies);
  const { clock, connection } = scene;
  const chunks = streamBody({ response: new Response(null), connection }, {
    clock,
    signal: new AbortController().signal,
    silenceMs,
    connectionSilenceMs: silenceMs,
  });
  assert.deepEqual(await Array.fromAsync(chunks), []);
});
