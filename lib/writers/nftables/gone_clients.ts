/**
 * Forgets the clients of endpoints that left. Nothing leads to such an endpoint, so it is not urgent;
 * but if it came back within the affinity's time, clients that went on to another endpoint meanwhile
 * would be sent back.
 */
import { isNotFound } from "../../kernel/nf_tables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftElement, NftTable } from "../../kernel/nftables/operations.ts";
import type { Committer } from "./committer.ts";
import { definitionOf } from "./shards.ts";

/** A set of clients, and the endpoints in it that are gone, by number. */
export interface GoneClients {
  readonly set: string;
  readonly endpoints: ReadonlySet<number>;
}

/** So few that one which goes by itself meanwhile, and fails its batch, is unlikely. */
const clientsPerBatch = 1_000;

/** Deletes them; false when some went by themselves meanwhile and the rest has to be read again. */
export async function forgetClients(
  { endpoints, set }: GoneClients,
  { committer, nftables, signal, table }: {
    readonly nftables: Nftables;
    readonly table: NftTable;
    readonly committer: Committer;
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  const definition = definitionOf(set);
  if (!definition) return true;
  try {
    const clients = (await nftables.listElements(table, definition))
      .filter(({ key }) => endpoints.has(Number(key[1])));
    for (let from = 0; from < clients.length; from += clientsPerBatch) {
      const elements: readonly NftElement[] = clients.slice(from, from + clientsPerBatch);
      await committer.commit([{ kind: "delete-elements", set, elements }], { signal });
    }
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
