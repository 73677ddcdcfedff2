/** All packet filters of the network namespace in which the calling thread is. */
import { WorkerTransport } from "../nf_tables/worker_transport.ts";
import { ProcLegacyTables } from "../xtables/legacy_tables.ts";
import type { FirewallQuestion, FirewallTable } from "./firewall.ts";
import { readLegacyFirewall } from "./legacy_entries.ts";
import { readNftFirewall } from "./nft_firewall.ts";

/** What is read. */
export interface ReadFirewallOptions extends FirewallQuestion {
  /** Whether nf_tables may be asked: that loads its module. The older tables are asked only where they are there. */
  readonly asksNft: boolean;
}

/**
 * Needs CAP_NET_ADMIN; throws `NetlinkError`, `RangeError` for what cannot be read, and `Error` where the
 * rules change all the time.
 */
export async function readFirewall(
  options: ReadFirewallOptions,
): Promise<readonly FirewallTable[]> {
  const legacy = readLegacyFirewall(new ProcLegacyTables(), options);
  if (!options.asksNft) return legacy;
  // Dumps of many rules take seconds, in which the event loop is to go on.
  const transport = await WorkerTransport.open();
  try {
    return [...await readNftFirewall(transport, options), ...legacy];
  } finally {
    transport.close();
  }
}
