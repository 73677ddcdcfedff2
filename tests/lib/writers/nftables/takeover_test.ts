import assert from "node:assert/strict";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type {
  NftElement,
  NftOperation,
  NftRule,
  NftStatement,
} from "../../../../lib/kernel/nftables/operations.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { sets } from "../../../../lib/writers/nftables/sets.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const { clusterIP } = addresses.IPv4;
const table = tableOf("IPv4");
const web = servicePort({
  name: "web",
  clusterIP: clusterIP(1),
  clusterEndpoints: endpoints("IPv4", [9, 1]),
});
const upstreamChain = "service-ABCDEFGH-ns/web/tcp/p80";
const dispatch = ["172.30.0.1", "tcp", 80];

/** The table as upstream's proxy would leave it, as far as our language can say it. */
function upstreamTable(): readonly NftOperation[] {
  const goTo = (chain: string): NftStatement => ({
    kind: "verdict",
    verdict: { kind: "goto", chain },
  });
  const rule = (chain: string, ...statements: readonly NftStatement[]): NftOperation => ({
    kind: "add-rule",
    rule: { chain, statements } satisfies NftRule,
  });
  const element = (set: string, each: NftElement): NftOperation => ({
    kind: "add-elements",
    set,
    elements: [each],
  });
  return [
    { kind: "add-table" },
    { kind: "add-set", set: { ...sets["service-ips"], comment: "upstream's" } },
    { kind: "add-set", set: sets["cluster-ips"] },
    { kind: "add-chain", chain: { name: "services" } },
    { kind: "add-chain", chain: { name: upstreamChain } },
    {
      kind: "add-chain",
      chain: { name: "nat-prerouting", base: { type: "nat", hook: "prerouting", priority: -100 } },
    },
    rule("nat-prerouting", { kind: "verdict", verdict: { kind: "jump", chain: "services" } }),
    rule("services", {
      kind: "vmap",
      select: ["daddr", "l4proto", "dport"],
      map: "service-ips",
    }),
    rule(upstreamChain, { kind: "dnat", address: "10.128.9.1", port: 8080 }),
    rule("services", goTo(upstreamChain)),
    element("cluster-ips", { key: ["172.30.0.1"] }),
    element("service-ips", { key: dispatch, value: { kind: "goto", chain: upstreamChain } }),
  ];
}

Deno.test("sync() takes over upstream's table, and ends with the table of a clean start", async () => {
  const nftables = new FakeNftables();
  await nftables.commit(table, upstreamTable());
  const harness = new Harness({ nftables });
  harness.arrange([web]);
  assert.deepEqual((await harness.all()).notices, []);
  assert.equal(await harness.drifted(), false);
  // Comments of objects that exist cannot be changed.
  const withoutComments = (text: string) => text.replaceAll(/ comment "[^"]*" ;/g, "");
  assert.equal(
    withoutComments(nftables.dump()).replaceAll("{\n", "\n"),
    withoutComments(await harness.cleanStart()).replaceAll("{\n", "\n"),
  );
});

Deno.test("sync() never leaves a Service of upstream's table without an endpoint", async () => {
  const nftables = new FakeNftables();
  await nftables.commit(table, upstreamTable());
  const harness = new Harness({ nftables });
  harness.arrange([web]);
  const commit = nftables.commit.bind(nftables);
  let looks = 0;
  nftables.commit = async (...args) => {
    const receipt = await commit(...args);
    looks++;
    assert.ok(await isServed(nftables), `not served after batch ${looks}`);
    return receipt;
  };
  await harness.all();
  assert.ok(looks >= 3);
});

/** Follows a new connection to the Service from the hook to an endpoint. */
async function isServed(nftables: FakeNftables): Promise<boolean> {
  const text = nftables.dump();
  const rulesOf = (chain: string) => text.split(`  chain ${chain} `)[1]?.split("  }\n")[0] ?? "";
  const found = await nftables.listElements(table, sets["service-ips"]);
  const value = found.find(({ key }) => key.join() === dispatch.join())?.value;
  if (!value || !("kind" in value) || value.kind !== "goto") return false;
  const choice = rulesOf(value.chain);
  const listed = "172.30.0.1 . tcp . 80 . 0 : 10.128.9.1 . 8080";
  return rulesOf("nat-prerouting").includes("jump services") &&
    rulesOf("services").includes("vmap @service-ips") &&
    (choice.includes("dnat to 10.128.9.1:8080") ||
      choice.includes("map @endpoints") && text.includes(listed));
}
