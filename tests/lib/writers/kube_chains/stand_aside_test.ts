/** Chains that iptables and userspace mode left decide nothing once another mode serves, and are there still. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
import { XtablesError } from "../../../../lib/kernel/xtables/errors.ts";
import type { XtRule, XtTable } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtBackend } from "../../../../lib/kernel/xtables/xtables.ts";
import { leftovers as iptables } from "../../../../lib/writers/iptables/leftovers.ts";
import type { Leftover } from "../../../../lib/writers/leftovers.ts";
import { leftovers as userspace } from "../../../../lib/writers/userspace/leftovers.ts";

const { signal } = new AbortController();
const drop: XtRule = { matches: [], target: { kind: "drop" } };
const asleep =
  '-m comment --comment "another proxy mode serves, and kube-proxy cleanup removes this chain" -j RETURN';

/** `TABLE CHAIN`: each holds one rule, but for those whose name ends with `!`. */
function kernelWith(
  backend: XtBackend,
  chains: readonly string[],
  options: { readonly sysctl?: FakeSysctl } = {},
): FakeKernel {
  const kernel = new FakeKernel(options);
  for (const family of ipFamilies) {
    for (const table of ["nat", "filter"] as const) {
      kernel.legacyTables.tables.set(`${family} ${table}`, { entries: 9, bytes: 2000 });
      kernel.rules[backend].edit(family, [{ kind: "add-table", table }]);
    }
    kernel.rules[backend].edit(
      family,
      chains.flatMap((each) => {
        const [table, chain] = each.replace("!", "").split(" ") as [XtTable, string];
        const rule = { kind: "append-rule", table, chain, rule: drop } as const;
        return [{ kind: "add-chain", table, chain } as const, ...each.endsWith("!") ? [] : [rule]];
      }),
    );
  }
  return kernel;
}

function found(backend: string, family: IpFamily = "IPv4"): Leftover {
  return { mode: "iptables", backend, family, objects: [] };
}

async function firstRules(
  kernel: FakeKernel,
  backend: XtBackend,
  family: IpFamily = "IPv4",
): Promise<Readonly<Record<string, string>>> {
  const reading = await kernel.rules[backend].read(family, ["nat", "filter"]);
  const firsts: Record<string, string> = {};
  for (const { isBuiltIn, name, table } of reading.chains) {
    if (isBuiltIn) continue;
    const rules = (await reading.rules(table, [name])).get(name) ?? [];
    assert.ok(rules.length < 2 || rules.at(-1)?.key === "-j DROP", "what was there is there still");
    firsts[`${table} ${name}`] = rules[0]?.key ?? "";
  }
  return firsts;
}

const ofIptables = [
  "nat KUBE-SERVICES",
  "nat KUBE-NODEPORTS",
  "nat KUBE-POSTROUTING",
  "filter KUBE-SERVICES",
  "filter KUBE-EXTERNAL-SERVICES",
  "filter KUBE-PROXY-FIREWALL",
  "filter KUBE-FORWARD",
];

for (const backend of ["nft", "legacy"] as const) {
  Deno.test(`chains of iptables mode that decide give every packet back: ${backend}`, async () => {
    const kernel = kernelWith(backend, ofIptables);
    const options = { found: [found(backend)], signal };
    assert.deepEqual(await iptables.standAside?.(kernel, options), [
      `chain KUBE-SERVICES of table nat (${backend}, IPv4)`,
      `chain KUBE-SERVICES of table filter (${backend}, IPv4)`,
      `chain KUBE-EXTERNAL-SERVICES of table filter (${backend}, IPv4)`,
      `chain KUBE-PROXY-FIREWALL of table filter (${backend}, IPv4)`,
    ]);
    assert.deepEqual(await firstRules(kernel, backend), {
      "nat KUBE-SERVICES": asleep,
      "nat KUBE-NODEPORTS": "-j DROP",
      "nat KUBE-POSTROUTING": "-j DROP",
      "filter KUBE-SERVICES": asleep,
      "filter KUBE-EXTERNAL-SERVICES": asleep,
      "filter KUBE-PROXY-FIREWALL": asleep,
      "filter KUBE-FORWARD": "-j DROP",
    });
    const others = Object.values(await firstRules(kernel, backend, "IPv6"));
    assert.ok(others.every((rule) => rule === "-j DROP"), "no other family");
    const { length } = kernel.rules[backend].commits;
    assert.equal(length, 1);
    assert.deepEqual(await iptables.standAside?.(kernel, options), []);
    assert.equal(kernel.rules[backend].commits.length, length, "nothing is written when repeated");
  });
}

