import assert from "node:assert/strict";
import { WorkerTransport } from "../../../../lib/kernel/nf_tables/worker_transport.ts";

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
