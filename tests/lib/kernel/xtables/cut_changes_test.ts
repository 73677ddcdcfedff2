import assert from "node:assert/strict";
import { cutChanges } from "../../../../lib/kernel/xtables/cut_changes.ts";
import { NftXtables } from "../../../../lib/kernel/xtables/nft_xtables.ts";
import { isRefusal, XtablesError } from "../../../../lib/kernel/xtables/errors.ts";
import { encodeChanges } from "../../../../lib/kernel/xtables/encode.ts";
import { noSets } from "../../../../lib/kernel/xtables/sets.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { readMessages } from "../../../../lib/kernel/netlink/messages.ts";
import { Msg, RuleAttr } from "../../../../lib/kernel/nf_tables/wire.ts";
import type { CommitResult, NfTransport } from "../../../../lib/kernel/nf_tables/transport.ts";
import type { XtChange, XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { payloadOf } from "../nf_tables/written_attributes.ts";

const table = "nat";
const rule: XtRule = { matches: [], target: { kind: "jump", chain: "KUBE-MARK-MASQ" } };
const add = (chain: string): XtChange => ({ kind: "add-chain", table, chain });
const flush = (chain: string): XtChange => ({ kind: "flush-chain", table, chain });
const append = (chain: string): XtChange => ({ kind: "append-rule", table, chain, rule });

const cases: readonly {
  readonly name: string;
  readonly changes: readonly XtChange[];
  readonly cut: number | undefined;
}[] = [
  { name: "nothing", changes: [], cut: undefined },
  { name: "a single change", changes: [add("A")], cut: undefined },
  { name: "in the middle", changes: [add("A"), add("B"), add("C"), add("D")], cut: 2 },
  {
    name: "before a chain that gets its rules in the middle",
    changes: [add("A"), flush("B"), append("B"), append("B"), append("B")],
    cut: 1,
  },
  {
    name: "behind it where that is nearer",
    changes: [flush("B"), append("B"), append("B"), append("B"), add("C"), add("D")],
    cut: 4,
  },
  {
    name: "between rules of two chains",
    changes: [flush("A"), append("A"), append("B"), append("B")],
    cut: 2,
  },
  {
    name: "in a chain that is all there is",
    changes: [flush("A"), append("A"), append("A"), append("A")],
    cut: 2,
  },
];

for (const { changes, cut, name } of cases) {
  Deno.test(`cutChanges() parts ${name}`, () => assert.equal(cutChanges(changes), cut));
}

/** A kernel of which a socket takes so many bytes at once. */
class NarrowTransport implements NfTransport {
  readonly largestBatch: number;
  readonly sizes: number[] = [];
  /** The batch of this number is refused, as a whole or by one of its messages. */
  refused = -1;
  refusedMessage = -1;
  generationNow = 10;

  constructor(largestBatch: number) {
    this.largestBatch = largestBatch;
  }

  generation = () => Promise.resolve(this.generationNow);
  query = () => Promise.reject(new Error("not asked for here"));
  visit = () => Promise.reject(new Error("not asked for here"));
  queryEach: NfTransport["queryEach"] = () => Promise.reject(new Error("not asked for here"));
  compare = () => Promise.reject(new Error("not asked for here"));
  lookUp = () => Promise.reject(new Error("not asked for here"));
  digests = () => Promise.reject(new Error("not asked for here"));
  close() {}

  commit(bytes: Uint8Array<ArrayBuffer>): Promise<CommitResult> {
    const op = "commit nf_tables changes";
    if (bytes.length > this.largestBatch) {
      return Promise.reject(new NetlinkError({ op, errno: Errno.EMSGSIZE }));
    }
    this.sizes.push(bytes.length);
    if (this.sizes.length - 1 === this.refused) {
      if (this.refusedMessage >= 0) {
        const refusals = [{ sequence: this.refusedMessage, errno: Errno.ENOENT }];
        return Promise.resolve({ kind: "refused", bytes, refusals });
      }
      return Promise.reject(new NetlinkError({ op, errno: Errno.EPERM }));
    }
    const before = this.generationNow++;
    const receipt = { before, after: this.generationNow };
    return Promise.resolve({ kind: "applied", bytes, receipt, echoes: [] });
  }
}

/** Of the batch that these changes are. */
function encodedSize(some: readonly XtChange[]): number {
  const options = {
    family: "IPv4",
    handleOf: () => 0n,
    wantsEcho: () => false,
    sets: noSets,
  } as const;
  return encodeChanges(some, options).bytes.length;
}

const chains = Array.from({ length: 40 }, (_, i) => `KUBE-SVC-${i}`);
const changes = chains.flatMap((chain) => [add(chain), append(chain), append(chain)]);

Deno.test("NftXtables commits in parts what the socket does not take at once, as one", async () => {
  const transport = new NarrowTransport(4_000);
  const receipt = await new NftXtables(transport).commit("IPv4", changes);
  const count = transport.sizes.length;
  assert.ok(count > 3 && Math.max(...transport.sizes) <= 4_000, transport.sizes.join());
  assert.deepEqual(receipt, { before: "10", after: String(10 + count), isOwn: true });
});

Deno.test("NftXtables commits at once what the socket takes", async () => {
  const transport = new NarrowTransport(1_000_000);
  await new NftXtables(transport).commit("IPv4", changes);
  assert.equal(transport.sizes.length, 1);
});

Deno.test("NftXtables tells that somebody else wrote between two parts", async () => {
  const transport = new NarrowTransport(4_000);
  const commit = transport.commit.bind(transport);
  transport.commit = (bytes) => {
    if (transport.sizes.length === 1) transport.generationNow++;
    return commit(bytes);
  };
  const receipt = await new NftXtables(transport).commit("IPv4", changes);
  assert.equal(receipt?.isOwn, false);
});

Deno.test("NftXtables tells that somebody else wrote just before it", async () => {
  const transport = new NarrowTransport(Infinity);
  const commit = transport.commit.bind(transport);
  transport.commit = async (bytes) => {
    const result = await commit(bytes);
    return result.kind === "applied"
      ? { ...result, receipt: { before: 9, after: result.receipt.after } }
      : result;
  };
  const xtables = new NftXtables(transport);
  assert.deepEqual(await xtables.commit("IPv4", changes), {
    before: "9",
    after: "11",
    isOwn: false,
  });
  const composition = xtables.compose?.("IPv4");
  composition?.add([add("A")]);
  assert.deepEqual(await composition?.commit(), { before: "9", after: "12", isOwn: false });
});

Deno.test("NftXtables ends with the first part that is refused", async () => {
  const transport = new NarrowTransport(4_000);
  transport.refused = 1;
  const xtables = new NftXtables(transport);
  await assert.rejects(
    () => xtables.commit("IPv4", changes),
    (error) => isRefusal(error, "not-permitted"),
  );
  assert.equal(transport.sizes.length, 2);
});

Deno.test("NftXtables tells which change of all was refused", async () => {
  const transport = new NarrowTransport(4_000);
  const xtables = new NftXtables(transport);
  await xtables.commit("IPv4", changes);
  // Each part is framed by a begin and an end.
  const [first] = transport.sizes;
  const inFirst = changes.findIndex((_, count) => encodedSize(changes.slice(0, count)) === first);
  transport.sizes.length = 0;
  transport.refused = 1;
  transport.refusedMessage = 1;
  await assert.rejects(() => xtables.commit("IPv4", changes), (error) => {
    assert.ok(error instanceof XtablesError);
    assert.deepEqual(error.failures.map(({ change }) => change), [inFirst]);
    assert.match(error.message, /^Cannot add chain "KUBE-SVC-\d+" to iptables table "nat"/);
    return true;
  });
});

Deno.test("NftXtables leaves a single change that is too large to the kernel's judgement", async () => {
  const xtables = new NftXtables(new NarrowTransport(10));
  await assert.rejects(() => xtables.commit("IPv4", [add("A")]), /EMSGSIZE/);
});

Deno.test("NftXtables writes nothing once a commit was given up, and says so where there was nothing to write", async () => {
  const transport = new NarrowTransport(1_000_000);
  const xtables = new NftXtables(transport);
  const signal = AbortSignal.abort(new Error("given up"));
  for (const given of [changes, []]) {
    await assert.rejects(xtables.commit("IPv4", given, { signal }), /given up/);
  }
  assert.deepEqual(transport.sizes, []);
});

/** A rule as the kernel lists it: as it was written, with a handle. */
function listed(change: XtChange): Uint8Array {
  const { bytes } = encodeChanges([change], {
    family: "IPv4",
    handleOf: () => 0n,
    wantsEcho: () => false,
    sets: noSets,
  });
  const written = [...readMessages(bytes)].find(({ type }) => type === Msg.newRule);
  assert.ok(written);
  return payloadOf(written.payload, [[RuleAttr.handle, 7n]]);
}

/** Chains of which each has one rule, that the kernel tells under a handle. */
function withListedRule(largestBatch = Infinity) {
  const transport = new NarrowTransport(largestBatch);
  const questions: string[] = [];
  const queryEach: NfTransport["queryEach"] = ({ names }) => {
    questions.push(...names);
    return Promise.resolve(names.map((chain) => [listed(append(chain))]));
  };
  return { questions, transport: Object.assign(transport, { queryEach }) };
}

const remove = (chain: string): XtChange => ({ kind: "delete-rule", table, chain, rule });

Deno.test("NftXtables deletes a rule after it was given up once", async () => {
  const { questions, transport } = withListedRule();
  const ask = transport.queryEach;
  const stop = new AbortController();
  transport.queryEach = (query) => {
    stop.abort(new Error("given up"));
    return ask(query);
  };
  const xtables = new NftXtables(transport);
  const { signal } = stop;
  await assert.rejects(xtables.commit("IPv4", [remove("OUTPUT")], { signal }), /given up/);
  assert.ok(await xtables.commit("IPv4", [remove("OUTPUT")]));
  assert.deepEqual([questions, transport.sizes.length], [["OUTPUT", "OUTPUT"], 1]);
});

Deno.test("NftXtables deletes rules in parts where the socket does not take all at once", async () => {
  const removals = chains.map(remove);
  const { transport } = withListedRule(Math.ceil(encodedSize(removals) * 0.6));
  assert.ok(await new NftXtables(transport).commit("IPv4", removals));
  assert.equal(transport.sizes.length, 2);
});

Deno.test("NftXtables deletes a rule after the question for another one failed once", async () => {
  const { transport } = withListedRule();
  const ask = transport.queryEach;
  transport.queryEach = (query) =>
    query.names.includes("INPUT") ? Promise.reject(new Error("no answer")) : ask(query);
  const xtables = new NftXtables(transport);
  const both = [remove("OUTPUT"), remove("INPUT")];
  await assert.rejects(xtables.commit("IPv4", both), /no answer/);
  transport.queryEach = ask;
  assert.ok(await xtables.commit("IPv4", both));
});

Deno.test("NftXtables puts loads together bit by bit only where the socket takes them at once", () => {
  assert.equal(new NftXtables(new NarrowTransport(4_000)).compose, undefined);
  assert.ok(new NftXtables(new NarrowTransport(Infinity)).compose?.("IPv4"));
});

Deno.test("NftXtables asks for nothing more once a commit was given up between its parts", async () => {
  const both = [...changes, remove("OUTPUT")];
  // Two parts: the rule is deleted by the second one.
  const transport = new NarrowTransport(Math.ceil(encodedSize(both) * 0.6));
  const stop = new AbortController();
  const commit = transport.commit.bind(transport);
  transport.commit = (bytes) => {
    stop.abort(new Error("given up"));
    return commit(bytes);
  };
  // To delete a rule the kernel is asked for its handle: for the whole, and again for its part.
  let questions = 0;
  const queryEach = () => {
    questions++;
    return Promise.resolve([[listed(append("OUTPUT"))]]);
  };
  const { signal } = stop;
  const xtables = new NftXtables(Object.assign(transport, { queryEach }));
  await assert.rejects(xtables.commit("IPv4", both, { signal }), /given up/);
  assert.deepEqual([transport.sizes.length, questions], [1, 1]);
});
