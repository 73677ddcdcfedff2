/** The questions to nf_tables about chains and rules of iptables. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { NfQuery } from "../nf_tables/transport.ts";
import { Msg, RuleAttr } from "../nf_tables/wire.ts";
import { xtFamilyFacts } from "./family.ts";
import { toolOf, type XtTable } from "./rules.ts";

/** Asks for the chains of a family; the kernel does not filter them by their table. */
export function chainsQuery(family: IpFamily): NfQuery {
  return {
    op: `list chains of ${toolOf(family)}`,
    type: Msg.getChain,
    nfproto: xtFamilyFacts(family).nfproto,
    names: [],
    dump: true,
  };
}

/** Asks for the rules of a table; the name of a chain bounds it to that one. */
export function rulesQuery(family: IpFamily, table: XtTable): NfQuery {
  return {
    op: `list rules of ${toolOf(family)} table "${table}"`,
    type: Msg.getRule,
    nfproto: xtFamilyFacts(family).nfproto,
    names: [[RuleAttr.table, table]],
    dump: true,
  };
}
