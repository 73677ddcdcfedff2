/** Runs one row of the behaviour cases on an `Nftables`. */
import assert from "node:assert/strict";
import { elementIdentity } from "../../../../lib/kernel/nftables/element_identity.ts";
import { NfTablesError } from "../../../../lib/kernel/nf_tables/errors.ts";
import type { Nftables } from "../../../../lib/kernel/nftables/nftables.ts";
import type { BatchFailure } from "../../../../lib/kernel/nf_tables/errors.ts";
import { type BehaviourCase, table } from "./behaviour_cases.ts";

/**
 * Applies the row and checks what was refused, that a refused batch left nothing behind, and that the
 * generation moved when something changed and not when it was refused. Returns the state afterwards.
 */
export async function runCase(nftables: Nftables, row: BehaviourCase): Promise<string> {
  await nftables.commit(table, row.before);
  const before = await stateOf(nftables);
  const generation = await nftables.generation();
  const error = await nftables.commit(table, row.change).then(() => undefined, (error) => error);
  if (row.failures.length === 0) {
    assert.equal(error, undefined);
    const after = await stateOf(nftables);
    // A batch that changes nothing may or may not move the generation.
    if (after !== before) assert.notEqual(await nftables.generation(), generation);
    return after;
  }
  assert.ok(error instanceof NfTablesError, String(error));
  assert.deepEqual(error.failures.map(withoutMessage), row.failures);
  assert.equal(await stateOf(nftables), before);
  assert.equal(await nftables.generation(), generation);
  return before;
}

function withoutMessage({ message: _, ...failure }: BatchFailure): Omit<BatchFailure, "message"> {
  return failure;
}

/** Everything that can be listed, as text in sorted order. */
export async function stateOf(nftables: Nftables): Promise<string> {
  const listing = await nftables.listTable(table);
  if (!listing) return "no table";
  const lines = [
    ...listing.isDormant ? ["dormant"] : [],
    ...listing.chains.map((chain) => `chain ${JSON.stringify(sortedKeys(chain))}`).sort(),
    ...listing.rules.map(({ chain }) => `rule of ${chain}`).sort(),
  ];
  for (const set of [...listing.sets].sort((a, b) => a.name < b.name ? -1 : 1)) {
    const elements = await nftables.listElements(table, set);
    lines.push(JSON.stringify(sortedKeys(set)), ...elements.map(elementIdentity).sort());
  }
  return lines.join("\n");
}

function sortedKeys(value: object): unknown[] {
  return Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
}
