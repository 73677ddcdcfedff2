/** Whether the sample's table, read back, is recognised for what it is. */
import assert from "node:assert/strict";
import { ElementList } from "../../../../lib/kernel/nftables/element_list.ts";
import type { Nftables, NftTableListing } from "../../../../lib/kernel/nftables/nftables.ts";
import type { NftFamily } from "../../../../lib/kernel/nftables/operations.ts";
import { ruleText } from "../../../../lib/kernel/nftables/text.ts";
import {
  baseChains,
  caseChain,
  caseRule,
  elements,
  sets,
  type StatementCase,
  statementCases,
  table,
} from "./sample.ts";

/** Rows whose rule in the kernel does not match itself, or matches a row that says something else. */
export async function misjudgedRules(source: Nftables, family: NftFamily): Promise<string[]> {
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

/** Sets, chains and elements that are not listed as they were written. */
export async function misjudgedObjects(source: Nftables, family: NftFamily): Promise<string[]> {
  const found = await listingOf(source, family);
  const same = (a: unknown, b: unknown) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
  const misjudged: string[] = [];
  for (const operation of baseChains) {
    if (operation.kind !== "add-chain") continue;
    const { name } = operation.chain;
    const chain = found.chains.find((each) => each.name === name);
    if (!same(chain, operation.chain)) misjudged.push(`chain ${name}`);
  }
  for (const set of sets) {
    if (!same(found.sets.find(({ name }) => name === set.name), set)) misjudged.push(set.name);
    const wanted = elements(family)[set.name] ?? [];
    const listed = await source.listElements(table(family), set);
    const texts = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each)).sort();
    if (!same(texts(listed), texts(wanted))) misjudged.push(`elements of ${set.name}`);
    const difference = await source.compareElements(
      table(family),
      set,
      ElementList.of(set, family, wanted),
    );
    if (!same(difference, { missing: [], extra: [] })) misjudged.push(`comparing ${set.name}`);
  }
  return misjudged;
}

/** With the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, sorted(each)] as const)
      .sort(([a], [b]) => a < b ? -1 : 1),
  );
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
