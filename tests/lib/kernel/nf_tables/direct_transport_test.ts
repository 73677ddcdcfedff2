/** Commits, questions and comparisons that go wrong, told by a kernel that answers as a test wants it. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { MessageFlag } from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { BatchWriter } from "../../../../lib/kernel/nf_tables/batch_writer.ts";
import { DirectTransport } from "../../../../lib/kernel/nf_tables/direct_transport.ts";
import { CommitSeries, type NfQuery } from "../../../../lib/kernel/nf_tables/transport.ts";
import { ElemListAttr, GenAttr, genmsg, Msg } from "../../../../lib/kernel/nf_tables/wire.ts";
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

/** Batches and questions are answered by the test; the generation is told, and grows with each batch. */
async function withTransport<T>(
  answer: (heard: Heard) => readonly Answer[],
  action: (transport: DirectTransport) => Promise<T>,
): Promise<T> {
  let generation = 40;
  return await answeringKernel((heard) => {
    if (heard.types[0] === Msg.getGen) return [generationIs(heard.sequences[0], generation)];
    if (heard.types[0] === Msg.batchBegin) generation++;
    return answer(heard);
  }, async () => {
    const transport = new DirectTransport();
    try {
      return await action(transport);
    } finally {
      transport.close();
    }
  });
}

/** A payload of nf_tables: its header and what is written behind. */
function payloadOf(write: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter(64);
  writer.begin({ type: 0, flags: 0, sequence: 0 }, genmsg(2));
  write(writer);
  writer.end();
  return writer.bytes().slice(16);
}

function generationIs(sequence: number, generation: number): Uint8Array {
  const payload = payloadOf((writer) => writer.u32be(GenAttr.id, generation));
  return message({ type: 0x0a0f, sequence }, payload);
}

/** Its first message has the sequence 1. */
function batch(): Uint8Array<ArrayBuffer> {
  const writer = new BatchWriter();
  writer.begin({ type: Msg.newChain, flags: 0, genmsg: genmsg(2), operation: 0 });
  writer.end();
  return writer.finish().bytes;
}

const chain = payloadOf((writer) => writer.string(3, "services"));

Deno.test("DirectTransport tells the generation before and after a batch, and its echoes", async () => {
  const result = await withTransport(() => [
    refusal(2, 0),
    message({ type: Msg.newChain, sequence: 1 }, chain),
    done(1),
  ], (transport) => transport.commit(batch()));
  assert.ok(result.kind === "applied");
  assert.deepEqual(result.receipt, { before: 40, after: 41 });
  assert.deepEqual(result.echoes, [{ sequence: 1, type: Msg.newChain, payload: chain }]);
});

Deno.test("DirectTransport commits on another thread as on its own", async () => {
  let refuses = false;
  await withTransport(
    ({ sequences, types }) =>
      types[0] === Msg.batchBegin && refuses ? [refusal(sequences[1], Errno.ENOENT)] : [],
    async (transport) => {
      const result = await transport.commitLater(batch());
      assert.deepEqual(result?.kind === "applied" && result.receipt, { before: 40, after: 41 });
      refuses = true;
      const refused = await transport.commitLater(batch());
      assert.equal(refused?.kind === "refused" && refused.refusals[0].errno, Errno.ENOENT);
    },
  );
});

Deno.test("DirectTransport says nothing of a batch that the socket did not take on another thread", async () => {
  await withTransport(() => [], async (transport) => {
    await replacingLibc({ sendLater: () => Promise.resolve(-1n) }, async () => {
      assert.equal(await transport.commitLater(batch()), undefined);
    });
  });
});

Deno.test("DirectTransport keeps echoes that the next answer would overwrite", async () => {
  const other = payloadOf((writer) => writer.string(3, "firewall"));
  const result = await withTransport(() => [
    message({ type: Msg.newChain, sequence: 1 }, chain),
    message({ type: Msg.newChain, sequence: 1 }, other),
  ], (transport) => transport.commit(batch()));
  assert.ok(result.kind === "applied");
  assert.deepEqual(result.echoes.map(({ payload }) => payload), [chain, other]);
});

