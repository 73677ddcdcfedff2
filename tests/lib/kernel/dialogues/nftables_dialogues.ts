/** nf_tables: what it accepts and refuses, and whether its listing is understood. */
import assert from "node:assert/strict";
import { ElementList } from "../../../../lib/kernel/nftables/element_list.ts";
import { openNftablesInThread } from "../../../../lib/kernel/nftables/netlink_nftables.ts";
import { CommitSeries } from "../../../../lib/kernel/nf_tables/transport.ts";
import type { NftElement, NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { runCase } from "../nftables/behaviour.ts";
import { behaviourCases, table as behaviourTable } from "../nftables/behaviour_cases.ts";
import { sampleOperations, table } from "../nftables/sample.ts";
import { misjudgedObjects, misjudgedRules } from "../nftables/statements.ts";
import type { Dialogue } from "./dialogue.ts";

const behaviours: readonly Dialogue[] = behaviourCases.map((row) => ({
  name: `nf_tables: ${row.name}`,
  async hold() {
    using nftables = openNftablesInThread();
    await runCase(nftables, row);
  },
}));

const statements: readonly Dialogue[] = (["ip", "ip6"] as const).map((family) => ({
  name: `nf_tables: every statement, ${family}`,
  async hold() {
    using nftables = openNftablesInThread();
    await nftables.commit(table(family), sampleOperations(family));
    assert.deepEqual(await misjudgedRules(nftables, family), []);
    assert.deepEqual(await misjudgedObjects(nftables, family), []);
    assert.deepEqual(await nftables.listTables(), [table(family)]);
    assert.equal(await nftables.listTable({ family, name: "none" }), undefined);
    return await nftables.findChains(table(family), ["none", "target"]);
  },
}));

const ipv4 = table("ip");

async function sentenceOf(change: readonly NftOperation[], generation?: number): Promise<string> {
  using nftables = openNftablesInThread();
  await nftables.commit(ipv4, sampleOperations("ip"));
  const options = generation === undefined ? {} : { generation };
  return await nftables.commit(ipv4, change, options).then(() => "applied", String);
}

const refusals: readonly Dialogue[] = [
  {
    name: "nf_tables: a chain in use",
    hold: () => sentenceOf([{ kind: "delete-chain", chain: "target" }]),
  },
  {
    name: "nf_tables: a rule that looks into a missing set",
    hold: () =>
      sentenceOf([{
        kind: "add-rule",
        rule: {
          chain: "target",
          statements: [{ kind: "match", select: ["daddr"], in: { set: "none" } }],
        },
      }]),
  },
  {
    name: "nf_tables: a missing element, and what else failed",
    hold: () =>
      sentenceOf([
        { kind: "delete-elements", set: "cluster-ips", elements: [{ key: ["172.30.9.9"] }] },
        { kind: "delete-set", set: "none" },
      ]),
  },
  {
    name: "nf_tables: an element that is there with another verdict",
    hold: () =>
      sentenceOf([{
        kind: "add-elements",
        set: "service-ips",
        elements: [
          { key: ["172.30.0.9", "tcp", 80], value: { kind: "drop" } },
          { key: ["172.30.0.1", "tcp", 80], value: { kind: "drop" } },
        ],
      }]),
  },
  {
    name: "nf_tables: a batch that was based on another generation",
    hold: () => sentenceOf([{ kind: "add-chain", chain: { name: "late" } }], 1),
  },
  {
    name: "nf_tables: a question for a set that is not there",
    async hold() {
      using nftables = openNftablesInThread();
      await nftables.commit(ipv4, [{ kind: "add-table" }]);
      const none = { name: "none", key: ["addr"] } as const;
      return await nftables.listElements(ipv4, none).then(() => "listed", String);
    },
  },
];

const endpoints = { name: "endpoints", key: ["addr", "index"], value: ["addr"] } as const;
const endpoint = (index: number, value: string): NftElement => ({
  key: ["172.30.0.1", index],
  value: [value],
});

const others: readonly Dialogue[] = [
  {
    name: "nf_tables: a set that differs from what it should be",
    async hold() {
      using nftables = openNftablesInThread();
      const kernel = Array.from({ length: 600 }, (_, i) => endpoint(i, "10.128.0.1"));
      await nftables.commit(ipv4, [
        { kind: "add-table" },
        { kind: "add-set", set: endpoints },
        { kind: "add-elements", set: "endpoints", elements: kernel },
      ]);
      const desired = [...kernel.slice(1), endpoint(6000, "10.128.0.1")];
      desired[10] = endpoint(11, "10.128.0.2");
      return await nftables.compareElements(
        ipv4,
        endpoints,
        ElementList.of(endpoints, "ip", desired),
      );
    },
  },
  {
    name: "nf_tables: batches that build on a refused one",
    async hold() {
      using nftables = openNftablesInThread();
      const chain = (name: string) => [{ kind: "add-chain", chain: { name } } as const];
      const series = new CommitSeries();
      const said = (commit: Promise<unknown>) => commit.then(() => "applied", String);
      return [
        await said(nftables.commit(ipv4, [{ kind: "add-table" }], { series })),
        await said(nftables.commit(ipv4, [{ kind: "delete-chain", chain: "no" }], { series })),
        await said(nftables.commit(ipv4, chain("late"), { series })),
        await said(nftables.commit(ipv4, chain("other"), { series: new CommitSeries() })),
        (await nftables.listTable(ipv4))?.chains,
      ];
    },
  },
  {
    name: "nf_tables: which of these chains are there",
    prepare: ["nft 'add table ip nat'", "nft 'add chain ip nat b'", "nft 'add chain ip nat a'"],
    async hold() {
      using nftables = openNftablesInThread();
      const names = ["a", "no", "b"];
      return [
        await nftables.findChains({ family: "ip", name: "nat" }, names),
        await nftables.findChains({ family: "ip6", name: "nat" }, names),
      ];
    },
  },
  {
    name: "nf_tables: what others made",
    prepare: [
      "nft 'add table ip kube-proxy { flags dormant; }'",
      "nft 'add map ip kube-proxy ports { type inet_proto . inet_service : verdict; }'",
      "nft 'add element ip kube-proxy ports { tcp . 80 : accept, * : drop }'",
      "nft 'add chain ip kube-proxy services'",
      "nft 'add rule ip kube-proxy services tcp dport 80 jump { drop; }'",
      "nft 'add rule ip kube-proxy services ct state new limit rate 5/second counter accept'",
    ],
    async hold() {
      using nftables = openNftablesInThread();
      const listing = await nftables.listTable(behaviourTable);
      assert.ok(listing);
      const [ports] = listing.sets;
      return {
        ...listing,
        counts: Object.fromEntries(listing.counts),
        rules: listing.rules.map(({ chain }) => chain),
        elements: await nftables.listElements(behaviourTable, ports),
        difference: await nftables.compareElements(
          behaviourTable,
          ports,
          new ElementList(ports, behaviourTable.family),
        ),
      };
    },
  },
];

/** All talks with nf_tables. */
export const nftablesDialogues: readonly Dialogue[] = [
  ...behaviours,
  ...statements,
  ...refusals,
  ...others,
];
