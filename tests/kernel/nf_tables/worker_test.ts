import { Errno } from "../../../lib/kernel/errno.ts";
import { ElementList } from "../../../lib/kernel/nftables/element_list.ts";
import assert from "node:assert/strict";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { isNotFound } from "../../../lib/kernel/nf_tables/errors.ts";
import { NetlinkNftables, openNftables } from "../../../lib/kernel/nftables/netlink_nftables.ts";
import { CommitSeries } from "../../../lib/kernel/nf_tables/transport.ts";
import { readAttributes, readString } from "../../../lib/kernel/netlink/attributes.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import type { NfTransport } from "../../../lib/kernel/nf_tables/transport.ts";
import { attributesOf, Msg, RuleAttr } from "../../../lib/kernel/nf_tables/wire.ts";
import { WorkerTransport } from "../../../lib/kernel/nf_tables/worker_transport.ts";
import type { NftElement, NftOperation } from "../../../lib/kernel/nftables/operations.ts";
import { nftText } from "../../../lib/kernel/nftables/text.ts";
import { NftNamespace } from "../nftables/namespace.ts";
import { sampleOperations, table } from "../../lib/kernel/nftables/sample.ts";
import { refusedWith } from "../../lib/kernel/nf_tables/refused_with.ts";

/** A worker's thread starts in the namespace in which its owner is at that moment. */
function openIn(namespace: NftNamespace): Promise<NetlinkNftables> {
  const opening: { promise?: Promise<NetlinkNftables> } = {};
  inNetworkNamespace(namespace.path, () => {
    opening.promise = openNftables();
  });
  assert.ok(opening.promise);
  return opening.promise;
}

Deno.test("the worker writes and reads what the direct socket does", async () => {
  await using namespace = await NftNamespace.create();
  using byWorker = await openIn(namespace);
  using direct = namespace.open();
  await byWorker.commit(table("ip"), sampleOperations("ip"));
  assert.deepEqual(await byWorker.listTables(), [table("ip")]);
  assert.equal(await byWorker.generation(), await direct.generation());
  const [mine, theirs] = [
    await byWorker.listTable(table("ip")),
    await direct.listTable(table("ip")),
  ];
  assert.deepEqual(mine?.sets, theirs?.sets);
  assert.deepEqual(mine?.chains, theirs?.chains);
  assert.equal(mine?.rules.length, theirs?.rules.length);
  assert.equal(await byWorker.listTable({ family: "ip", name: "none" }), undefined);
});

Deno.test("the worker hands over refusals with the operation and the element", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = await openIn(namespace);
  await nftables.commit(table("ip"), sampleOperations("ip"));
  const refused = nftables.commit(table("ip"), [{
    kind: "add-elements",
    set: "service-ips",
    elements: [
      { key: ["172.30.0.9", "tcp", 80], value: { kind: "drop" } },
      { key: ["172.30.0.1", "tcp", 80], value: { kind: "drop" } },
    ],
  }]);
  await assert.rejects(refused, (error: Error) => {
    assert.ok(refusedWith(Errno.EEXIST)(error));
    assert.equal(
      error.message,
      'Cannot add element 172.30.0.1 . tcp . 80 to map "service-ips" in table "ip kube-proxy": ' +
        "object exists already (EEXIST)",
    );
    return true;
  });
  const missing = { name: "none", key: ["addr"] } as const;
  await assert.rejects(nftables.listElements(table("ip"), missing), isNotFound);
});

Deno.test("calls that overlap are done in order", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = await openIn(namespace);
  const set = { name: "ips", key: ["addr"] } as const;
  const results = [nftables.commit(table("ip"), [{ kind: "add-table" }, { kind: "add-set", set }])];
  for (let i = 0; i < 20; i++) {
    const operation = { kind: "add-chain", chain: { name: `chain-${i}` } } as const;
    results.push(nftables.commit(table("ip"), [operation]));
  }
  await Promise.all(results);
  const listing = await nftables.listTable(table("ip"));
  assert.deepEqual(
    listing?.chains.map(({ name }) => name),
    Array.from({ length: 20 }, (_, i) => `chain-${i}`),
  );
});