Deno.test("what ipvs mode has in the same place decides on", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  const kernel = kernelWith("nft", [...ofIptables, "nat KUBE-LOAD-BALANCER"], { sysctl });
  const aside = await iptables.standAside?.(kernel, { found: [found("nft")], signal });
  assert.deepEqual(aside, [
    "chain KUBE-SERVICES of table filter (nft, IPv4)",
    "chain KUBE-EXTERNAL-SERVICES of table filter (nft, IPv4)",
  ]);
});

Deno.test("a chain that is empty or not there is left as it is", async () => {
  const kernel = kernelWith("nft", ["nat KUBE-SERVICES", "filter KUBE-SERVICES!"]);
  const aside = await iptables.standAside?.(kernel, { found: [found("nft")], signal });
  assert.deepEqual(aside, ["chain KUBE-SERVICES of table nat (nft, IPv4)"]);
});

Deno.test("chains of userspace mode give every packet back, in each family that is told", async () => {
  const kernel = kernelWith("nft", ["nat KUBE-PORTALS-HOST", "nat KUBE-NODEPORT-CONTAINER"]);
  const both = ipFamilies.map((family) => found("nft", family));
  assert.equal((await userspace.standAside?.(kernel, { found: both, signal }))?.length, 4);
  for (const family of ipFamilies) {
    const rules = Object.values(await firstRules(kernel, "nft", family));
    assert.deepEqual(rules, [asleep, asleep]);
  }
});

Deno.test("a commit that somebody else was in the way of is tried again, and no other", async () => {
  const kernel = kernelWith("nft", ofIptables);
  const options = { found: [found("nft"), found("nftables")], signal };
  const refusal = (of: "locked" | "not-permitted") => ({ refusal: of, message: of });
  kernel.rules.nft.failNextCommit(refusal("locked"));
  assert.equal((await iptables.standAside?.(kernel, options))?.length, 4);
  const other = kernelWith("nft", ofIptables);
  other.rules.nft.refuse(() => refusal("not-permitted"));
  await assert.rejects(async () => await iptables.standAside?.(other, options), /not-permitted/);
  const busy = kernelWith("nft", ofIptables);
  let tried = 0;
  busy.rules.nft.refuse(() => {
    tried++;
    return refusal("locked");
  });
  await assert.rejects(async () => await iptables.standAside?.(busy, options), /locked/);
  assert.equal(tried, 12, "three attempts at four chains");
  const stop = { ...options, signal: AbortSignal.abort() };
  await assert.rejects(async () =>
    await iptables.standAside?.(kernelWith("nft", ofIptables), stop)
  );
});

Deno.test("the rule that gives back stands before all others, whose order stays, and again where one was put before it", async () => {
  const kernel = kernelWith("nft", ["nat KUBE-SERVICES"]);
  const services = { table: "nat", chain: "KUBE-SERVICES" } as const;
  const accept: XtRule = { matches: [], target: { kind: "accept" } };
  kernel.rules.nft.edit("IPv4", [{ kind: "insert-rule", ...services, rule: accept }]);
  const told = ["chain KUBE-SERVICES of table nat (nft, IPv4)"];
  const options = { found: [found("nft")], signal };
  const keys = async () => {
    const reading = await kernel.rules.nft.read("IPv4", ["nat"]);
    const rules = await reading.rules(services.table, [services.chain]);
    return rules.get(services.chain)?.map(({ key }) => key);
  };
  assert.deepEqual(await iptables.standAside?.(kernel, options), told);
  assert.deepEqual(await keys(), [asleep, "-j ACCEPT", "-j DROP"]);
  kernel.rules.nft.edit("IPv4", [{ kind: "insert-rule", ...services, rule: drop }]);
  assert.deepEqual(await iptables.standAside?.(kernel, options), told, "it decided again");
  assert.deepEqual(await keys(), [asleep, "-j DROP", asleep, "-j ACCEPT", "-j DROP"]);
});

