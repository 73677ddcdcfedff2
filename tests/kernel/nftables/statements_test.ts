import assert from "node:assert/strict";
import { FakeNftables } from "../../../lib/kernel/nftables/fake.ts";
import type { NftFamily } from "../../../lib/kernel/nftables/operations.ts";
import type { Nftables, NftTableListing } from "../../../lib/kernel/nftables/nftables.ts";
import { nftText, ruleText } from "../../../lib/kernel/nftables/text.ts";
import { sortElements } from "./listings.ts";
import { NftNamespace } from "./namespace.ts";
import {
  baseChains,
  caseChain,
  caseRule,
  elements,
  sampleOperations,
  sets,
  type StatementCase,
  statementCases,
  table,
} from "./sample.ts";

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
      const found = await listingOf(nftables, family);
      const byName = (a: { name: string }, b: { name: string }) => a.name < b.name ? -1 : 1;
      assert.deepEqual([...found.sets].sort(byName), [...sets].sort(byName));
      for (const operation of baseChains) {
        if (operation.kind !== "add-chain") continue;
        const { name } = operation.chain;
        assert.deepEqual(found.chains.find((each) => each.name === name), operation.chain);
      }
      for (const set of sets) {
        const wanted = elements(family)[set.name] ?? [];
        const key = (element: unknown) => JSON.stringify(element);
        const listed = await nftables.listElements(table(family), set);
        assert.deepEqual(listed.map(key).sort(), wanted.map(key).sort(), set.name);
        const difference = await nftables.compareElements(table(family), set, wanted);
        assert.deepEqual(difference, { missing: [], extra: [] }, set.name);
      }
    });
  });
}

/** Rows whose rule in the kernel does not match itself, or matches a row that says something else. */
async function misjudgedRules(source: Nftables, family: NftFamily): Promise<string[]> {
  const { rules } = await listingOf(source, family);
  const cases = statementCases(family);
  return cases.flatMap((each, i) => {
    const listed = rules.find(({ chain }) => chain === caseChain(i));
    const matched = cases.filter((other) =>
      listed?.matches({ ...caseRule(other, i), chain: caseChain(i) })
    );
    const expected = cases.filter((other) => meaning(other, family) === meaning(each, family));
    return matched.map(({ name }) => name).join() === expected.map(({ name }) => name).join()
      ? []
      : [`${each.name} matches ${matched.map(({ name }) => name).join()}`];
  });
}

/** The words for the row; the match that nft puts before a reset is said or left out. */
function meaning(each: StatementCase, family: NftFamily): string {
  return ruleText(caseRule(each, 0), family).replace("meta l4proto tcp reject with", "reject with");
}

async function listingOf(source: Nftables, family: NftFamily): Promise<NftTableListing> {
  const found = await source.listTable(table(family));
  assert.ok(found);
  return found;
}
