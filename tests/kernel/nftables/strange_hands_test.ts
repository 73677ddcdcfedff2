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
