/**
 * Takes over who has which endpoint from a table of before, in which each endpoint has a set of its
 * clients: upstream's, and that of this program's first versions. They keep it for the affinity's
 * whole time from now on.
 */
import { NfTablesError } from "../../kernel/nf_tables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftElement, NftSet, NftTable } from "../../kernel/nftables/operations.ts";
import type { ServicePort } from "../../snapshot/snapshot.ts";
import type { Committer } from "./committer.ts";
import { endpointNames, formerClientsName } from "./names.ts";
import { affinitySetName } from "./shards.ts";

const clientsPerBatch = 1_000;

/** What clients are taken over with. */
export interface TakeOverOptions {
  /** The sets of the table before. */
  readonly former: ReadonlyMap<string, NftSet>;
  readonly nftables: Nftables;
  readonly table: NftTable;
  readonly committer: Committer;
  readonly signal: AbortSignal;
}

/** Does what it can: clients that cannot be taken over are spread anew. */
export async function takeOverClients(
  services: Iterable<ServicePort>,
  { committer, former, nftables, signal, table }: TakeOverOptions,
): Promise<void> {
  for (const servicePort of services) {
    if (servicePort.affinitySeconds === 0) continue;
    for (const endpoint of servicePort.reachableEndpoints) {
      const set = former.get(formerClientsName(servicePort, endpoint));
      if (set?.key.length !== 1 || set.dynamicTimeoutSeconds === undefined) continue;
      const { number } = endpointNames(servicePort, endpoint);
      try {
        const clients = (await nftables.listElements(table, set)).map(({ key }): NftElement => ({
          key: [key[0], number],
          timeoutSeconds: servicePort.affinitySeconds,
        }));
        for (let from = 0; from < clients.length; from += clientsPerBatch) {
          const elements = clients.slice(from, from + clientsPerBatch);
          const add = { kind: "add-elements", set: affinitySetName(number), elements } as const;
          await committer.commit([add], { signal });
        }
      } catch (error) {
        if (!(error instanceof NfTablesError)) throw error;
      }
    }
  }
}
