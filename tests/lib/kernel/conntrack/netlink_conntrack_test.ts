/** Dumps and removals that go wrong, told by a kernel that answers as a test wants it. */
import assert from "node:assert/strict";
import type { Flow } from "../../../../lib/kernel/conntrack/conntrack.ts";
import { NetlinkConntrack } from "../../../../lib/kernel/conntrack/netlink_conntrack.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { MessageFlag } from "../../../../lib/kernel/netlink/messages.ts";
import { type Answer, answeringKernel, done, refusal } from "../../../fakes/answering_kernel.ts";
import { type DialogueRecord, recordUrl, unpackTalk } from "../dialogues/dialogue.ts";

async function withKernel<T>(
  answer: (sequences: readonly number[], attempt: number) => readonly Answer[],
  action: (conntrack: NetlinkConntrack) => Promise<T>,
): Promise<T> {
  return await answeringKernel(
    ({ attempt, sequences }) => answer(sequences, attempt),
    () => action(new NetlinkConntrack()),
  );
}

interface Header {
  readonly sequence: number;
  readonly flags?: number;
}

/** The kernel's own bytes of the entries, with another sequence and flags. */
async function entries(): Promise<(header: Header) => Uint8Array> {
  const record: DialogueRecord = JSON.parse(await Deno.readTextFile(recordUrl("conntrack")));
  const recorded = record.dialogues.find(({ name }) => name === "conntrack: entries of UDP");
  const talk = await unpackTalk(recorded?.talk ?? "");
  const datagram = Uint8Array.fromHex(talk.find((word) => word.startsWith("<"))?.slice(1) ?? "");
  return ({ flags, sequence }) => {
    const bytes = datagram.slice();
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < bytes.length; at += (view.getUint32(at, true) + 3) & ~3) {
      view.setUint32(at + 8, sequence, true);
      if (flags !== undefined) view.setUint16(at + 6, flags, true);
    }
    return bytes;
  };
}

const entry = await entries();
const udp = { family: "IPv4", protocol: 17 } as const;
const multi = 2;

const listings: readonly {
  name: string;
  answer: (sequence: number, attempt: number) => readonly Answer[];
  flows: number;
  complete: boolean;
}[] = [
  {
    name: "in one go",
    answer: (sequence) => [entry({ sequence }), done(sequence)],
    flows: 4,
    complete: true,
  },
  {
    name: "what belongs to an older question is passed over",
    answer: (sequence) => [
      entry({ sequence: sequence + 100 }),
      done(sequence + 100),
      entry({ sequence }),
      done(sequence),
    ],
    flows: 4,
    complete: true,
  },
  {
    name: "a dump that the kernel calls torn is repeated",
    answer: (sequence, attempt) => [
      entry({ sequence, flags: multi | (attempt < 2 ? MessageFlag.dumpInterrupted : 0) }),
      done(sequence),
    ],
    flows: 4,
    complete: true,
  },
  {
    name: "a dump that ends with EINTR is repeated",
    answer: (sequence, attempt) => [
      entry({ sequence }),
      done(sequence, attempt < 1 ? Errno.EINTR : 0),
    ],
    flows: 4,
    complete: true,
  },
  {
    name: "a dump of which something was lost is repeated",
    answer: (sequence, attempt) => [
      ...attempt < 1 ? [Errno.ENOBUFS] : [entry({ sequence })],
      done(sequence),
    ],
    flows: 4,
    complete: true,
  },
  {
    name: "the fifth dump is the last that may be whole",
    answer: (sequence, attempt) => [
      entry({ sequence, flags: multi | (attempt < 4 ? MessageFlag.dumpInterrupted : 0) }),
      done(sequence),
    ],
    flows: 4,
    complete: true,
  },
  {
    name: "a sixth dump is not asked for",
    answer: (sequence, attempt) => [
      entry({ sequence, flags: multi | (attempt < 5 ? MessageFlag.dumpInterrupted : 0) }),
      done(sequence),
    ],
    flows: 4,
    complete: false,
  },
  {
    name: "a table that is torn each time is told as a part",
    answer: (sequence) => [
      entry({ sequence, flags: multi | MessageFlag.dumpInterrupted }),
      done(sequence),
    ],
    flows: 4,
    complete: false,
  },
];

