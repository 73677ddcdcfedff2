import assert from "node:assert/strict";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { Msg } from "../../../../lib/kernel/nf_tables/wire.ts";
import { WorkerTransport } from "../../../../lib/kernel/nf_tables/worker_transport.ts";

/** Takes no batch: all go to the worker. */
const takesNone = { commitLater: () => Promise.resolve(undefined), close: () => {} };

/** A worker that opens, and dies of the next question. */
function mortalWorker(): Worker {
  const source = `self.onmessage = ({ data: { kind, id } }) => {
    if (kind === "open") return self.postMessage({ kind: "done", id });
    throw new Error("out of luck");
  };`;
  return new Worker(`data:text/javascript,${encodeURIComponent(source)}`, { type: "module" });
}

const question = { op: "list tables", type: 0, nfproto: 0, names: [], dump: true } as const;
const died = /Cannot go on with nf_tables: its worker died: .*out of luck/;

Deno.test("a worker that dies fails what was asked, whatever is asked later, and is told once", async () => {
  const told: string[] = [];
  const transport = await WorkerTransport.open({
    worker: mortalWorker(),
    onDeath: ({ message }) => told.push(message),
  });
  const asked = [transport.query(question), transport.query(question)];
  for (const answer of asked) await assert.rejects(answer, died);
  await assert.rejects(transport.generation(), died);
  await assert.rejects(transport.commit(new Uint8Array(4)), died);
  await assert.rejects(transport.compare(question, Promise.resolve(new Uint8Array(4))), died);
  assert.equal(told.length, 1);
  assert.match(told[0], died);
  transport.close();
});

Deno.test("closing a transport is no death", async () => {
  const told: string[] = [];
  const transport = await WorkerTransport.open({
    worker: mortalWorker(),
    onDeath: ({ message }) => told.push(message),
  });
  transport.close();
  await assert.rejects(transport.query(question), /it was closed/);
  assert.deepEqual(told, []);
});

/** What a worker answers a request of each kind with, as the code of an object. */
const answers: Readonly<Record<string, string>> = {
  commit: `{ kind: "committed", result: { kind: "skipped" } }`,
  query:
    `{ kind: "payloads", payloads: { bytes: Uint8Array.of(1, 2, 3), lengths: Uint32Array.of(1, 2) } }`,
  "query-each": `{ kind: "payload-groups", groups: { counts: Uint32Array.of(0, 1),
    payloads: { bytes: Uint8Array.of(4), lengths: Uint32Array.of(1) } } }`,
  digests: `{ kind: "digested", digests: Float64Array.of(7) }`,
  "look-up": `{ kind: "looked-up", result: "same" }`,
  compare: `{ kind: "compared", difference: { kind: "unknown" } }`,
};

/** A worker that answers as it should, or every question as if it were to open. */
function answeringWorker(isRight: boolean): Worker {
  const rows = Object.entries(answers).map(([kind, code]) => `${JSON.stringify(kind)}: ${code}`);
  const source = `const answers = {${rows.join()}};
  self.onmessage = ({ data: { kind, id } }) => {
    if (kind === "dump" || kind === "forget") return;
    self.postMessage({ kind: "done", ...(${isRight} && answers[kind]), id });
  };`;
  return new Worker(`data:text/javascript,${encodeURIComponent(source)}`, { type: "module" });
}

/** Asks everything there is to ask. */
function askAll(transport: WorkerTransport): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    commit: () => transport.commit(new Uint8Array(4)),
    query: () => transport.query(question),
    "query-each": () => transport.queryEach({ query: question, attribute: 1, names: ["a", "b"] }),
    digests: () => transport.digests({ asked: question, options: { attributes: [1] } }),
    "look-up": () => transport.lookUp(question, new Uint8Array(4)),
    compare: () => transport.compare(question, Promise.resolve(new Uint8Array(4))),
  };
}

Deno.test("each question gets the answer that the worker gave it", async () => {
  const transport = await WorkerTransport.open({ worker: answeringWorker(true), small: takesNone });
  const ask = askAll(transport);
  assert.deepEqual(await ask.commit(), { kind: "skipped" });
  assert.deepEqual(await ask.query(), [Uint8Array.of(1), Uint8Array.of(2, 3)]);
  const visited: Uint8Array[] = [];
  await transport.visit(question, (payload) => visited.push(payload.slice()));
  assert.deepEqual(visited, [Uint8Array.of(1), Uint8Array.of(2, 3)]);
  assert.deepEqual(await ask["query-each"](), [[], [Uint8Array.of(4)]]);
  assert.deepEqual(await ask.digests(), Float64Array.of(7));
  assert.equal(await ask["look-up"](), "same");
  assert.deepEqual(await ask.compare(), { kind: "unknown" });
  transport.close();
});

Deno.test("an answer to another question is an error of its own", async () => {
  const transport = await WorkerTransport.open({
    worker: answeringWorker(false),
    small: takesNone,
  });
  for (const ask of Object.values(askAll(transport))) {
    await assert.rejects(ask(), /Unexpected answer "done" of the nf_tables worker/);
  }
  transport.close();
});

Deno.test("a list that cannot be made is its maker's failure, and the worker forgets the question", async () => {
  const transport = await WorkerTransport.open({ worker: answeringWorker(true), small: takesNone });
  await assert.rejects(
    transport.compare(question, Promise.reject(new Error("no list"))),
    /no list/,
  );
  assert.deepEqual(await askAll(transport).query(), [Uint8Array.of(1), Uint8Array.of(2, 3)]);
  transport.close();
});

Deno.test("what the worker is told of a comparison: to dump at once, then to compare or to forget", async () => {
  const told: { readonly kind: string; readonly id: number }[] = [];
  const worker = answeringWorker(true);
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (message: { readonly kind: string; readonly id: number }) => {
    told.push(message);
    post(message);
  };
  const transport = await WorkerTransport.open({ worker });
  await transport.compare(question, Promise.resolve(new Uint8Array(4)));
  await assert.rejects(transport.compare(question, Promise.reject(new Error("no list"))));
  const [, ...rest] = told;
  assert.deepEqual(rest.map(({ kind }) => kind), ["dump", "compare", "dump", "forget"]);
  assert.equal(rest[0].id, rest[1].id);
  assert.equal(rest[2].id, rest[3].id);
  assert.notEqual(rest[0].id, rest[2].id);
  transport.close();
});

Deno.test("a question with few answers does not go to the worker", async () => {
  const worker = answeringWorker(true);
  const told: string[] = [];
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (message: { readonly kind: string }) => {
    told.push(message.kind);
    post(message);
  };
  const transport = await WorkerTransport.open({ worker });
  const small = { ...question, type: Msg.getTable, isSmall: true };
  // Whether this thread may ask it does not matter here.
  await transport.query(small).catch((error: unknown) => assert.ok(error instanceof NetlinkError));
  assert.deepEqual(told, ["open"]);
  transport.close();
  await assert.rejects(transport.query(small), /it was closed/);
});

Deno.test("a small batch does not go to the worker, a large one does", async () => {
  const applied = {
    kind: "applied",
    bytes: new Uint8Array(4),
    receipt: { before: 1, after: 2 },
    echoes: [],
  } as const;
  let closed = false;
  const transport = await WorkerTransport.open({
    worker: answeringWorker(true),
    small: { commitLater: () => Promise.resolve(applied), close: () => closed = true },
  });
  assert.deepEqual(await transport.commit(new Uint8Array(4)), applied);
  assert.deepEqual(await transport.commit(new Uint8Array(100_000)), { kind: "skipped" });
  transport.close();
  assert.equal(closed, true);
});
