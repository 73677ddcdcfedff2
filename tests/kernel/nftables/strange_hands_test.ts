/** What others do to our table by `nft`, as a listing shows it. */
import assert from "node:assert/strict";
import { ElementList } from "../../../lib/kernel/nftables/element_list.ts";
import type { NftTable } from "../../../lib/kernel/nftables/operations.ts";
import { NftNamespace } from "./namespace.ts";

const table: NftTable = { family: "ip", name: "kube-proxy" };

Deno.test("a table that sleeps is listed so", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await namespace.nft(["add table ip kube-proxy { flags dormant ; }"]);
  assert.equal((await nftables.listTable(table))?.isDormant, true);
  await nftables.commit(table, [{ kind: "add-table" }]);
  assert.equal((await nftables.listTable(table))?.isDormant, false);
  assert.doesNotMatch(await namespace.listing(), /dormant/);
  await nftables.commit(table, [{ kind: "add-table", dormant: true }]);
  assert.match(await namespace.listing(), /flags dormant/);
});

Deno.test("a chain that belongs to one rule is not listed, and goes with that rule", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await namespace.nft(["-f", "-"], "add table ip kube-proxy; add chain ip kube-proxy services\n");
  await namespace.nft(["add rule ip kube-proxy services tcp dport 80 jump { drop ; }"]);
  const listing = await nftables.listTable(table);
  assert.deepEqual(listing?.chains, [{ name: "services" }]);
  await nftables.commit(table, [{ kind: "flush-chain", chain: "services" }]);
  assert.deepEqual((await nftables.listTable(table))?.rules, []);
  assert.doesNotMatch(await namespace.listing(), /drop/);
});

Deno.test("a listing with expected chains says the same as one without, whatever others have in the table", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await namespace.nft(
    ["-f", "-"],
    // Others have many chains, so those of the table are asked for by name.
    "add table ip other; add table ip kube-proxy\n" +
      Array.from({ length: 31 }, (_, i) => `add chain ip other theirs-${i}\n`).join("") +
      "add chain ip kube-proxy services; add chain ip kube-proxy empty\n" +
      "add set ip kube-proxy clients { type ipv4_addr ; }\n" +
      "add rule ip kube-proxy services tcp dport { 80, 443 } accept\n" +
      "add rule ip kube-proxy services ip saddr @clients jump empty\n",
  );
  const expected = ["empty", "services"];
  const names = async () =>
    (await nftables.listTable(table, expected))?.chains.map(({ name }) => name);
  // In their own order: they were asked for by name, and the kernel's count agreed.
  assert.deepEqual(await names(), expected);
  assert.deepEqual((await nftables.listTable(table))?.chains.length, 2);
  await namespace.nft(["add chain ip kube-proxy strange"]);
  assert.deepEqual(await names(), ["services", "empty", "strange"]);
  await namespace.nft(["delete chain ip kube-proxy strange"]);
  assert.deepEqual(await names(), expected);
  await namespace.nft(["add counter ip kube-proxy seen"]);
  assert.deepEqual(await names(), ["services", "empty"]);
  await namespace.nft(["delete counter ip kube-proxy seen"]);
  await namespace.nft(["flush chain ip kube-proxy services"]);
  await namespace.nft(["delete chain ip kube-proxy empty"]);
  assert.deepEqual(await names(), ["services"]);
  await namespace.nft(["add chain ip kube-proxy strange"]);
  assert.deepEqual(await names(), ["services", "strange"]);
});

Deno.test("a catch-all element is an element without a key", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await namespace.nft(
    ["-f", "-"],
    "add table ip kube-proxy\n" +
      "add map ip kube-proxy ports { type inet_proto . inet_service : verdict ; }\n" +
      "add element ip kube-proxy ports { tcp . 80 : accept, * : drop }\n",
  );
  const [ports] = (await nftables.listTable(table))?.sets ?? [];
  const wanted = { key: ["tcp", 80], value: { kind: "accept" } } as const;
  const difference = await nftables.compareElements(
    table,
    ports,
    ElementList.of(ports, table.family, [wanted]),
  );
  const catchAll = { key: [], value: { kind: "drop" } };
  assert.deepEqual(difference, { missing: [], extra: [catchAll] });
  const elements = difference.extra;
  await nftables.commit(table, [{ kind: "delete-elements", set: ports.name, elements }]);
  assert.deepEqual(await nftables.listElements(table, ports), [wanted]);
});

Deno.test("a table of another program tells whose it is", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  await using owner = await namespace.own(table.name);
  assert.equal((await nftables.listTable(table))?.ownerPort, owner.port);
});
