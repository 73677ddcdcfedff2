/** Chains that iptables and userspace mode left decide nothing once another mode serves, and are there still. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
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
  assert.ok(tried >= 3, `${tried} times`);
  const stop = { ...options, signal: AbortSignal.abort() };
  await assert.rejects(async () =>
    await iptables.standAside?.(kernelWith("nft", ofIptables), stop)
  );
});
