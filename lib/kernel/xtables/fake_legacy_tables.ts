import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { NetlinkError } from "../netlink/errors.ts";
import type { LegacyTableInfo, LegacyTables } from "./legacy_tables.ts";
import { type XtTable, xtTables } from "./rules.ts";

/** The older tables as a test says they are; none by default. */
export class FakeLegacyTables implements LegacyTables {
  /** By family and table: `IPv4 nat`. */
  readonly tables = new Map<string, LegacyTableInfo>();

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

  info(family: IpFamily, table: XtTable): LegacyTableInfo {
    const info = this.tables.get(`${family} ${table}`);
    if (info) return info;
    throw new NetlinkError({ op: `read the size of "${table}"`, errno: Errno.ENOENT });
  }
}