Deno.test("DirectTransport sends nothing more of a series after a refusal, and goes on with others", async () => {
  let batches = 0;
  const kinds = await withTransport(() => ++batches === 1 ? [refusal(1, Errno.EBUSY)] : [], async (
    transport,
  ) => {
    const refused = new CommitSeries();
    return [
      await transport.commit(batch(), refused),
      await transport.commit(batch(), refused),
      await transport.commit(batch(), new CommitSeries()),
      await transport.commit(batch()),
    ];
  });
  assert.deepEqual(kinds.map(({ kind }) => kind), ["refused", "skipped", "applied", "applied"]);
  assert.ok(kinds[0].kind === "refused");
  assert.deepEqual(kinds[0].refusals, [{ sequence: 1, errno: Errno.EBUSY }]);
  assert.equal(batches, 3);
});

Deno.test("DirectTransport knows more than one refused series", async () => {
  const series = Array.from({ length: 10 }, () => new CommitSeries());
  const kinds = await withTransport(() => [refusal(1, Errno.EBUSY)], async (transport) => {
    for (const each of series) await transport.commit(batch(), each);
    return await Promise.all(series.map((each) => transport.commit(batch(), each)));
  });
  assert.deepEqual(kinds.map(({ kind }) => kind), series.map(() => "skipped"));
});

Deno.test("DirectTransport ends a series of which an answer was lost", async () => {
  let batches = 0;
  await withTransport(() => ++batches === 1 ? [Errno.ENOBUFS] : [], async (transport) => {
    const series = new CommitSeries();
    const lost = transport.commit(batch(), series);
    await assert.rejects(lost, (error) => hasErrno(error, Errno.ENOBUFS));
    assert.equal((await transport.commit(batch(), series)).kind, "skipped");
    assert.equal((await transport.commit(batch())).kind, "applied");
  });
});

Deno.test("DirectTransport commits also where the kernel does not tell the generation", async () => {
  const result = await answeringKernel(
    ({ sequences, types }) => types[0] === Msg.getGen ? [refusal(sequences[0], Errno.EPERM)] : [],
    () => new DirectTransport().commit(batch()),
  );
  assert.ok(result.kind === "applied");
  assert.deepEqual(result.receipt, { before: NaN, after: NaN });
});

Deno.test("DirectTransport takes what an interrupted question left for no answer to a batch", async () => {
  const broken = new Uint8Array(16).fill(9);
  const result = await withTransport(
    ({ types }) => types[0] === Msg.getTable ? [broken, broken, refusal(1, Errno.EBUSY)] : [],
    async (transport) => {
      await assert.rejects(transport.query(query), RangeError);
      return await transport.commit(batch());
    },
  );
  assert.equal(result.kind, "applied");
});

const query: NfQuery = {
  op: "read a table",
  type: Msg.getTable,
  nfproto: 2,
  names: [[1, "kube-proxy"]],
  dump: false,
};

Deno.test("DirectTransport asks for each of the names, behind those that all have", async () => {
  const asked: string[] = [];
  const answers = await withTransport(({ bytes, sequences: [sequence] }) => {
    asked.push(new TextDecoder().decode(bytes.subarray(20)).replaceAll(/[^a-z-]+/g, " ").trim());
    return [message({ type: Msg.newChain, sequence }, chain), refusal(sequence, 0)];
  }, (transport) => transport.queryEach({ query, attribute: 3, names: ["a", "b"] }));
  assert.deepEqual(answers, [[chain], [chain]]);
  assert.deepEqual(asked, ["kube-proxy a", "kube-proxy b"]);
});

Deno.test("DirectTransport gives the answers of a dump that end, each by itself", async () => {
  const other = payloadOf((writer) => writer.string(3, "firewall"));
  const answers = await withTransport(({ sequences: [sequence] }) => [
    message({ type: Msg.newChain, sequence }, chain),
    message({ type: Msg.newChain, sequence }, other),
    done(sequence),
  ], (transport) => transport.query({ ...query, dump: true }));
  assert.deepEqual(answers, [chain, other]);
});

Deno.test("DirectTransport digests one question, or each of the names", async () => {
  const options = { attributes: [3] };
  const digests = await withTransport(
    ({ sequences: [sequence] }) => [
      message({ type: Msg.newChain, sequence }, chain),
      done(sequence),
    ],
    async (transport) => [
      await transport.digests({ asked: { ...query, dump: true }, options }),
      await transport.digests({
        asked: { query: { ...query, dump: true }, attribute: 2, names: ["a", "b"] },
        options,
      }),
    ],
  );
  const [[one], each] = digests;
  assert.ok(one > 0);
  assert.deepEqual([...each], [one, one]);
});

