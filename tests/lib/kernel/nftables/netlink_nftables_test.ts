/** What is asked of nf_tables and how often, with a transport that answers as a test wants it. */
import assert from "node:assert/strict";
import { ElementList } from "../../../../lib/kernel/nftables/element_list.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { readMessages } from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { NfTablesError } from "../../../../lib/kernel/nf_tables/errors.ts";
import {
  type CommitResult,
  CommitSeries,
  type LookUpResult,
  type NfQuery,
  type NfQueryEach,
  type NfTransport,
} from "../../../../lib/kernel/nf_tables/transport.ts";
import {
  ChainAttr,
  ElemListAttr,
  genmsg,
  Msg,
  TableAttr,
} from "../../../../lib/kernel/nf_tables/wire.ts";
import { encodeBatch } from "../../../../lib/kernel/nftables/encode.ts";
import { ElementEncoder } from "../../../../lib/kernel/nftables/encode_elements.ts";
import { NetlinkNftables } from "../../../../lib/kernel/nftables/netlink_nftables.ts";
import type {
  NftElement,
  NftOperation,
  NftSet,
} from "../../../../lib/kernel/nftables/operations.ts";

const table = { family: "ip", name: "kube-proxy" } as const;
const ports: NftSet = { name: "ports", key: ["inet_proto", "inet_service"], value: "verdict" };
const ranges: NftSet = { name: "ranges", key: ["addr"], interval: true };
const element: NftElement = { key: ["tcp", 80], value: { kind: "drop" } };
const adding = (set: string, ...elements: readonly NftElement[]): NftOperation[] => [
  { kind: "add-elements", set, elements },
];

/** Answers of a kernel; whatever is not answered is a fault. */
interface Answers {
  readonly generations?: readonly number[];
  query?(query: NfQuery): readonly Uint8Array[];
  commit?(bytes: Uint8Array<ArrayBuffer>): CommitResult;
  lookUp?(elements: Uint8Array): LookUpResult;
}

/** Keeps what was asked, by its sentence. */
class ScriptedTransport implements NfTransport {
  readonly largestBatch = 4711;
  readonly asked: string[] = [];
  readonly series: (CommitSeries | undefined)[] = [];
  isClosed = false;
  readonly #answers: Answers;
  #generations: number[];

  constructor(answers: Answers) {
    this.#answers = answers;
    this.#generations = [...answers.generations ?? []];
  }

  generation(): Promise<number> {
    const next = this.#generations.length > 1 ? this.#generations.shift() : this.#generations[0];
    return Promise.resolve(next ?? 1);
  }

