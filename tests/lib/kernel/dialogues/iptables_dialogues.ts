/** iptables' rules in nf_tables, and the packet counters that rules may name. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { DirectTransport } from "../../../../lib/kernel/nf_tables/direct_transport.ts";
import { NetlinkNfacct } from "../../../../lib/kernel/nfacct/netlink_nfacct.ts";
import { NetlinkIpset } from "../../../../lib/kernel/ipset/netlink_ipset.ts";
import { loadedIpset } from "./ipset_dialogues.ts";
import { NftXtables } from "../../../../lib/kernel/xtables/nft_xtables.ts";
import type { XtChange, XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { checkCase } from "../xtables/behaviour.ts";
import { behaviourCases } from "../xtables/behaviour_cases.ts";
import { sampleChains, sampleChanges } from "../xtables/sample_chains.ts";
import { sampleCounter, sampleSet } from "../xtables/sample_rules.ts";
import type { Dialogue } from "./dialogue.ts";

const behaviours: readonly Dialogue[] = behaviourCases.map((row) => ({
  name: `iptables: ${row.name}`,
  hold: () => withXtables((xtables) => checkCase(xtables, row)),
}));

const samples: readonly Dialogue[] = ipFamilies.flatMap((family) => [
  {
    name: `iptables: every rule is read as it was written, ${family}`,
    hold: () =>
      withXtables(async (xtables) => {
        new NetlinkNfacct().ensure(sampleCounter);
        await ipset.commit([{ kind: "create", set: sampleSet }]);
        await xtables.commit(family, sampleChanges(family));
        const reading = await xtables.read(family, ["nat", "filter"]);
        for (const { chain, name, rule, table, text } of sampleChains(family)) {
          const listed = await reading.rules(table, [chain]);
          assert.deepEqual(
            listed.get(chain)?.map((each) => [each.key, each.rule]),
            [[text, rule]],
            name,
          );
        }
        for (const table of ["nat", "filter"] as const) {
          const own = sampleChains(family).filter((sample) => sample.table === table);
          const wanted = new Map(own.map(({ chain, rule }) => [chain, [rule]]));
          assert.deepEqual(await reading.differing(table, wanted), []);
          const [first] = own;
          wanted.set(first.chain, []);
          assert.deepEqual(await reading.differing(table, wanted), [first.chain]);
        }
        return reading.chains;
      }),
  },
  {
    name: `iptables: the chains of the tables, ${family}`,
    hold: () =>
      withXtables(async (xtables) => {
        const tables = ["raw", "mangle", "nat", "filter", "security"] as const;
        const changes = tables.map((table): XtChange => ({ kind: "add-table", table }));
        await xtables.commit(family, changes);
        return (await xtables.read(family, tables)).chains;
      }),
  },
]);

const others: readonly Dialogue[] = [
  {
    name: "iptables: rules come and go",
    hold: () =>
      withXtables(async (xtables) => {
        const place = { table: "nat", chain: "OUTPUT" } as const;
        const rule = (text: string) => ({ matches: [{ kind: "comment", text }] }) as const;
        await xtables.commit("IPv4", [{ kind: "add-table", table: "nat" }]);
        for (let round = 0; round < 2; round++) {
          await xtables.commit(
            "IPv4",
            ["one", "two", "two"].map((text): XtChange => ({
              kind: "insert-rule",
              ...place,
              rule: rule(text),
            })),
          );
          for (const text of ["two", "one"]) {
            await xtables.commit("IPv4", [{ kind: "delete-rule", ...place, rule: rule(text) }]);
          }
        }
        const listed = await (await xtables.read("IPv4", ["nat"])).rules("nat", ["OUTPUT"]);
        return listed.get("OUTPUT")?.map(({ key }) => key);
      }),
  },
  {
    name: "iptables: what a kernel lacks is named",
    hold: () =>
      withXtables(async (xtables) => {
        const rule = { matches: [], target: { kind: "masquerade", randomFully: true } } as const;
        const changes: readonly XtChange[] = [
          { kind: "add-table", table: "filter" },
          { kind: "append-rule", table: "filter", chain: "OUTPUT", rule },
        ];
        return await xtables.commit("IPv4", changes).then(() => "applied", String);
      }),
  },
  {
    name: "iptables: a rule that looks into a missing set",
    hold: () =>
      withXtables(async (xtables) => {
        const rule: XtRule = {
          matches: [{ kind: "set", name: "NONE", sides: ["dst"] }],
          target: { kind: "accept" },
        };
        const changes: readonly XtChange[] = [
          { kind: "add-table", table: "filter" },
          { kind: "append-rule", table: "filter", chain: "OUTPUT", rule },
          { kind: "insert-rule", table: "filter", chain: "OUTPUT", rule },
        ];
        const sentence = await xtables.commit("IPv4", changes).then(() => "applied", String);
        return [sentence, (await xtables.read("IPv4", ["filter"])).chains];
      }),
  },
  {
    name: "iptables: rules of the tool",
    prepare: [
      "iptables-nft -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j RETURN",
      "iptables-nft -t nat -A PREROUTING -p tcp --dport 80 -j DNAT --to-destination 10.128.0.5:8080",
      "iptables-nft -P FORWARD DROP",
      "iptables-nft -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    ],
    hold: () =>
      withXtables(async (xtables) => {
        const reading = await xtables.read("IPv4", ["nat", "filter"]);
        const rules = async (table: "filter" | "nat", chain: string) =>
          (await reading.rules(table, [chain])).get(chain)?.map(({ key, rule }) => [key, rule]);
        return [reading.chains, await rules("nat", "PREROUTING"), await rules("filter", "FORWARD")];
      }),
  },
  {
    name: "packet counters",
    hold: () => {
      const counters = new NetlinkNfacct();
      const values = [counters.read("none"), counters.remove("none")];
      counters.ensure("some");
      counters.ensure("some");
      const { packets, bytes } = counters.read("some") ?? {};
      values.push(counters.remove("some"), counters.read("some"));
      return Promise.resolve([String(packets), String(bytes), ...values.map(String)]);
    },
  },
];

const ipset = new NetlinkIpset(loadedIpset);

async function withXtables<T>(action: (xtables: NftXtables) => Promise<T>): Promise<T> {
  const transport = new DirectTransport();
  try {
    return await action(new NftXtables(transport, ipset));
  } finally {
    transport.close();
  }
}

/** All talks about iptables' rules. */
export const iptablesDialogues: readonly Dialogue[] = [...behaviours, ...samples, ...others];