Deno.test("a batch behind a refused one of its series is not sent, others are", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = await openIn(namespace);
  const chain = (name: string) => [{ kind: "add-chain", chain: { name } } as const];
  const series = new CommitSeries();
  const made = nftables.commit(table("ip"), [{ kind: "add-table" }], { series });
  const refused = nftables.commit(table("ip"), [{ kind: "delete-chain", chain: "none" }], {
    series,
  });
  const late = nftables.commit(table("ip"), chain("late"), { series });
  const other = nftables.commit(table("ip"), chain("other"), { series: new CommitSeries() });
  await assert.rejects(refused, isNotFound);
  await assert.rejects(late, /a batch that this one builds on was refused/);
  const receipts = [await made, await other];
  const generation = await nftables.generation();
  assert.deepEqual(receipts, [
    { before: generation - 2, after: generation - 1 },
    { before: generation - 1, after: generation },
  ]);
  assert.deepEqual((await nftables.listTable(table("ip")))?.chains, [{ name: "other" }]);
});

Deno.test("compareElements() whose desired elements never come fails, and the next one does not", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = await openIn(namespace);
  const set = { name: "ips", key: ["addr"] } as const;
  await nftables.commit(table("ip"), [{ kind: "add-table" }, { kind: "add-set", set }]);
  const never = Promise.reject(new Error("no list"));
  await assert.rejects(nftables.compareElements(table("ip"), set, never), /no list/);
  const missing = { name: "none", key: ["addr"] } as const;
  await assert.rejects(
    nftables.compareElements(table("ip"), missing, new ElementList(missing, "ip")),
    isNotFound,
  );
  const element = { key: ["10.128.0.1"] };
  assert.deepEqual(
    await nftables.compareElements(table("ip"), set, ElementList.of(set, "ip", [element])),
    {
      missing: [element],
      extra: [],
    },
  );
});

Deno.test("compareElements() names what is missing, what is too much and what has another value", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = await openIn(namespace);
  const set = { name: "endpoints", key: ["addr", "index"], value: ["addr"] } as const;
  const element = (index: number, value: string): NftElement => ({
    key: ["172.30.0.1", index],
    value: [value],
  });
  const kernel = Array.from({ length: 5000 }, (_, i) => element(i, "10.128.0.1"));
  await nftables.commit(table("ip"), [
    { kind: "add-table" },
    { kind: "add-set", set },
    { kind: "add-elements", set: "endpoints", elements: kernel },
  ]);
  const desired = [...kernel.slice(1), element(6000, "10.128.0.1")];
  desired[10] = element(11, "10.128.0.2");
  assert.deepEqual(
    await nftables.compareElements(table("ip"), set, ElementList.of(set, "ip", desired)),
    {
      missing: [element(11, "10.128.0.2"), element(6000, "10.128.0.1")],
      extra: (await nftables.listElements(table("ip"), set)).filter(({ key }) =>
        key[1] === 0 || key[1] === 11
      ),
    },
  );
});

