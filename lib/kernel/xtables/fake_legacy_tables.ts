import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { NetlinkError } from "../netlink/errors.ts";
import type { LegacyBlob, LegacyTableInfo } from "./legacy_blob.ts";
import type { LegacyTables } from "./legacy_tables.ts";
import { type XtTable, xtTables } from "./rules.ts";

/** The older tables as a test says they are; none by default. */
export class FakeLegacyTables implements LegacyTables {
  /** By family and table: `IPv4 nat`. */
  readonly tables = new Map<string, LegacyTableInfo>();

  /** Their bytes, of those that are read. */
  readonly blobs = new Map<string, LegacyBlob>();

  /** Chains by family and table. */
  readonly chainNames = new Map<string, readonly string[]>();

  loaded(family: IpFamily): readonly XtTable[] {
    return xtTables.filter((table) => this.tables.has(`${family} ${table}`));
  }

  chains(family: IpFamily, table: XtTable): readonly string[] {
    return this.chainNames.get(`${family} ${table}`) ?? [];
  }

  among(
    family: IpFamily,
    table: XtTable,
    chains: readonly string[],
  ): Promise<readonly string[] | undefined> {
    const there = this.chains(family, table);
    return Promise.resolve(chains.filter((chain) => there.includes(chain)));
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async blob(family: IpFamily, table: XtTable): Promise<LegacyBlob> {
    const blob = this.blobs.get(`${family} ${table}`);
    if (blob) return blob;
    throw new NetlinkError({ op: `read the rules of "${table}"`, errno: Errno.ENOENT });
  }

  info(family: IpFamily, table: XtTable): LegacyTableInfo {
    const info = this.tables.get(`${family} ${table}`);
    if (info) return info;
    throw new NetlinkError({ op: `read the size of "${table}"`, errno: Errno.ENOENT });
  }
}
