/** What this mode leaves on a node is one table a family, and nothing else. */
import { describeError } from "../../base/errors.ts";
import { ipFamilies } from "../../base/ip_family.ts";
import { isNotFound } from "../../kernel/nftables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftTable } from "../../kernel/nftables/operations.ts";
import { tableOf } from "./names.ts";

/** What was removed, and what is still there and why. */
export interface CleanupReport {
  readonly removed: readonly NftTable[];
  readonly remaining: readonly { readonly table: NftTable; readonly reason: string }[];
}

/** The tables of this mode that exist, IPv4 first; looking changes nothing. */
export async function findLeftovers(nftables: Nftables): Promise<readonly NftTable[]> {
  const found = await nftables.listTables();
  return ipFamilies.map(tableOf).filter((ours) =>
    found.some(({ family, name }) => family === ours.family && name === ours.name)
  );
}

/**
 * Removes the tables that `findLeftovers` finds, each at once with everything in it, and no other
 * table. A failure does not keep the other family's table. A second call removes nothing.
 */
export async function cleanup(nftables: Nftables): Promise<CleanupReport> {
  const reasons = new Map<NftTable, string>();
  const tables = await findLeftovers(nftables);
  for (const table of tables) {
    try {
      await nftables.commit(table, [{ kind: "delete-table" }]);
    } catch (error) {
      // Somebody else was faster.
      if (!isNotFound(error)) reasons.set(table, describeError(error));
    }
  }
  const left = new Set((await findLeftovers(nftables)).map(({ family }) => family));
  return {
    removed: tables.filter(({ family }) => !left.has(family)),
    remaining: tables.filter(({ family }) => left.has(family))
      .map((table) => ({ table, reason: reasons.get(table) ?? "it was made again" })),
  };
}
