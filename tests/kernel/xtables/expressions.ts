/** The expressions of a chain's rules as the kernel holds them: for comparing who wrote what. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { readAttributes, readList, readString } from "../../../lib/kernel/netlink/attributes.ts";
import { ExprAttr } from "../../../lib/kernel/nf_tables/expression_wire.ts";
import type { NfTransport } from "../../../lib/kernel/nf_tables/transport.ts";
import { attributesOf, ListAttr, Msg, RuleAttr } from "../../../lib/kernel/nf_tables/wire.ts";
import { xtFamilyFacts } from "../../../lib/kernel/xtables/family.ts";
import type { XtPlace } from "../../../lib/kernel/xtables/rules.ts";

/** Each rule as its expressions, each `name: bytes`; counters without their bytes. */
export async function expressionsOf(
  transport: NfTransport,
  family: IpFamily,
  { chain, table }: XtPlace,
): Promise<readonly (readonly string[])[]> {
  const payloads = await transport.query({
    op: `list rules of ${chain}`,
    type: Msg.getRule,
    nfproto: xtFamilyFacts(family).nfproto,
    names: [[RuleAttr.table, table], [RuleAttr.chain, chain]],
    dump: true,
  });
  return payloads.map((payload) => {
    const list = readAttributes(attributesOf(payload)).get(RuleAttr.expressions);
    return readList(list ?? new Uint8Array(), ListAttr.element).map((expression) => {
      const parts = readAttributes(expression);
      const name = readString(parts.get(ExprAttr.name) ?? new Uint8Array());
      return name === "counter" ? name : `${name}: ${parts.get(ExprAttr.data)?.toHex()}`;
    });
  });
}
