/** The few statements that most rules are made of. */
import type { NftSelector, NftStatement, NftVerdict } from "../../../kernel/nftables/operations.ts";
import type { IpFamily } from "../../../base/ip_family.ts";
import type { FamilySettings, LocalTraffic } from "../../../snapshot/snapshot.ts";
import { type ChainName, chainPurposes } from "../names.ts";
import type { NftChain, NftRule } from "../../../kernel/nftables/operations.ts";
import type { SetName } from "../sets.ts";

/** What the rules that do not depend on a Service depend on. */
export interface RuleContext {
  readonly family: IpFamily;
  /** The mark that asks for masquerading. */
  readonly mark: number;
  readonly settings: FamilySettings;
}

/** A chain and everything in it. */
export interface ChainWithRules {
  readonly chain: NftChain;
  readonly rules: readonly NftRule[];
}

/** How an address of a Service is looked up. */
export const addressKey: readonly NftSelector[] = ["daddr", "l4proto", "dport"];

/** How a node port is looked up. */
export const nodePortKey: readonly NftSelector[] = ["l4proto", "dport"];

/** A chain of ours with its purpose and its rules. */
export function chainOf(
  name: ChainName,
  rules: readonly (readonly NftStatement[])[],
): ChainWithRules {
  return {
    chain: { name, comment: chainPurposes[name] },
    rules: rules.map((statements) => ({ chain: name, statements })),
  };
}

export function gotoChain(chain: string): NftVerdict {
  return { kind: "goto", chain };
}

/** Goes there and does not come back to this chain. */
export function goTo(chain: ChainName): NftStatement {
  return { kind: "verdict", verdict: gotoChain(chain) };
}

/** Goes there and comes back. */
export function jumpTo(chain: ChainName): NftStatement {
  return { kind: "verdict", verdict: { kind: "jump", chain } };
}

/** Follows the verdict that the map holds for an address of a Service, if any. */
export function lookUpAddress(map: SetName): NftStatement {
  return { kind: "vmap", select: addressKey, map };
}

/** Follows the verdict that the map holds for a node port, if any. */
export function lookUpNodePort(map: SetName): NftStatement {
  return { kind: "vmap", select: nodePortKey, map };
}

/** The destination address is in the set. */
export function toAddressIn(set: SetName): NftStatement {
  return { kind: "match", select: ["daddr"], in: { set } };
}

/** The destination address is in one of the ranges. */
export function toRanges(ranges: readonly string[]): NftStatement {
  return { kind: "match", select: ["daddr"], in: { values: ranges } };
}

/** The destination is an address of this node, but not a loopback address. */
export function toThisNode(family: IpFamily): readonly NftStatement[] {
  const loopback = family === "IPv4" ? "127.0.0.0/8" : "::1";
  return [
    { kind: "match-local", select: "daddr" },
    { kind: "match", select: ["daddr"], not: true, in: { values: [loopback] } },
  ];
}

/** The source is (not) a pod of this node; undefined when there is no way to tell. */
export function fromLocalPod(
  localTraffic: LocalTraffic,
  { not = false }: { readonly not?: boolean } = {},
): NftStatement | undefined {
  switch (localTraffic.kind) {
    case "unknown":
      return undefined;
    case "source":
      return { kind: "match", select: ["saddr"], not, in: { values: [localTraffic.cidr] } };
    case "interface":
      return { kind: "match-interface", not, name: localTraffic.name };
    case "interface-prefix":
      return { kind: "match-interface", not, name: localTraffic.prefix, prefix: true };
  }
}

/** Asks `nat-postrouting` to masquerade the connection. */
export function markForMasquerade(mark: number): NftStatement {
  return { kind: "set-mark-or", mask: mark };
}