/** Elements of a set of addresses, as a list. */
function listOf(first: number, end: number): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  const encoder = new ElementEncoder({ name: "ips", key: ["addr"] }, "ip");
  for (let i = first; i < end; i++) encoder.add(writer, { key: [`172.30.${i >> 8}.${i & 255}`] });
  return writer.bytes();
}

function holding(list: Uint8Array): Uint8Array {
  return payloadOf((writer) => writer.raw(ElemListAttr.elements | 0x8000, list));
}

const setQuery: NfQuery = { ...query, op: "read elements", type: Msg.getSetElem };

for (
  const { name, answer, expected } of [
    { name: "the same", answer: listOf(0, 3), expected: "same" },
    { name: "one with another value", answer: listOf(0, 2), expected: "different" },
    { name: "one is not there", answer: Errno.ENOENT, expected: "missing" },
  ] as const
) {
  Deno.test(`DirectTransport looks elements up: ${name}`, async () => {
    const result = await withTransport(
      ({ sequences: [sequence] }) =>
        typeof answer === "number" ? [refusal(sequence, answer)] : [
          message({ type: Msg.newSetElem, sequence }, holding(answer)),
          refusal(sequence, 0),
        ],
      (transport) => transport.lookUp(setQuery, listOf(0, 3)),
    );
    assert.equal(result, expected);
  });
}

Deno.test("DirectTransport looks many elements up in questions that an attribute can hold", async () => {
  const list = listOf(0, 5000);
  const sizes: number[] = [];
  const result = await withTransport(({ bytes, sequences: [sequence] }) => {
    sizes.push(bytes.length);
    // The names, and behind the header of the list what was asked for.
    const asked = bytes.subarray(20 + 16 + 4);
    return [
      message({ type: Msg.newSetElem, sequence }, holding(asked)),
      refusal(sequence, 0),
    ];
  }, (transport) => transport.lookUp(setQuery, list));
  assert.equal(result, "same");
  assert.equal(sizes.length, Math.ceil(list.length / 60_000));
  assert.ok(sizes.every((size) => size < 1 << 16), sizes.join());
});

Deno.test("DirectTransport fails to look up where the kernel refuses for another reason", async () => {
  const looking = withTransport(
    ({ sequences: [sequence] }) => [refusal(sequence, Errno.EPERM)],
    (transport) => transport.lookUp(setQuery, listOf(0, 1)),
  );
  await assert.rejects(looking, (error) => hasErrno(error, Errno.EPERM));
});

/** Compares three wanted elements with dumps that are torn that often. */
async function compareTorn(tornDumps: number) {
  let dumps = 0;
  const difference = await withTransport(({ sequences: [sequence] }) => {
    const list = dumps++ < tornDumps ? new Uint8Array([...listOf(0, 1), ...listOf(0, 2)]) : null;
    return [
      message({ type: Msg.newSetElem, sequence, flags: 2 }, holding(list ?? listOf(0, 3))),
      done(sequence),
    ];
  }, (transport) => transport.compare({ ...setQuery, dump: true }, Promise.resolve(listOf(0, 3))));
  return { dumps, isTorn: difference.isTorn, missing: difference.missing };
}

Deno.test("DirectTransport reads a set again while a dump of it is torn, ten times at most", async () => {
  const nothing = new Uint8Array();
  assert.deepEqual(await compareTorn(0), { dumps: 1, isTorn: false, missing: nothing });
  assert.deepEqual(await compareTorn(3), { dumps: 4, isTorn: false, missing: nothing });
  assert.deepEqual(await compareTorn(9), { dumps: 10, isTorn: false, missing: nothing });
  assert.deepEqual(await compareTorn(50), { dumps: 10, isTorn: true, missing: listOf(2, 3) });
});

Deno.test("DirectTransport asks in one question for a name or for all", async () => {
  const flags: number[] = [];
  await withTransport(({ bytes, sequences: [sequence] }) => {
    flags.push(new DataView(bytes.buffer).getUint16(6, true));
    return [refusal(sequence, 0), done(sequence)];
  }, async (transport) => {
    await transport.query(query);
    await transport.query({ ...query, dump: true });
  });
  assert.deepEqual(flags, [
    MessageFlag.request | MessageFlag.ack,
    MessageFlag.request | MessageFlag.dump,
  ]);
});
