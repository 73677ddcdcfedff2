import assert from "node:assert/strict";
import { FakeNftables } from "../../../lib/kernel/nftables/fake.ts";
import type { NftFamily } from "../../../lib/kernel/nftables/operations.ts";
import { nftText } from "../../../lib/kernel/nftables/text.ts";
import { sortElements } from "./listings.ts";
import { NftNamespace } from "./namespace.ts";
import { sampleOperations, table } from "../../lib/kernel/nftables/sample.ts";
import { misjudgedObjects, misjudgedRules } from "../../lib/kernel/nftables/statements.ts";

const families: readonly NftFamily[] = ["ip", "ip6"];

for (const family of families) {
  Deno.test(`${family}: every statement committed by netlink lists as its text loaded by nft`, async (t) => {
    await using byNetlink = await NftNamespace.create();
    await using byText = await NftNamespace.create();
    using nftables = byNetlink.open();
    const operations = sampleOperations(family);
    await nftables.commit(table(family), operations);
    await byText.nft(["-f", "-"], nftText(table(family), operations));
    const listing = sortElements(await byNetlink.listing());
    assert.equal(listing, sortElements(await byText.listing()));

    await t.step("and the listing reloads to the same listing", async () => {
      await using reloaded = await NftNamespace.create();
      await reloaded.nft(["-f", "-"], await byNetlink.listing());
      assert.equal(sortElements(await reloaded.listing()), listing);
    });

    await t.step("and the fake's dump loads to the same listing", async () => {
      const fake = new FakeNftables();
      await fake.commit(table(family), operations);
      await using fromFake = await NftNamespace.create();
      await fromFake.nft(["-f", "-"], fake.dump());
      // The fake sorts its objects, nft prints them in the order of their creation.
      const lines = (text: string) => sortElements(text).split("\n").sort();
      assert.deepEqual(lines(await fromFake.listing()), lines(await byNetlink.listing()));
    });

    await t.step("and each rule of either load is recognised, and no other rule is", async () => {
      using fromText = byText.open();
      for (const source of [nftables, fromText]) {
        assert.deepEqual(await misjudgedRules(source, family), []);
      }
    });

    await t.step("and sets, chains and elements are listed as they were written", async () => {
      assert.deepEqual(await misjudgedObjects(nftables, family), []);
    });
  });
}
