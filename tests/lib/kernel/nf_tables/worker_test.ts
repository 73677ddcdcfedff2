/** The worker's side of each question, run in this thread on a kernel that answers as a test wants it. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { MessageFlag, MessageType } from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { BatchWriter } from "../../../../lib/kernel/nf_tables/batch_writer.ts";
import type { NfQuery } from "../../../../lib/kernel/nf_tables/transport.ts";
import { ElemListAttr, genmsg, Msg } from "../../../../lib/kernel/nf_tables/wire.ts";
import { unpackGroups, unpackPayloads } from "../../../../lib/kernel/nf_tables/packed_payloads.ts";
import type {
  WorkerAnswer,
  WorkerFailure,
  WorkerRequest,
} from "../../../../lib/kernel/nf_tables/worker_messages.ts";
import { ElementEncoder } from "../../../../lib/kernel/nftables/encode_elements.ts";
import {
  type Answer,
  answeringKernel,
  done,
  type Heard,
  message,
  refusal,
} from "../../../fakes/answering_kernel.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";

interface Said {
  readonly answer: WorkerAnswer;
  /** Handed over, not copied. */
  readonly transferred: readonly unknown[];
}

const said: Said[] = [];
const thread = globalThis as unknown as {
  postMessage(answer: WorkerAnswer, transferred: readonly unknown[]): void;
  onmessage(event: { readonly data: WorkerRequest }): Promise<void>;
};
thread.postMessage = (answer, transferred) => said.push({ answer, transferred });
await import("../../../../lib/kernel/nf_tables/worker.ts");

/** What the worker says to the requests, one after the other. */
async function asked(
  requests: readonly WorkerRequest[],
  answer: (heard: Heard) => readonly Answer[] = () => [],
): Promise<readonly Said[]> {
  said.length = 0;
  await answeringKernel(answer, async () => {
    for (const data of requests) await thread.onmessage({ data });
  });
  return [...said];
}

function listOf(...hosts: readonly number[]): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  const encoder = new ElementEncoder({ name: "ips", key: ["addr"] }, "ip");
  for (const host of hosts) encoder.add(writer, { key: [`172.30.0.${host}`] });
  return writer.bytes();
}

function holding(list: Uint8Array): Uint8Array {
  const writer = new MessageWriter();
  writer.begin({ type: 0, flags: 0, sequence: 0 }, genmsg(2));
  writer.raw(ElemListAttr.elements | 0x8000, list);
  writer.end();
  return writer.bytes().slice(16);
}

const query: NfQuery = {
  op: "read elements",
  type: Msg.getSetElem,
  nfproto: 2,
  names: [[1, "kube-proxy"]],
  dump: true,
};
const payload = holding(listOf(1, 2));

/** The set's elements to a dump, and an acknowledgement to a question for one. */
function answerWith(...payloads: readonly Uint8Array[]): (heard: Heard) => readonly Answer[] {
  return ({ bytes, sequences: [sequence] }) => [
    ...payloads.map((each) => message({ type: Msg.newSetElem, sequence }, each)),
    (new DataView(bytes.buffer).getUint16(6, true) & MessageFlag.dump) === MessageFlag.dump
      ? done(sequence)
      : refusal(sequence, 0),
  ];
}

// The first, since the worker opens its socket once.
Deno.test("the worker answers that it cannot open its socket, and tries again when asked again", async () => {
  said.length = 0;
  const errno = Int32Array.of(Errno.EPROTONOSUPPORT);
  await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => -1,
  }, () => thread.onmessage({ data: { kind: "open", id: 3 } }));
  const failure: WorkerFailure = {
    kind: "netlink",
    options: { op: "open a netlink socket", errno: Errno.EPROTONOSUPPORT },
  };
  assert.deepEqual(said[0].answer, { kind: "failed", id: 3, failure });
  const [{ answer }] = await asked([{ kind: "open", id: 4 }]);
  assert.deepEqual(answer, { kind: "done", id: 4 });
});

Deno.test("the worker hands the batch back with what became of it", async () => {
  const bytes = new BatchWriter().finish().bytes;
  const [first, second] = await asked([
    { kind: "commit", id: 5, bytes, series: 1 },
    { kind: "commit", id: 6, bytes, series: 1 },
  ], ({ types, sequences: [sequence] }) => [
    refusal(sequence, types[0] === Msg.getGen ? Errno.EPERM : Errno.EBUSY),
  ]);
  assert.deepEqual(first.answer, {
    kind: "committed",
    id: 5,
    result: { kind: "refused", bytes, refusals: [{ sequence: 0, errno: Errno.EBUSY }] },
  });
  assert.deepEqual(first.transferred, [bytes.buffer]);
  assert.deepEqual(second.answer, { kind: "committed", id: 6, result: { kind: "skipped", bytes } });
});

