/** The modes that a node can come from. */
export const fromModes = ["ipvs", "iptables", "nftables"] as const;

/** One of them. */
export type FromMode = typeof fromModes[number];
