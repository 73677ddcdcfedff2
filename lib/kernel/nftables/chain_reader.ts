/**
 * The chains of a table. The kernel lists those of all tables of a family at once: beside 110,000 that iptables
 * mode left that takes some 300 ms, and whoever commits meanwhile makes it begin anew. So the expected ones are
 * asked for by name where they are few, or few among others', and the table's own count tells whether these are all.
 */
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import type { NfTransport } from "../nf_tables/transport.ts";
import { ChainAttr, Msg } from "../nf_tables/wire.ts";
import { decodeChain } from "./decode_table.ts";
import { familyFacts } from "./family.ts";
import type { NftChain, NftTable } from "./operations.ts";

/** So few are always asked for by name: some milliseconds. */
const fewAtMost = 500;
/** A question costs as much as listing some chains: with fewer of others' for one of ours all are listed. */
const othersForOneOfOurs = 10;

/** What is known of the table when its chains are asked for. */
export interface ChainReaderOptions {
  /** The names of all chains that should be there. */
  readonly expected: readonly string[];
  /** How many chains the kernel counts; Infinity where that is not known. */
  readonly count: number;
}

/** Remembers of which tables the chains are few among others'. */
export class ChainReader {
  readonly #transport: NfTransport;
  readonly #crowded = new Set<string>();

  constructor(transport: NfTransport) {
    this.#transport = transport;
  }

  /** The chains of the table, without those that belong to a single rule. */
  async read(table: NftTable, options: ChainReaderOptions): Promise<readonly NftChain[]> {
    const place = `${table.family} ${table.name}`;
    if (options.expected.length <= fewAtMost || this.#crowded.has(place)) {
      const chains = await this.#byName(table, options);
      if (chains) return chains;
    }
    const payloads = await this.#transport.query({
      op: `list chains of table "${place}"`,
      type: Msg.getChain,
      nfproto: familyFacts(table.family).nfproto,
      names: [[ChainAttr.table, table.name]],
      dump: true,
    });
    const chains = payloads.map(decodeChain)
      .filter((each) => each.table === table.name && !each.isOfOneRule)
      .map(({ chain }) => chain);
    const others = payloads.length - chains.length;
    if (others >= chains.length * othersForOneOfOurs) this.#crowded.add(place);
    else this.#crowded.delete(place);
    return chains;
  }

  /** Undefined where one of them is missing, or another one is there. */
  async #byName(
    table: NftTable,
    { count, expected }: ChainReaderOptions,
  ): Promise<readonly NftChain[] | undefined> {
    if (expected.length === 0 || expected.length !== count) return undefined;
    try {
      const found = await this.#transport.queryEach({
        query: {
          op: `look for chains of table "${table.family} ${table.name}"`,
          type: Msg.getChain,
          nfproto: familyFacts(table.family).nfproto,
          names: [[ChainAttr.table, table.name]],
          dump: false,
        },
        attribute: ChainAttr.name,
        names: expected,
      });
      return found.flat().map(decodeChain).map(({ chain }) => chain);
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return undefined;
      throw error;
    }
  }
}
