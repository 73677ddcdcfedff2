/** What is known of commits, where the kernel tells of them, loses some, or may not be listened to. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import {
  CommitNotices,
  type TouchedChain,
} from "../../../../lib/kernel/nf_tables/commit_notices.ts";
import { type Answer, message } from "../../../fakes/answering_kernel.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";
import { payloadOf } from "./written_attributes.ts";

/** The kernel's own numbers: NFT_MSG_* below its subsystem, and what joins a multicast group. */
const [newChain, delChain, newRule, delRule, newGen, newSet] = [3, 5, 6, 8, 15, 9]
  .map((type) => 0xa00 | type);
const addMembership = 1;
const solNetlink = 270;

const ipv4 = Uint8Array.of(2, 0, 0, 0);
const told = (type: number, chain: string, { attribute }: { readonly attribute: number }) =>
  message({ type, sequence: 0 }, payloadOf(ipv4, [[1, "nat"], [attribute, chain]]));
const chainIs = (type: number, chain: string) => told(type, chain, { attribute: 3 });
const ruleIn = (type: number, chain: string) => told(type, chain, { attribute: 2 });
const ends = (generation: number) =>
  message({ type: newGen, sequence: 0 }, payloadOf(new Uint8Array(4), [[1, generation]]));
const touched = (chain: string, isListed: boolean): TouchedChain => ({
  nfproto: 2,
  table: "nat",
  chain,
  isListed,
});

interface Listening {
  readonly notices: CommitNotices;
  /** Takes what the kernel says, where the ruleset is at that generation. */
  readonly hear: (generation: number, ...said: readonly Answer[]) => Promise<void>;
}

interface Permission {
  /** What the kernel says to whoever wants to listen. */
  readonly joining?: number;
}

async function listening(
  body: (listening: Listening) => Promise<void>,
  { joining = 0 }: Permission = {},
): Promise<void> {
  const errno = new Int32Array(1);
  const queue: Answer[] = [];
  const failing = (number: number) => {
    errno[0] = number;
    return -1;
  };
  await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 1_000_000,
    bind: () => 0,
    close: () => 0,
    setsockopt: (_fd, level, option) =>
      level === solNetlink && option === addMembership && joining !== 0 ? failing(joining) : 0,
    recv: (_fd, buffer) => {
      const next = queue.shift() ?? Errno.EAGAIN;
      if (typeof next === "number") return BigInt(failing(next));
      (buffer as Uint8Array).set(next);
      return BigInt(next.length);
    },
  }, async () => {
    const notices = new CommitNotices();
    const hear = async (generation: number, ...said: readonly Answer[]) => {
      queue.push(...said);
      await notices.read(() => Promise.resolve(generation));
    };
    try {
      await body({ notices, hear });
    } finally {
      notices.close();
    }
  });
}

Deno.test("CommitNotices tells which chains a commit touched, and whether only their rules", () =>
  listening(async ({ hear, notices }) => {
    await hear(10);
    await hear(
      11,
      ruleIn(newRule, "A"),
      chainIs(newChain, "B"),
      ruleIn(delRule, "C"),
      chainIs(delChain, "C"),
      ruleIn(newRule, "B"),
      told(newSet, "a-set", { attribute: 2 }),
      ends(11),
    );
    assert.deepEqual(notices.of(11), [touched("A", false), touched("B", true), touched("C", true)]);
    await hear(12, ends(12));
    assert.deepEqual(notices.of(12), []);
    assert.equal(notices.of(11).length, 3, "nor is an earlier one forgotten");
  }));

Deno.test("CommitNotices knows nothing of commits from before it listened, and waits for later ones", () =>
  listening(async ({ hear, notices }) => {
    assert.equal(notices.of(10), "lost", "nobody listens");
    await hear(10);
    assert.deepEqual([notices.of(9), notices.of(10), notices.of(11)], ["lost", "lost", "later"]);
    await hear(12, ruleIn(newRule, "A"), ends(12));
    assert.deepEqual([notices.of(11), notices.of(13)], ["lost", "later"]);
  }));

Deno.test("CommitNotices joins what comes in several turns to one commit", () =>
  listening(async ({ hear, notices }) => {
    await hear(10);
    await hear(10, ruleIn(newRule, "A"));
    assert.equal(notices.of(11), "later");
    await hear(11, ruleIn(newRule, "B"), ends(11));
    assert.deepEqual(notices.of(11), [touched("A", false), touched("B", false)]);
  }));

Deno.test("CommitNotices takes all for lost once the kernel says that some is", () =>
  listening(async ({ hear, notices }) => {
    await hear(10);
    await hear(11, ruleIn(newRule, "A"), ends(11), ruleIn(newRule, "B"));
    await hear(15, Errno.ENOBUFS, ends(13));
    assert.deepEqual([11, 13, 15, 16].map((each) => notices.of(each)), [
      "lost",
      "lost",
      "lost",
      "later",
    ]);
    await hear(16, ruleIn(newRule, "C"), ends(16));
    assert.deepEqual(notices.of(16), [touched("C", false)], "nothing of before is among it");
  }));

Deno.test("CommitNotices forgets the oldest commits where there are very many chains", () =>
  listening(async ({ hear, notices }) => {
    const many = (commit: number) =>
      Array.from({ length: 10_000 }, (_, i) => ruleIn(newRule, `${commit}-${i}`));
    await hear(10);
    await hear(12, ...many(11), ends(11), ...many(12), ends(12));
    assert.deepEqual([notices.of(11).length, notices.of(12).length], [10_000, 10_000]);
    await hear(13, ruleIn(newRule, "A"), ends(13));
    assert.deepEqual([notices.of(11), notices.of(12).length], ["lost", 10_000]);
    assert.deepEqual(notices.of(13), [touched("A", false)]);
  }));

Deno.test("CommitNotices takes all for lost where it may not listen", () =>
  listening(async ({ hear, notices }) => {
    await hear(10);
    assert.deepEqual([notices.of(10), notices.of(11)], ["lost", "lost"]);
  }, { joining: Errno.EPERM }));

Deno.test("CommitNotices hands on what else goes wrong on its socket", () =>
  listening(async ({ hear }) => {
    await hear(10);
    await assert.rejects(hear(11, Errno.ENETDOWN), (error) => hasErrno(error, Errno.ENETDOWN));
  }));
