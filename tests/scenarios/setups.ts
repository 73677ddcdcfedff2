/** The ways a proxy can be set up that change what becomes of packets. */

/** How local traffic is told, whether all traffic to cluster IPs is masqueraded, where node ports answer. */
export interface Setup {
  readonly name: string;
  readonly detectLocal: "cluster-cidr" | "none";
  readonly masqueradeAll: boolean;
  readonly nodePortAddresses: "primary" | "all";
  /** The proxy was told that another mode's rules are still there. */
  readonly leftovers?: boolean;
}

/** Each way of masquerading with each choice of node port addresses. */
export const setups: readonly Setup[] = (["primary", "all"] as const).flatMap(
  (nodePortAddresses): Setup[] => [
    {
      name: `local traffic by cluster CIDR, node ports on ${nodePortAddresses}`,
      detectLocal: "cluster-cidr",
      masqueradeAll: false,
      nodePortAddresses,
    },
    {
      name: `local traffic unknown, node ports on ${nodePortAddresses}`,
      detectLocal: "none",
      masqueradeAll: false,
      nodePortAddresses,
    },
    {
      name: `masquerade all, node ports on ${nodePortAddresses}`,
      detectLocal: "cluster-cidr",
      masqueradeAll: true,
      nodePortAddresses,
    },
  ],
);
