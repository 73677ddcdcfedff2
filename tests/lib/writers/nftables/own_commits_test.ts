import assert from "node:assert/strict";
import { OwnCommits } from "../../../../lib/kernel/nf_tables/own_commits.ts";
import { Harness } from "./harness.ts";
import { everyShape } from "./samples.ts";

/** Two families on one kernel, as in a program; both have written. */
async function bothFamilies() {
  const ownCommits = new OwnCommits();
  const ipv4 = new Harness({ ownCommits });
  const ipv6 = new Harness({ family: "IPv6", nftables: ipv4.nftables, ownCommits });
  await ipv4.put(...everyShape("IPv4"));
  await ipv6.put(...everyShape("IPv6"));
  for (const each of [ipv4, ipv6]) await each.drifted();
  return { ipv4, ipv6 };
}

Deno.test("a family reads nothing when only the other family wrote", async () => {
  const { ipv4, ipv6 } = await bothFamilies();
  await ipv4.remove("ns/a:p80/TCP");
  await ipv6.remove("ns/a:dns/UDP");
  await ipv4.drifted();
  ipv4.nftables.listTable = () => Promise.reject(new Error("somebody read a table"));
  assert.equal(await ipv4.drifted(), false);
  assert.equal(await ipv6.drifted(), false);
});

Deno.test("a family notices somebody else's commit between two of the other family", async () => {
  const { ipv4, ipv6 } = await bothFamilies();
  await ipv6.remove("ns/a:p80/TCP");
  await ipv4.tamper({ kind: "flush-chain", chain: "services" });
  await ipv6.remove("ns/a:dns/UDP");
  assert.equal(await ipv4.drifted(), true);
});