for (const { answer, complete, flows, name } of listings) {
  Deno.test(`NetlinkConntrack lists: ${name}`, async () => {
    const found = await withKernel(
      ([sequence], attempt) => answer(sequence, attempt),
      (conntrack) => conntrack.list(udp),
    );
    assert.deepEqual([found.flows.length, found.complete], [flows, complete]);
  });
}

const refusals: readonly { name: string; answer: (sequence: number) => Answer; says: RegExp }[] = [
  {
    name: "no right",
    answer: (sequence) => refusal(sequence, Errno.EPERM),
    says: /^Cannot list connections: .*\(EPERM\); run as root/,
  },
  {
    name: "no such subsystem",
    answer: (sequence) => refusal(sequence, Errno.EINVAL),
    says: /\(EINVAL\); load the kernel module nf_conntrack_netlink$/,
  },
  {
    name: "a dump that ends in another error",
    answer: (sequence) => done(sequence, Errno.ENOMEM),
    says: /\(ENOMEM\)/,
  },
  { name: "no answer", answer: () => Errno.EAGAIN, says: /\(EAGAIN\)/ },
];

for (const { answer, name, says } of refusals) {
  Deno.test(`NetlinkConntrack says why it cannot list: ${name}`, async () => {
    const listed = withKernel(([sequence]) => [answer(sequence)], (each) => each.list(udp));
    await assert.rejects(listed, (error: Error) => says.test(error.message));
  });
}

async function someFlows(): Promise<readonly Flow[]> {
  const { flows } = await withKernel(
    ([sequence]) => [entry({ sequence }), done(sequence)],
    (conntrack) => conntrack.list(udp),
  );
  return flows;
}

Deno.test("NetlinkConntrack counts removals of its own, and passes over those that are gone", async () => {
  const flows = await someFlows();
  const removed = await withKernel(
    (sequences) => [
      refusal(9_999, 0),
      entry({ sequence: sequences[0] }),
      ...sequences.map((sequence, i) => refusal(sequence, i === 1 ? Errno.ENOENT : 0)),
    ],
    (conntrack) => conntrack.remove(flows),
  );
  assert.equal(removed, flows.length - 1);
});

Deno.test("NetlinkConntrack reads all answers before it tells of the first refusal", async () => {
  const flows = await someFlows();
  const removing = withKernel(
    (sequences) =>
      sequences.map((sequence, i) => refusal(sequence, [Errno.EPERM, Errno.EBUSY][i] ?? 0)),
    (conntrack) => conntrack.remove(flows),
  );
  await assert.rejects(removing, /^NetlinkError: Cannot remove .*\(EPERM\)/);
});

Deno.test("NetlinkConntrack removes many in parts, and stops between them when told", async () => {
  const [flow] = await someFlows();
  const flows = Array.from({ length: 2_500 }, (_, id) => ({ ...flow, id }));
  const parts: number[] = [];
  const answer = (sequences: readonly number[]) => {
    parts.push(sequences.length);
    return sequences.map((sequence) => refusal(sequence, 0));
  };
  assert.equal(await withKernel(answer, (conntrack) => conntrack.remove(flows)), 2_500);
  assert.ok(parts.length > 1 && new Set(parts.slice(0, -1)).size === 1, parts.join());
  assert.equal(parts.reduce((sum, part) => sum + part), 2_500);
  const stop = AbortSignal.abort(new Error("stop"));
  await assert.rejects(withKernel(answer, (each) => each.remove(flows, stop)), /stop/);
});
