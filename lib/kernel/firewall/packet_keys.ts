/** Numbers of nf_tables' keys, by the kernel's names. */

/** NFT_META_*. */
export const Meta = {
  protocol: 1,
  mark: 3,
  iifname: 6,
  oifname: 7,
  nfproto: 15,
  l4proto: 16,
  pkttype: 19,
} as const;

/** NFT_CT_*. */
export const Ct = {
  state: 0,
  direction: 1,
  status: 2,
  mark: 3,
  l3protocol: 7,
  protocol: 10,
  protoDst: 12,
} as const;

/** NFT_FIB_RESULT_ADDRTYPE, and the flags that say of which address. */
export const FibKey = { addressType: 3, saddr: 1, daddr: 2 } as const;

/** Bits of `ct state`. */
export const CtState = { invalid: 1, established: 2, related: 4, new: 8, untracked: 64 } as const;

/** RTN_*: what kind of address the routing tables say it is. */
export const RouteType = { unicast: 1, local: 2, broadcast: 3, multicast: 5 } as const;