Deno.test("a rule that gives only some packets back is nobody's standing aside", async () => {
  const kernel = kernelWith("nft", ["nat KUBE-SERVICES!"]);
  const some: XtRule = {
    source: { cidr: "10.128.0.0/14" },
    matches: [],
    target: { kind: "return" },
  };
  kernel.rules.nft.edit("IPv4", [
    { kind: "append-rule", table: "nat", chain: "KUBE-SERVICES", rule: some },
  ]);
  const aside = await iptables.standAside?.(kernel, { found: [found("nft")], signal });
  assert.deepEqual(aside, ["chain KUBE-SERVICES of table nat (nft, IPv4)"]);
});

for (const refusal of ["stale", "busy", "not-found"] as const) {
  Deno.test(`what somebody else wrote in between is read before the next attempt: ${refusal}`, async () => {
    const kernel = kernelWith("nft", ofIptables);
    const gone = { table: "filter", chain: "KUBE-SERVICES" } as const;
    const { nft } = kernel.rules;
    const commit = nft.commit.bind(nft);
    nft.commit = (family, changes, options) => {
      nft.commit = commit;
      nft.edit(family, [{ kind: "flush-chain", ...gone }, { kind: "delete-chain", ...gone }]);
      nft.failNextCommit({ refusal, message: refusal });
      return commit(family, changes, options);
    };
    assert.deepEqual(await iptables.standAside?.(kernel, { found: [found("nft")], signal }), [
      "chain KUBE-SERVICES of table nat (nft, IPv4)",
      "chain KUBE-EXTERNAL-SERVICES of table filter (nft, IPv4)",
      "chain KUBE-PROXY-FIREWALL of table filter (nft, IPv4)",
    ]);
  });
}

Deno.test("no attempt is made once it is to stop", async () => {
  const kernel = kernelWith("nft", ofIptables);
  const stop = new AbortController();
  let tried = 0;
  kernel.rules.nft.commit = () => {
    tried++;
    stop.abort(new Error("stopped"));
    const failures = [{ change: -1, refusal: "busy" as const, message: "busy" }];
    return Promise.reject(new XtablesError({ family: "IPv4", changes: [], failures }));
  };
  const options = { found: [found("nft")], signal: stop.signal };
  await assert.rejects(async () => await iptables.standAside?.(kernel, options), /stopped/);
  assert.equal(tried, 1);
});

Deno.test("a table of the older engine that is not there is not read, which would make it", async () => {
  const kernel = kernelWith("legacy", ofIptables);
  kernel.legacyTables.tables.delete("IPv4 filter");
  const { legacy } = kernel.rules;
  const read = legacy.read.bind(legacy);
  legacy.read = (family, tables) => {
    assert.deepEqual(tables, ["nat"]);
    return read(family, tables);
  };
  const aside = await iptables.standAside?.(kernel, { found: [found("legacy")], signal });
  assert.equal(aside?.[0], "chain KUBE-SERVICES of table nat (legacy, IPv4)");
});

Deno.test("in the older engine ipvs mode shares what is in a table with its chain, and nothing where that table is not there", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/kube-ipvs0/forwarding": "1" });
  const kernel = kernelWith("legacy", ofIptables, { sysctl });
  const options = { found: [found("legacy")], signal };
  kernel.legacyTables.chainNames.set("IPv4 nat", ["KUBE-SERVICES", "KUBE-LOAD-BALANCER"]);
  assert.deepEqual(await iptables.standAside?.(kernel, options), [
    "chain KUBE-SERVICES of table filter (legacy, IPv4)",
    "chain KUBE-EXTERNAL-SERVICES of table filter (legacy, IPv4)",
  ]);
  const onlyFilter = kernelWith("legacy", ["filter KUBE-PROXY-FIREWALL"], { sysctl });
  onlyFilter.legacyTables.tables.delete("IPv4 nat");
  assert.deepEqual(await iptables.standAside?.(onlyFilter, options), [
    "chain KUBE-PROXY-FIREWALL of table filter (legacy, IPv4)",
  ]);
});
