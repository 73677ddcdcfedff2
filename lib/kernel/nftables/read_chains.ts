/**
 * The chains of a table. The kernel lists those of all tables of a family at once: beside 110,000 that iptables
 * mode left that takes some 300 ms, and whoever commits meanwhile makes it begin anew. So the expected ones are
 * asked for by name where they are few among others', and the table's own count tells whether these are all.
 */
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import type { NfTransport } from "../nf_tables/transport.ts";
import { ChainAttr, Msg } from "../nf_tables/wire.ts";
import { decodeChain } from "./decode_table.ts";
import { familyFacts } from "./family.ts";
import type { NftChain, NftTable } from "./operations.ts";

/** A question costs as much as listing so many chains. */
const listedForOneAsked = 10;

/** What is known of the table when its chains are asked for. */
export interface ChainsOptions {
  /** The names of all chains that should be there; none where nobody knows. */
  readonly expected: readonly string[];
  /** How many chains the kernel counts in the table. */
  readonly count: number;
  /** How many chains and other objects it counts in other tables of the family. */
  readonly others: number;
}

/** The chains of the table, without those that belong to a single rule. */
export async function readChains(
  transport: NfTransport,
  table: NftTable,
  options: ChainsOptions,
): Promise<readonly NftChain[]> {
  const { count, expected, others } = options;
  if (expected.length > 0 && expected.length === count && others > count * listedForOneAsked) {
    const chains = await chainsByName(transport, table, expected);
    if (chains) return chains;
  }
  const payloads = await transport.query({
    op: `list chains of table "${table.family} ${table.name}"`,
    type: Msg.getChain,
    nfproto: familyFacts(table.family).nfproto,
    names: [[ChainAttr.table, table.name]],
    dump: true,
  });
  return payloads.map(decodeChain)
    .filter((each) => each.table === table.name && !each.isOfOneRule)
    .map(({ chain }) => chain);
}

/** Undefined where one of them is missing. */
async function chainsByName(
  transport: NfTransport,
  table: NftTable,
  names: readonly string[],
): Promise<readonly NftChain[] | undefined> {
  try {
    const found = await transport.queryEach({
      query: {
        op: `look for chains of table "${table.family} ${table.name}"`,
        type: Msg.getChain,
        nfproto: familyFacts(table.family).nfproto,
        names: [[ChainAttr.table, table.name]],
        dump: false,
      },
      attribute: ChainAttr.name,
      names,
    });
    return found.flat().map(decodeChain).map(({ chain }) => chain);
  } catch (error) {
    if (hasErrno(error, Errno.ENOENT)) return undefined;
    throw error;
  }
}