Deno.test("the worker packs the answers to a question, and those to one for each of many", async () => {
  const [one, many] = await asked([
    { kind: "query", id: 7, query },
    { kind: "query-each", id: 8, queries: { query, attribute: 2, names: ["a", "b"] } },
  ], answerWith(payload, payload.subarray(0, 4)));
  assert.ok(one.answer.kind === "payloads" && one.answer.id === 7);
  const { payloads } = one.answer;
  assert.deepEqual(unpackPayloads(payloads), [payload, payload.subarray(0, 4)]);
  assert.deepEqual(one.transferred, [payloads.bytes.buffer, payloads.lengths.buffer]);
  assert.ok(many.answer.kind === "payload-groups" && many.answer.id === 8);
  const { groups } = many.answer;
  assert.deepEqual(unpackGroups(groups).map((group) => group.length), [2, 2]);
  assert.deepEqual(many.transferred, [
    groups.counts.buffer,
    groups.payloads.bytes.buffer,
    groups.payloads.lengths.buffer,
  ]);
});

Deno.test("the worker looks up and digests", async () => {
  const [found, digested] = await asked([
    { kind: "look-up", id: 9, query: { ...query, dump: false }, elements: listOf(2, 1) },
    {
      kind: "digests",
      id: 10,
      query: { asked: query, options: { attributes: [ElemListAttr.elements] } },
    },
  ], answerWith(payload));
  assert.deepEqual(found.answer, { kind: "looked-up", id: 9, result: "same" });
  assert.ok(digested.answer.kind === "digested" && digested.answer.id === 10);
  assert.equal(digested.answer.digests.length, 1);
  assert.deepEqual(digested.transferred, [digested.answer.digests.buffer]);
});

Deno.test("the worker reads a set at once, and answers when it knows what to compare it with", async () => {
  const all = await asked([
    { kind: "dump", id: 11, query },
    { kind: "compare", id: 11, desired: listOf(2, 3) },
  ], answerWith(payload));
  assert.equal(all.length, 1);
  const [{ answer, transferred }] = all;
  assert.ok(answer.kind === "compared" && answer.id === 11);
  const { extra, missing } = answer.difference;
  assert.deepEqual({ missing, extra }, { missing: listOf(3), extra: listOf(1) });
  assert.deepEqual(transferred, [extra.buffer, missing.buffer]);
});

Deno.test("the worker says of a comparison why its set could not be read, or that none was", async () => {
  const refused = ({ sequences: [sequence] }: Heard) => [refusal(sequence, Errno.ENOENT)];
  const desired = listOf();
  const [unread, twice, forgotten] = await asked([
    { kind: "dump", id: 12, query },
    { kind: "compare", id: 12, desired },
    { kind: "compare", id: 12, desired },
    { kind: "dump", id: 13, query },
    { kind: "forget", id: 13 },
    { kind: "compare", id: 13, desired },
  ], refused);
  const options = { op: "read elements", errno: Errno.ENOENT };
  const none: WorkerFailure = {
    kind: "other",
    message: "Cannot compare elements: none were read",
  };
  assert.deepEqual([unread, twice, forgotten].map(({ answer }) => answer), [
    { kind: "failed", id: 12, failure: { kind: "netlink", options } },
    { kind: "failed", id: 12, failure: none },
    { kind: "failed", id: 13, failure: none },
  ]);
});

Deno.test("the worker keeps the kernel's own words in a failure", async () => {
  const words = "Set does not exist";
  const [{ answer }] = await asked([{ kind: "query", id: 14, query }], ({ sequences }) => {
    const writer = new MessageWriter();
    const number = new Uint8Array(20);
    new DataView(number.buffer).setInt32(0, -Errno.ENOENT, true);
    const flags = MessageFlag.extendedAck | MessageFlag.capped;
    writer.begin({ type: MessageType.error, flags, sequence: sequences[0] }, number);
    writer.string(1, words);
    writer.end();
    return [writer.bytes()];
  });
  assert.ok(answer.kind === "failed" && answer.failure.kind === "netlink");
  assert.equal(answer.failure.options.kernelMessage, words);
  assert.match(new NetlinkError(answer.failure.options).message, /^Cannot read elements: Set does/);
});