  commit(bytes: Uint8Array<ArrayBuffer>, series?: CommitSeries): Promise<CommitResult> {
    this.asked.push("commit");
    this.series.push(series);
    const applied = {
      kind: "applied",
      bytes,
      receipt: { before: 1, after: 2 },
      echoes: [],
    } as const;
    return Promise.try(() => this.#answers.commit?.(bytes) ?? applied);
  }

  query(query: NfQuery): Promise<readonly Uint8Array[]> {
    this.asked.push(query.op);
    return Promise.try(() => this.#answers.query?.(query) ?? []);
  }

  lookUp(query: NfQuery, elements: Uint8Array<ArrayBuffer>): Promise<LookUpResult> {
    this.asked.push(query.op);
    return Promise.try(() => this.#answers.lookUp?.(elements) ?? "same");
  }

  queryEach({ attribute, names, query }: NfQueryEach): Promise<readonly (readonly Uint8Array[])[]> {
    this.asked.push(query.op);
    return Promise.try(() =>
      names.map((name) =>
        this.#answers.query?.({ ...query, names: [...query.names, [attribute, name]] }) ?? []
      )
    );
  }

  visit = () => Promise.reject(new Error("not asked"));
  digests = () => Promise.reject(new Error("not asked"));
  compare = () => Promise.reject(new Error("not asked"));

  close(): void {
    this.isClosed = true;
  }
}

function open(answers: Answers = {}) {
  const transport = new ScriptedTransport(answers);
  return { transport, nftables: new NetlinkNftables(transport) };
}

/** The kernel describes a set by the attributes that make it. */
function listed(set: NftSet): Uint8Array {
  const { bytes } = encodeBatch(table, [{ kind: "add-set", set }], { setOf: () => undefined });
  const message = [...readMessages(bytes)].find(({ type }) => type === Msg.newSet);
  return message!.payload;
}

function payload(nfproto: number, write: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter();
  writer.begin({ type: 0, flags: 0, sequence: 0 }, genmsg(nfproto));
  write(writer);
  writer.end();
  return writer.bytes().slice(16);
}

function refuse(errno: number): never {
  throw new NetlinkError({ op: "ask", errno });
}

Deno.test("a set is asked for before its first elements are written, and not again", async () => {
  const { nftables, transport } = open({ query: () => [listed(ports)] });
  await nftables.commit(table, [...adding("ports", element), ...adding("ports", element)]);
  await nftables.commit(table, adding("ports", element));
  await nftables.commit(table, [{ kind: "delete-elements", set: "ports", elements: [element] }]);
  const about = 'read set "ports" of table "ip kube-proxy"';
  assert.deepEqual(transport.asked, [about, "commit", "commit", "commit"]);
});

Deno.test("a set that a batch makes is asked for neither in it nor later, one that it removes is", async () => {
  const { nftables, transport } = open({ query: () => [listed(ports)] });
  await nftables.commit(table, [{ kind: "add-set", set: ports }, ...adding("ports", element)]);
  await nftables.commit(table, adding("ports", element));
  await nftables.commit(table, [{ kind: "delete-set", set: "ports" }]);
  await nftables.commit(table, adding("ports", element));
  assert.deepEqual(transport.asked.map((each) => each.split(" ")[0]), [
    "commit",
    "commit",
    "commit",
    "read",
    "commit",
  ]);
});

Deno.test("sets are asked for again after a refusal", async () => {
  let refusals = 1;
  const { nftables, transport } = open({
    query: () => [listed(ports)],
    commit: (bytes) =>
      refusals-- > 0
        ? { kind: "refused", bytes, refusals: [{ sequence: 1, errno: Errno.EBUSY }] }
        : { kind: "applied", bytes, receipt: { before: 1, after: 2 }, echoes: [] },
  });
  const refused = nftables.commit(table, adding("ports", element));
  await assert.rejects(refused, {
    message: 'Cannot add 1 elements to map "ports" in table "ip kube-proxy": ' +
      "object is in use (EBUSY)",
  });
  await nftables.commit(table, adding("ports", element));
  assert.equal(transport.asked.filter((each) => each.startsWith("read")).length, 2);
});

for (
  const { name, query } of [
    { name: "that is not there", query: () => refuse(Errno.ENOENT) },
    { name: "that the kernel says nothing of", query: () => [] },
  ]
) {
  Deno.test(`elements of a set ${name} are refused before anything is sent`, async () => {
    const { nftables, transport } = open({ query });
    const operations: NftOperation[] = [
      { kind: "add-table" },
      ...adding("ports", element),
    ];
    await assert.rejects(nftables.commit(table, operations), (error) => {
      assert.ok(error instanceof NfTablesError);
      assert.deepEqual(error.failures.map(({ operation }) => operation), [1]);
      assert.match(error.message, /^Cannot add 1 elements to set "ports" in table "ip kube-proxy"/);
      return true;
    });
    assert.ok(!transport.asked.includes("commit"));
  });
}

Deno.test("a question for a set that fails for another reason fails the commit with it", async () => {
  const { nftables } = open({ query: () => refuse(Errno.EPERM) });
  await assert.rejects(nftables.commit(table, adding("ports", element)), NetlinkError);
});

Deno.test("a commit of nothing says nothing, and one that was given up is not sent", async () => {
  const { nftables, transport } = open({ query: () => [listed(ports)] });
  assert.equal(await nftables.commit(table, []), undefined);
  const stop = new AbortController();
  const committing = nftables.commit(table, adding("ports", element), { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(committing, /enough/);
  await assert.rejects(nftables.commit(table, [], { signal: stop.signal }), /enough/);
  assert.ok(!transport.asked.includes("commit"));
});

Deno.test("a commit hands on its series, and the generation that it builds on", async () => {
  const sizes: number[] = [];
  const { nftables, transport } = open({
    commit: (bytes) => {
      sizes.push(bytes.length);
      return { kind: "applied", bytes, receipt: { before: 1, after: 2 }, echoes: [] };
    },
  });
  const series = new CommitSeries();
  const receipt = await nftables.commit(table, [{ kind: "add-table" }], { series });
  assert.deepEqual(receipt, { before: 1, after: 2 });
  await nftables.commit(table, [{ kind: "add-table" }], { generation: 7 });
  assert.deepEqual(transport.series, [series, undefined]);
  // The attribute with the generation.
  assert.equal(sizes[1] - sizes[0], 8);
});

const described: readonly (readonly [NftOperation, says: string])[] = [
  [{ kind: "add-table" }, 'add table "ip kube-proxy"'],
  [{ kind: "delete-table" }, 'delete table "ip kube-proxy"'],
  [{ kind: "delete-chain", chain: "a" }, 'delete chain "a" in table "ip kube-proxy"'],
  [{ kind: "flush-chain", chain: "a" }, 'flush chain "a" in table "ip kube-proxy"'],
  [{ kind: "add-set", set: ports }, 'add map "ports" in table "ip kube-proxy"'],
  [{ kind: "delete-set", set: "x" }, 'delete set "x" in table "ip kube-proxy"'],
  [{ kind: "flush-set", set: "x" }, 'flush set "x" in table "ip kube-proxy"'],
];

for (const [operation, says] of described) {
  Deno.test(`a refusal says that one cannot ${says}`, async () => {
    const refusing = (sequence: number) =>
      open({
        commit: (bytes) => ({
          kind: "refused",
          bytes,
          refusals: [{ sequence, errno: Errno.EBUSY }],
        }),
      }).nftables.commit(table, [operation]);
    await assert.rejects(refusing(1), { message: `Cannot ${says}: object is in use (EBUSY)` });
    await assert.rejects(refusing(0), /^NfTablesError: Cannot change table "ip kube-proxy": /);
  });
}

/** A table that answers to its name, without anything in it. */
function emptyTable({ type }: NfQuery): readonly Uint8Array[] {
  if (type !== Msg.getTable) return [];
  return [tablePayload("kube-proxy")];
}

function tablePayload(name: string, objects?: number): Uint8Array {
  return payload(2, (writer) => {
    writer.string(TableAttr.name, name);
    if (objects !== undefined) writer.u32be(TableAttr.use, objects);
  });
}

function chainPayload(table: string, name: string, flags = 0): Uint8Array {
  return payload(2, (writer) => {
    writer.string(ChainAttr.table, table);
    writer.string(ChainAttr.name, name);
    writer.u32be(ChainAttr.flags, flags);
  });
}

const readings: readonly (readonly [generations: readonly number[], tables: number])[] = [
  [[5], 1],
  [[5, 6, 6, 6], 2],
  // It moves during each reading, and the fifth has to do.
  [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 5],
];

for (const [generations, tables] of readings) {
  Deno.test(`a table is read ${tables} times where the generations are ${generations}`, async () => {
    const { nftables, transport } = open({ generations, query: emptyTable });
    const listing = await nftables.listTable(table);
    assert.deepEqual(listing?.chains, []);
    const objects = transport.asked.filter((each) => each.includes("list objects"));
    assert.equal(objects.length, tables);
  });
}

Deno.test("a table that is not there has no listing, and one that cannot be read is a failure", async () => {
  assert.equal(await open().nftables.listTable(table), undefined);
  const missing = open({
    query: () => [tablePayload("another")],
  });
  assert.equal(await missing.nftables.listTable(table), undefined);
  const forbidden = open({ query: () => refuse(Errno.EPERM) });
  await assert.rejects(forbidden.nftables.listTable(table), NetlinkError);
});

Deno.test("a listing leaves out chains of other tables and those of a single rule", async () => {
  const { nftables } = open({
    query: (query) =>
      query.type === Msg.getChain
        ? [
          chainPayload("nat", "a"),
          chainPayload("kube-proxy", "b"),
          chainPayload("kube-proxy", "c", 4),
        ]
        : emptyTable(query),
  });
  const listing = await nftables.listTable(table);
  assert.deepEqual(listing?.chains, [{ name: "b" }]);
});

/** A kernel with chains of ours, others' chains in two tables, and a named set of ours. */
function crowded({ ours, others, refusal = Errno.ENOENT }: {
  readonly ours: readonly string[];
  readonly others: number;
  readonly refusal?: number;
}) {
  return open({
    query: ({ dump, names, type }) => {
      if (type === Msg.getTable) {
        const own = tablePayload("kube-proxy", ours.length + 1);
        return [tablePayload("filter", 1), own, tablePayload("nat", others - 1)];
      }
      if (type === Msg.getSet) return [listed(ports)];
      if (type !== Msg.getChain) return [];
      if (dump) return ours.map((name) => chainPayload("kube-proxy", name));
      const name = names.find(([attribute]) => attribute === ChainAttr.name)?.[1] ?? "";
      return ours.includes(name) ? [chainPayload("kube-proxy", name)] : refuse(refusal);
    },
  });
}

/** How chains were asked for since the last call. */
const chainQuestions = (asked: string[]) =>
  asked.splice(0).filter((each) => each.includes("chains")).map((each) => each.split(" ")[0]);

Deno.test("a listing asks for the expected chains by name where others have ten times as many", async () => {
  const ours = ["a", "b", "c"];
  for (const [others, question] of [[30, "list"], [31, "look"]] as const) {
    const { nftables, transport } = crowded({ ours, others });
    const listing = await nftables.listTable(table, ["c", "b", "a"]);
    const names = listing?.chains.map(({ name }) => name);
    assert.deepEqual(names, question === "list" ? ours : ["c", "b", "a"]);
    assert.deepEqual(chainQuestions(transport.asked), [question]);
  }
});

Deno.test("a listing lists all chains where the expected ones are not those that are there", async () => {
  const ours = ["a", "b", "c"];
  const { nftables, transport } = crowded({ ours, others: 1_000 });
  const names = async (expected?: readonly string[]) =>
    (await nftables.listTable(table, expected))?.chains.map(({ name }) => name);
  for (const expected of [["a", "b"], ["a", "b", "c", "d"], [], undefined]) {
    assert.deepEqual(await names(expected), ours);
    assert.deepEqual(chainQuestions(transport.asked), ["list"], `${expected}`);
  }
  assert.deepEqual(await names(["a", "b", "d"]), ours);
  assert.deepEqual(chainQuestions(transport.asked), ["look", "list"]);
  const empty = crowded({ ours: [], others: 1_000 });
  assert.deepEqual((await empty.nftables.listTable(table, []))?.chains, []);
  assert.deepEqual(chainQuestions(empty.transport.asked), ["list"]);
  const forbidden = crowded({ ours, others: 1_000, refusal: Errno.EPERM });
  await assert.rejects(forbidden.nftables.listTable(table, ["a", "b", "d"]), NetlinkError);
});

Deno.test("a listing says what sets there are, and teaches them", async () => {
  const { nftables, transport } = open({
    query: (query) => query.type === Msg.getSet ? [listed(ports)] : emptyTable(query),
  });
  const listing = await nftables.listTable(table);
  assert.deepEqual(listing?.sets, [ports]);
  assert.deepEqual([...listing?.counts ?? []], []);
  await nftables.commit(table, adding("ports", element));
  assert.ok(!transport.asked.some((each) => each.startsWith("read set")));
});

Deno.test("listTables() leaves out tables of families that nobody here speaks of", async () => {
  const named = (nfproto: number, name: string) =>
    payload(nfproto, (writer) => writer.string(TableAttr.name, name));
  const { nftables } = open({
    query: () => [named(2, "nat"), named(1, "filter"), named(10, "kube-proxy")],
  });
  assert.deepEqual(await nftables.listTables(), [
    { family: "ip", name: "nat" },
    { family: "ip6", name: "kube-proxy" },
  ]);
});

Deno.test("findChains() gives those that the kernel knows", async () => {
  const { nftables } = open({
    query: ({ names }) =>
      names.at(-1)?.[1] === "there" ? [new Uint8Array(4)] : refuse(Errno.ENOENT),
  });
  assert.deepEqual(await nftables.findChains(table, ["no", "there", "neither"]), ["there"]);
  const forbidden = open({ query: () => refuse(Errno.EPERM) }).nftables;
  await assert.rejects(forbidden.findChains(table, ["there"]), NetlinkError);
});

Deno.test("holdsElements() is true only where all of them are the same", async () => {
  for (
    const [answer, expected] of [["same", true], ["different", false], ["missing", false]] as const
  ) {
    const { nftables } = open({ lookUp: () => answer });
    assert.equal(await nftables.holdsElements(table, ports, [element]), expected, answer);
  }
  const { nftables, transport } = open();
  assert.equal(await nftables.holdsElements(table, ports, []), true);
  assert.deepEqual(transport.asked, []);
});

Deno.test("hasCatchAll() asks for the element without a key, which old kernels do not have", async () => {
  const asked: Uint8Array[] = [];
  const answering = (lookUp: Answers["lookUp"]) =>
    open({ lookUp }).nftables.hasCatchAll(table, ports);
  const there = await answering((elements) => {
    asked.push(elements);
    return "different";
  });
  assert.equal(there, true);
  const writer = new MessageWriter();
  new ElementEncoder(ports, "ip").remove(writer, { key: [] });
  assert.deepEqual(asked, [writer.bytes()]);
  assert.equal(await answering(() => "missing"), false);
  assert.equal(await answering(() => refuse(Errno.EINVAL)), false);
  await assert.rejects(answering(() => refuse(Errno.EPERM)), NetlinkError);
});

Deno.test("compareElements() of intervals compares what is listed", async () => {
  const encoder = new ElementEncoder(ranges, "ip");
  const list = payload(2, (writer) => {
    const start = writer.beginNested(ElemListAttr.elements);
    for (const key of ["10.0.0.0/8", "192.0.2.0/24"]) encoder.add(writer, { key: [key] });
    writer.endNested(start);
  });
  const { nftables } = open({ query: () => [list] });
  const wanted: NftElement[] = [{ key: ["192.0.2.0/24"] }, { key: ["198.51.100.0/24"] }];
  assert.deepEqual(
    await nftables.compareElements(table, ranges, ElementList.of(ranges, table.family, wanted)),
    {
      missing: [wanted[1]],
      extra: [{ key: ["10.0.0.0/8"] }],
    },
  );
});

Deno.test("closing nftables closes its transport", () => {
  const { nftables, transport } = open();
  assert.equal(nftables.largestBatch, 4711);
  nftables[Symbol.dispose]();
  assert.equal(transport.isClosed, true);
});
