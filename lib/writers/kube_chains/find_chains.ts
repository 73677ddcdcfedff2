/** Looks for chains by name in the table nat of both engines of iptables. */
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { NftTable } from "../../kernel/nftables/operations.ts";
import { toolOf } from "../../kernel/xtables/rules.ts";
import type { ConfirmOptions, Leftover } from "../leftovers.ts";
import { natTable } from "./names.ts";

/** Whose chains are looked for. */
export interface ChainSearch {
  readonly mode: string;
  /** Each of them alone tells that the mode was here. */
  readonly chains: readonly string[];
  /** Whether a table of that mode can be too large to be looked into. */
  readonly mayBeLarge: boolean;
}

/** The older table nat of a family that has only the chains that the kernel calls itself. */
const emptyEntries = 5;

/**
 * The older tables can only be had whole, by a question that holds this thread up. A larger one than
 * this is not read at once: some thousand Services of a proxy are in it, hardly anybody else has so many
 * rules.
 */
export const mostBytesRead = 4 << 20;

/**
 * Where any of the chains is, by family, iptables' nft backend first. One listing of tables, and a
 * question for each chain where that table exists: a table of 100,000 chains costs no more than an
 * empty one.
 */
export async function findChains(
  search: ChainSearch,
  kernel: Kernel,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const leftovers: Leftover[] = [];
  const nftables = await kernel.nftables();
  const tables = await nftables.listTables();
  for (const family of ipFamilies) {
    signal.throwIfAborted();
    const table: NftTable = { family: family === "IPv4" ? "ip" : "ip6", name: natTable };
    if (!tables.some((each) => each.family === table.family && each.name === table.name)) continue;
    const found = await nftables.findChains(table, search.chains);
    const objects = found.map((chain) => `chain ${table.family} ${table.name} ${chain}`).sort();
    if (objects.length > 0) leftovers.push({ mode: search.mode, backend: "nft", family, objects });
  }
  for (const family of ipFamilies) {
    const objects = findInLegacy(search, kernel, family);
    if (objects.length > 0) {
      leftovers.push({ mode: search.mode, backend: "legacy", family, objects });
    }
  }
  return leftovers;
}

/** Without the large older tables that have none of the chains. */
export async function confirmChains(
  { chains }: ChainSearch,
  { legacyTables }: Kernel,
  { found, signal }: ConfirmOptions,
): Promise<readonly Leftover[]> {
  const confirmed: Leftover[] = [];
  for (const leftover of found) {
    signal.throwIfAborted();
    const { backend, family } = leftover;
    const isLarge = backend === "legacy" && legacyTables.loaded(family).includes("nat") &&
      legacyTables.info(family, "nat").bytes > mostBytesRead;
    const there = isLarge ? await legacyTables.among(family, "nat", chains) : undefined;
    if (there?.length !== 0) confirmed.push(leftover);
  }
  return confirmed;
}

function findInLegacy(
  { chains, mayBeLarge }: ChainSearch,
  { legacyTables }: Kernel,
  family: IpFamily,
): readonly string[] {
  if (!legacyTables.loaded(family).includes("nat")) return [];
  const { bytes, entries } = legacyTables.info(family, "nat");
  if (entries <= emptyEntries) return [];
  const place = `table ${natTable} of ${toolOf(family)}-legacy`;
  if (bytes > mostBytesRead) return mayBeLarge ? [`${entries} entries of ${place}`] : [];
  const there = legacyTables.chains(family, "nat");
  return chains.filter((chain) => there.includes(chain)).map((chain) =>
    `chain ${chain} of ${place}`
  )
    .sort();
}
