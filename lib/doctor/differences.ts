/**
 * What behaves differently between the modes, and which check says whether it matters here. A
 * difference without a check is told by the rehearsal, with what it concerns on this node.
 */

/** One thing, in each mode. */
export interface Difference {
  readonly topic: string;
  readonly iptables: string;
  readonly ipvs: string;
  readonly nftables: string;
  /** Ids of the checks that look whether it matters on a node. */
  readonly checks: readonly [string, ...string[]];
}

export const differences: readonly Difference[] = [
  {
    topic: "node ports answer on",
    iptables: "all addresses of the node",
    ipvs: "all addresses of the node, but for those of Services",
    nftables: "the node's primary addresses, unless nodePortAddresses says otherwise",
    checks: ["NP01"],
  },
  {
    topic: "node ports on 127.0.0.1",
    iptables: "yes in IPv4, by route_localnet",
    ipvs: "no",
    nftables: "no",
    checks: ["NP02"],
  },
  {
    topic: "node ports and the host's firewall",
    iptables: "accepted by rules of the proxy",
    ipvs: "partly, by KUBE-NODE-PORT",
    nftables: "nothing is accepted for them: the range has to be open",
    checks: ["NP03", "NP05", "NP06"],
  },
  {
    topic: "health check node ports and the host's firewall",
    iptables: "accepted by rules of the proxy",
    ipvs: "accepted by an ipset of the proxy",
    nftables: "nothing is accepted for them: they have to be open",
    checks: ["NP04"],
  },
  {
    topic: "packets that connection tracking calls INVALID",
    iptables: "dropped, unless nf_conntrack_tcp_be_liberal is set",
    ipvs: "pass",
    nftables: "pass: before Linux 6.1 some reset connections",
    checks: ["CT04"],
  },
  {
    topic: "a cluster IP is an address of the node",
    iptables: "no",
    ipvs: "yes, on kube-ipvs0",
    nftables: "no",
    checks: ["IPV06", "IPV07"],
  },
  {
    topic: "ping to a cluster IP",
    iptables: "no answer as a rule",
    ipvs: "answered by the node; refused since 1.37",
    nftables: "refused",
    checks: ["IPV09"],
  },
  {
    topic: "a port of a cluster IP that no Service has",
    iptables: "goes on",
    ipvs: "reaches the node's own sockets; refused since 1.37",
    nftables: "refused",
    checks: ["DRY01"],
  },
  {
    topic: "an address inside a ServiceCIDR that no Service has",
    iptables: "goes on",
    ipvs: "goes on",
    nftables: "dropped where it is forwarded or sent",
    checks: ["DRY01"],
  },
  {
    topic: "settings below net.ipv4.vs",
    iptables: "no effect",
    ipvs: "set by the proxy",
    nftables: "no effect",
    checks: ["DRY01"],
  },
  {
    topic: "scheduler",
    iptables: "random",
    ipvs: "rr, lc, sh and whatever the kernel has",
    nftables: "random",
    checks: ["IPV03"],
  },
  {
    topic: "connections at the switch",
    iptables: "go on: connection tracking knows them",
    ipvs: "in a table of IPVS, which a cleanup without --drain empties",
    nftables: "-",
    checks: ["IPV02"],
  },
  {
    topic: "net.ipv4.ip_forward",
    iptables: "not set",
    ipvs: "set to 1 by the proxy",
    nftables: "not set",
    checks: ["NET01"],
  },
  {
    topic: "arp_ignore and arp_announce",
    iptables: "not set",
    ipvs: "1 and 2 with strictARP",
    nftables: "not set; put back by this program's cleanup where its own ipvs mode set them",
    checks: ["NET02", "IPV10"],
  },
  {
    topic: "route_localnet",
    iptables: "set to 1",
    ipvs: "not set",
    nftables: "not set; put back by this program's cleanup where its own iptables mode set it",
    checks: ["NET03"],
  },
  {
    topic: "chains and marks that other programs use",
    iptables: "KUBE-MARK-MASQ, KUBE-SERVICES and more",
    ipvs: "KUBE-MARK-MASQ, and ipsets",
    nftables: "none: names and the mark are the proxy's own",
    checks: ["CO01", "CO02"],
  },
  {
    topic: "where the rules are called",
    iptables: "in tables that all share",
    ipvs: "in tables that all share",
    nftables: "in a table of its own, at priorities of its own",
    checks: ["CO03"],
  },
  {
    topic: "a load balancer with policy Local, called from a pod where no endpoint is",
    iptables: "served by any endpoint",
    ipvs: "served by any endpoint in late versions",
    nftables: "nothing came back in stock versions before a fix",
    checks: ["CFG08"],
  },
  {
    topic: "rules of other modes at the start",
    iptables: "stock kube-proxy removes those of nftables mode; this program disables them",
    ipvs: "stock kube-proxy removes those of nftables mode; this program disables them",
    nftables: "stock kube-proxy removes them, and empties IPVS; this program starts beside them",
    checks: ["IPV01", "CO16"],
  },
  {
    topic: "metrics",
    iptables: "names with iptables",
    ipvs: "names with iptables",
    nftables: "names with nftables",
    checks: ["CO14"],
  },
];
