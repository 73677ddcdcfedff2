/** Chains and rules of nf_tables listings as those of iptables. */
import type { IpFamily } from "../../base/ip_family.ts";
import { forEachAttribute, readString, readU64be, visitAttributes } from "../netlink/attributes.ts";
import { attributesOf, ChainAttr, RuleAttr } from "../nf_tables/wire.ts";
import { decodeRule } from "./decode_rule.ts";
import { jumpOfExpressions } from "./expression_parts.ts";
import { listedRule } from "./parse.ts";
import { xtTables } from "./rules.ts";
import type { XtSets } from "./sets.ts";
import type { XtChain, XtListedRule } from "./xtables.ts";

/** A rule with the number by which the kernel knows it. */
export interface XtHandledRule extends XtListedRule {
  readonly handle: bigint;
}

/** The chain of a listing; undefined for one of a table that iptables does not know. */
export function decodeChain(payload: Uint8Array): XtChain | undefined {
  let table = "";
  let name = "";
  let handle = 0;
  let use = 0;
  let isBuiltIn = false;
  const attributes = attributesOf(payload);
  visitAttributes(attributes, { from: 0, to: attributes.length }, (type, from, to) => {
    if (type === ChainAttr.table) table = readString(attributes.subarray(from, to));
    else if (type === ChainAttr.name) name = readString(attributes.subarray(from, to));
    else if (type === ChainAttr.handle) handle = numberAt(attributes, from, to);
    else if (type === ChainAttr.use) use = numberAt(attributes, from, to);
    else if (type === ChainAttr.hook) isBuiltIn = true;
  });
  const known = xtTables.find((each) => each === table);
  return known && { table: known, name, isBuiltIn, fingerprint: `${handle}/${use}` };
}

/** In network order; handles stay far below the largest safe integer. */
function numberAt(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 0x100 + bytes[at];
  return value;
}

/** The rule of a listing or of an echo. */
export function decodeListedRule(
  payload: Uint8Array,
  family: IpFamily,
  options: { readonly sets: XtSets },
): XtHandledRule {
  let handle = 0n;
  let expressions: Uint8Array = new Uint8Array();
  forEachAttribute(attributesOf(payload), (type, value) => {
    if (type === RuleAttr.handle) handle = readU64be(value);
    else if (type === RuleAttr.expressions) expressions = value;
  });
  const rule = decodeRule(expressions, family, options);
  if (rule) return { ...listedRule(rule, family), handle };
  const jump = jumpOfExpressions(expressions);
  return { key: `? rule ${handle}`, handle, ...(jump !== undefined && { jump }) };
}
