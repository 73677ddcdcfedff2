import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { BatchWriter } from "../../../../lib/kernel/nf_tables/batch_writer.ts";
import { commitBatch } from "../../../../lib/kernel/nf_tables/commit.ts";
import { NfTablesError } from "../../../../lib/kernel/nf_tables/errors.ts";
import type { CommitResult, NfTransport } from "../../../../lib/kernel/nf_tables/transport.ts";
import { genmsg, Msg } from "../../../../lib/kernel/nf_tables/wire.ts";

/** A batch of three messages for two operations: sequence numbers 1, 2 and 3. */
function threeMessages() {
  const batch = new BatchWriter();
  for (const operation of [0, 0, 1]) {
    batch.begin({ type: Msg.newChain, flags: 0, genmsg: genmsg(2), operation });
    batch.end();
  }
  return batch.finish();
}

/** A transport whose every commit ends so. */
function transportThat(commit: (bytes: Uint8Array<ArrayBuffer>) => Promise<CommitResult>) {
  const unused = () => Promise.reject(new Error("not asked"));
  const transport: NfTransport = {
    largestBatch: Infinity,
    generation: unused,
    query: unused,
    visit: unused,
    queryEach: unused,
    digests: unused,
    compare: unused,
    lookUp: unused,
    close: () => {},
    commit,
  };
  return transport;
}

const describe = ({ operation }: { readonly operation: number }) =>
  operation < 0 ? "change everything" : `do operation ${operation}`;

Deno.test("commitBatch() gives the receipt, and echoes with their operations", async () => {
  const payload = Uint8Array.of(7);
  const transport = transportThat((bytes) =>
    Promise.resolve({
      kind: "applied",
      bytes,
      receipt: { before: 4, after: 5 },
      echoes: [{ sequence: 3, type: Msg.newChain, payload }],
    })
  );
  assert.deepEqual(await commitBatch(transport, threeMessages(), { describe }), {
    receipt: { before: 4, after: 5 },
    echoes: [{ operation: 1, type: Msg.newChain, payload }],
  });
});

Deno.test("commitBatch() names each refused operation", async () => {
  const transport = transportThat((bytes) =>
    Promise.resolve({
      kind: "refused",
      bytes,
      refusals: [
        { sequence: 3, errno: Errno.EBUSY },
        { sequence: 0, errno: Errno.ERESTART },
      ],
    })
  );
  await assert.rejects(commitBatch(transport, threeMessages(), { describe }), (error) => {
    assert.ok(error instanceof NfTablesError);
    assert.deepEqual(error.failures.map(({ errno, operation }) => [operation, errno]), [
      [1, Errno.EBUSY],
      [-1, Errno.ERESTART],
    ]);
    assert.match(error.message, /^Cannot do operation 1: object is in use \(EBUSY\); 1 more/);
    return true;
  });
});

Deno.test("commitBatch() calls what the socket does not take a refusal of the whole batch", async () => {
  const failWith = (errno: number) => () =>
    Promise.reject(new NetlinkError({ op: "commit nf_tables changes", errno }));
  const tooLarge = transportThat(failWith(Errno.EMSGSIZE));
  await assert.rejects(commitBatch(tooLarge, threeMessages(), { describe }), (error) => {
    assert.ok(error instanceof NfTablesError);
    assert.deepEqual(error.failures.map(({ operation }) => operation), [-1]);
    assert.match(error.message, /^Cannot change everything: .*EMSGSIZE.*raise net\.core\.wmem_max/);
    return true;
  });
  const lost = transportThat(failWith(Errno.ENOBUFS));
  await assert.rejects(commitBatch(lost, threeMessages(), { describe }), NetlinkError);
});

Deno.test("commitBatch() says of a batch that was not sent why", async () => {
  const transport = transportThat((bytes) => Promise.resolve({ kind: "skipped", bytes }));
  await assert.rejects(commitBatch(transport, threeMessages(), { describe }), {
    message: "Cannot change everything: a batch that this one builds on was refused",
  });
});
