/** The ways a proxy can be set up that change what becomes of packets. */

/** Who makes the rules of what kind: a proxy mode, and which of iptables' two engines it writes to. */
export type RuleMode =
  | { readonly kind: "nftables" }
  | { readonly kind: "iptables" | "ipvs"; readonly backend: IptablesBackend };

export type IptablesBackend = "nft" | "legacy";

/** How local traffic is told, whether all traffic to cluster IPs is masqueraded, where node ports answer. */
export interface Setup {
  readonly name: string;
  readonly mode: RuleMode;
  readonly detectLocal: "cluster-cidr" | "none";
  readonly masqueradeAll: boolean;
  readonly nodePortAddresses: "primary" | "all";
  /** The proxy was told that another mode's rules are still there. */
  readonly leftovers?: boolean;
  /** What ipvs mode leaves to others. */
  readonly excludeCIDRs?: readonly string[];
}

export const nftablesMode: RuleMode = { kind: "nftables" };

/** iptables mode in both of its engines. */
export const iptablesModes: readonly RuleMode[] = [
  { kind: "iptables", backend: "nft" },
  { kind: "iptables", backend: "legacy" },
];

/** ipvs mode, whose few rules are in either engine. It needs a kernel that has IPVS: see `tests/vm/`. */
export const ipvsModes: readonly RuleMode[] = [
  { kind: "ipvs", backend: "nft" },
  { kind: "ipvs", backend: "legacy" },
];

/** Those that every kernel has. */
export const allModes: readonly RuleMode[] = [nftablesMode, ...iptablesModes];

/** `nftables`, or `iptables (legacy)`. */
export function nameOfMode(mode: RuleMode): string {
  return mode.kind === "nftables" ? mode.kind : `${mode.kind} (${mode.backend})`;
}

/** Each way of masquerading with each choice of node port addresses. */
export function setupsOf(mode: RuleMode): readonly Setup[] {
  return (["primary", "all"] as const).flatMap((nodePortAddresses): Setup[] => [
    {
      name: `local traffic by cluster CIDR, node ports on ${nodePortAddresses}`,
      mode,
      detectLocal: "cluster-cidr",
      masqueradeAll: false,
      nodePortAddresses,
    },
    {
      name: `local traffic unknown, node ports on ${nodePortAddresses}`,
      mode,
      detectLocal: "none",
      masqueradeAll: false,
      nodePortAddresses,
    },
    {
      name: `masquerade all, node ports on ${nodePortAddresses}`,
      mode,
      detectLocal: "cluster-cidr",
      masqueradeAll: true,
      nodePortAddresses,
    },
  ]);
}

/** Those of nftables mode. */
export const setups: readonly Setup[] = setupsOf(nftablesMode);
