/** Packet counters, with a kernel that answers as a test wants it. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { MessageFlag } from "../../../../lib/kernel/netlink/messages.ts";
import { NetlinkNfacct } from "../../../../lib/kernel/nfacct/netlink_nfacct.ts";
import { type Answer, answeringKernel, message, refusal } from "../../../fakes/answering_kernel.ts";
import { type Attribute, payloadOf } from "../nf_tables/written_attributes.ts";

const [make, get, remove] = [0x700, 0x701, 0x703];
const name = "ct_state_invalid_dropped_pkts";

interface Asked {
  readonly type: number;
  readonly flags: number;
  readonly name: string;
}

/** What the action gives or throws, and what it asked, where the kernel answers with these. */
async function asked<T>(
  answers: (sequence: number) => readonly Answer[],
  action: (counters: NetlinkNfacct) => T,
) {
  const questions: Asked[] = [];
  const outcome = await answeringKernel(({ bytes, sequences: [sequence], types: [type] }) => {
    const flags = new DataView(bytes.buffer).getUint16(6, true) &
      ~(MessageFlag.request | MessageFlag.ack);
    const text = new TextDecoder().decode(bytes.subarray(24)).replaceAll("\0", "");
    questions.push({ type, flags, name: text });
    return answers(sequence);
  }, () => Promise.try(() => action(new NetlinkNfacct())).catch((error: unknown) => ({ error })));
  return { outcome, questions };
}

function refusedWith(outcome: unknown, errno: number): boolean {
  return hasErrno((outcome as { readonly error?: unknown } | undefined)?.error, errno);
}

const answering = (errno: number) => (sequence: number) => [refusal(sequence, errno)];

Deno.test("ensure() makes a counter, and is content with one that is there", async () => {
  const flags = MessageFlag.create | MessageFlag.exclusive;
  const made = await asked(answering(0), (counters) => counters.ensure(name));
  assert.deepEqual(made, { outcome: undefined, questions: [{ type: make, flags, name }] });
  const there = await asked(answering(Errno.EEXIST), (counters) => counters.ensure(name));
  assert.equal(there.outcome, undefined);
  const forbidden = await asked(answering(Errno.EPERM), (counters) => counters.ensure(name));
  assert.ok(refusedWith(forbidden.outcome, Errno.EPERM));
});

Deno.test("read() gives packets and bytes, or nothing where there is no counter", async () => {
  const counter = (...attributes: readonly Attribute[]) => (sequence: number) => [
    message({ type: make, sequence }, payloadOf(new Uint8Array(4), attributes)),
    refusal(sequence, 0),
  ];
  const found = await asked(
    counter([1, name], [2, 7n], [3, 420n]),
    (counters) => counters.read(name),
  );
  assert.deepEqual(found, {
    outcome: { packets: 7n, bytes: 420n },
    questions: [{ type: get, flags: 0, name }],
  });
  const fresh = await asked(counter([1, name]), (counters) => counters.read(name));
  assert.deepEqual(fresh.outcome, { packets: 0n, bytes: 0n });
  const none = await asked(answering(Errno.ENOENT), (counters) => counters.read(name));
  assert.equal(none.outcome, undefined);
  const forbidden = await asked(answering(Errno.EPERM), (counters) => counters.read(name));
  assert.ok(refusedWith(forbidden.outcome, Errno.EPERM));
});

const removals: readonly (readonly [errno: number, isGone: boolean])[] = [
  [0, true],
  [Errno.ENOENT, true],
  [Errno.EBUSY, false],
];

for (const [errno, isGone] of removals) {
  Deno.test(`remove() is ${isGone} where the kernel answers ${errno}`, async () => {
    const removed = await asked(answering(errno), (counters) => counters.remove(name));
    assert.deepEqual(removed, {
      outcome: isGone,
      questions: [{ type: remove, flags: 0, name }],
    });
  });
}

Deno.test("remove() says which counter it may not remove", async () => {
  const { outcome } = await asked(answering(Errno.EPERM), (counters) => counters.remove(name));
  assert.match(
    String((outcome as { readonly error: unknown }).error),
    new RegExp(`^NetlinkError: Cannot remove packet counter "${name}": .*EPERM`),
  );
});