Deno.test("one question about each of many chains is answered in their order, also in a worker", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const chains = Array.from({ length: 300 }, (_, i) => ({ name: `chain-${i}`, rules: i % 3 }));
  await nftables.commit(table("ip"), [
    { kind: "add-table" },
    ...chains.flatMap(({ name, rules }): NftOperation[] => [
      { kind: "add-chain", chain: { name } },
      ...Array.from({ length: rules }, (): NftOperation => ({
        kind: "add-rule",
        rule: { chain: name, statements: [{ kind: "verdict", verdict: { kind: "drop" } }] },
      })),
    ]),
  ]);
  const opening = inNetworkNamespace(namespace.path, () => ({ worker: WorkerTransport.open() }));
  const transports: NfTransport[] = [
    inNetworkNamespace(namespace.path, () => new DirectTransport()),
    await opening.worker,
  ];
  const asked = {
    query: {
      op: "list rules",
      type: Msg.getRule,
      nfproto: 2,
      names: [[RuleAttr.table, table("ip").name]],
      dump: true,
    },
    attribute: RuleAttr.chain,
    names: ["none", ...chains.map(({ name }) => name)],
  } as const;
  const options = { attributes: [RuleAttr.handle] };
  const wholes = [asked, asked.query].map((each) =>
    transports.map((transport) => transport.digests({ asked: each, options }))
  );
  for (const [direct, worked] of await Promise.all(wholes.map((each) => Promise.all(each)))) {
    assert.ok(direct.length > 0);
    assert.deepEqual(worked, direct);
  }
  for (const transport of transports) {
    const answers = await transport.queryEach(asked);
    const chainOf = (payload: Uint8Array) =>
      readString(readAttributes(attributesOf(payload)).get(RuleAttr.chain) ?? new Uint8Array());
    assert.deepEqual(answers.map((payloads) => payloads.map(chainOf)), [
      [],
      ...chains.map(({ name, rules }) => Array<string>(rules).fill(name)),
    ]);
    transport.close();
  }
});

Deno.test("a closed worker refuses further calls and does not hang", async () => {
  await using namespace = await NftNamespace.create();
  const nftables = await openIn(namespace);
  const pending = nftables.listTable(table("ip"));
  nftables.close();
  await assert.rejects(pending, /it was closed/);
  await assert.rejects(nftables.generation(), /it was closed/);
});

Deno.test("a batch of as many elements as the socket takes is one commit, and lists as its text", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = await openIn(namespace);
  const set = {
    name: "endpoints",
    key: ["addr", "inet_proto", "inet_service", "index"],
    value: ["addr", "inet_service"],
  } as const;
  const elements: NftElement[] = [];
  for (let i = 0; i < Math.min(30_000, nftables.largestBatch / 100); i++) {
    const host = `${(i >> 8) & 255}.${i & 255}`;
    elements.push({ key: [`172.30.${host}`, "tcp", 80, 0], value: [`10.129.${host}`, 8080] });
  }
  const operations = [
    { kind: "add-table" },
    { kind: "add-set", set },
    { kind: "add-elements", set: "endpoints", elements },
  ] as const;
  const generation = await nftables.generation();
  await nftables.commit(table("ip"), operations, { generation });
  assert.equal(await nftables.generation(), generation + 1);
  await using byText = await NftNamespace.create();
  await byText.nft(["-f", "-"], nftText(table("ip"), operations));
  using fromText = byText.open();
  assert.deepEqual(
    await fromText.compareElements(table("ip"), set, ElementList.of(set, "ip", elements)),
    {
      missing: [],
      extra: [],
    },
  );
});

/** Sockets of netfilter that programs opened in the namespace: those of the kernel have port 0. */
function openSockets(namespace: NftNamespace): number {
  const found: string[] = [];
  inNetworkNamespace(namespace.path, () => {
    found.push(...Deno.readTextFileSync("/proc/thread-self/net/netlink").split("\n"));
  });
  const NETLINK_NETFILTER = "12";
  return found.map((line) => line.split(/\s+/))
    .filter(([, protocol, port]) => protocol === NETLINK_NETFILTER && port !== "0").length;
}

Deno.test("a worker that is closed leaves no socket, which would hold the kernel's module", async () => {
  await using namespace = await NftNamespace.create();
  {
    using nftables = await openIn(namespace);
    await nftables.commit(table("ip"), sampleOperations("ip"));
    assert.ok(openSockets(namespace) >= 1);
  }
  assert.equal(openSockets(namespace), 0);
});
