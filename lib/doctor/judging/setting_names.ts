/** Settings of the kernel that the checks read, by their path with slashes. */
/** By the names that the checks use. */
export const Setting = {
  ipForward: "net/ipv4/ip_forward",
  ipv6Forwarding: "net/ipv6/conf/all/forwarding",
  arpIgnore: "net/ipv4/conf/all/arp_ignore",
  arpAnnounce: "net/ipv4/conf/all/arp_announce",
  routeLocalnet: "net/ipv4/conf/all/route_localnet",
  disableIpv6: "net/ipv6/conf/all/disable_ipv6",
  conntrackMax: "net/netfilter/nf_conntrack_max",
  conntrackCount: "net/netfilter/nf_conntrack_count",
  tcpBeLiberal: "net/netfilter/nf_conntrack_tcp_be_liberal",
} as const;
