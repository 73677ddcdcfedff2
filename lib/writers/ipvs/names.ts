/**
 * Names of the link, the sets and the chains that this mode has. They are upstream's to the letter: its
 * proxy, and every tool that knows it, finds the same objects.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { type IpsetDefinition, type IpsetType, MAX_SET_NAME } from "../../kernel/ipset/ipset.ts";

/** The link that holds the addresses at which virtual servers answer. */
export const linkName = "kube-ipvs0";

/** What is known of a set besides its name. */
interface SetShape {
  readonly name: string;
  readonly type: IpsetType;
  /** How rules explain it; absent where no rule does. */
  readonly comment?: string;
}

const shapes = {
  loopBack: {
    name: "KUBE-LOOP-BACK",
    type: "hash:ip,port,ip",
    comment: "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose",
  },
  clusterIP: {
    name: "KUBE-CLUSTER-IP",
    type: "hash:ip,port",
    comment: "Kubernetes service cluster ip + port for masquerade purpose",
  },
  externalIP: {
    name: "KUBE-EXTERNAL-IP",
    type: "hash:ip,port",
    comment: "Kubernetes service external ip + port for masquerade and filter purpose",
  },
  externalIPLocal: {
    name: "KUBE-EXTERNAL-IP-LOCAL",
    type: "hash:ip,port",
    comment: "Kubernetes service external ip + port with externalTrafficPolicy=local",
  },
  loadBalancer: {
    name: "KUBE-LOAD-BALANCER",
    type: "hash:ip,port",
    comment: "Kubernetes service lb portal",
  },
  loadBalancerLocal: {
    name: "KUBE-LOAD-BALANCER-LOCAL",
    type: "hash:ip,port",
    comment: "Kubernetes service load balancer ip + port with externalTrafficPolicy=local",
  },
  loadBalancerGuarded: {
    name: "KUBE-LOAD-BALANCER-FW",
    type: "hash:ip,port",
    comment: "Kubernetes service load balancer ip + port for load balancer with sourceRange",
  },
  loadBalancerSourceIP: {
    name: "KUBE-LOAD-BALANCER-SOURCE-IP",
    type: "hash:ip,port,ip",
    comment: "Kubernetes service load balancer ip + port + source IP for packet filter purpose",
  },
  loadBalancerSourceCIDR: {
    name: "KUBE-LOAD-BALANCER-SOURCE-CIDR",
    type: "hash:ip,port,net",
    comment: "Kubernetes service load balancer ip + port + source cidr for packet filter purpose",
  },
  nodePortTCP: {
    name: "KUBE-NODE-PORT-TCP",
    type: "bitmap:port",
    comment: "Kubernetes nodeport TCP port for masquerade purpose",
  },
  nodePortLocalTCP: {
    name: "KUBE-NODE-PORT-LOCAL-TCP",
    type: "bitmap:port",
    comment: "Kubernetes nodeport TCP port with externalTrafficPolicy=local",
  },
  nodePortUDP: {
    name: "KUBE-NODE-PORT-UDP",
    type: "bitmap:port",
    comment: "Kubernetes nodeport UDP port for masquerade purpose",
  },
  nodePortLocalUDP: {
    name: "KUBE-NODE-PORT-LOCAL-UDP",
    type: "bitmap:port",
    comment: "Kubernetes nodeport UDP port with externalTrafficPolicy=local",
  },
  nodePortSCTP: {
    name: "KUBE-NODE-PORT-SCTP-HASH",
    type: "hash:ip,port",
    comment: "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
  },
  nodePortLocalSCTP: {
    name: "KUBE-NODE-PORT-LOCAL-SCTP-HASH",
    type: "hash:ip,port",
    comment:
      "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
  },
  healthCheckNodePort: {
    name: "KUBE-HEALTH-CHECK-NODE-PORT",
    type: "bitmap:port",
    comment: "Kubernetes health check node port",
  },
  /** The addresses wanted on the link. */
  boundAddress: { name: "KUBE-IPVS-IPS", type: "hash:ip" },
} as const satisfies Readonly<Record<string, SetShape>>;

/** A set by what is in it. */
export type SetRole = keyof typeof shapes;

/** All sets of a family. */
export const setRoles: readonly SetRole[] = Object.keys(shapes).filter(isSetRole);

/** The set with its name in the family, which for IPv6 is cut where the kernel's names end. */
export function setOf(role: SetRole, family: IpFamily): IpsetDefinition {
  const { name: ipv4Name, type } = shapes[role];
  const name = family === "IPv4"
    ? ipv4Name
    : ipv4Name.replace("KUBE-", "KUBE-6-").slice(0, MAX_SET_NAME);
  return type === "bitmap:port" ? { name, type } : { name, type, family };
}

/** How rules explain the set. */
export function setComment(role: Exclude<SetRole, "boundAddress">): string {
  return shapes[role].comment;
}

function isSetRole(name: string): name is SetRole {
  return Object.hasOwn(shapes, name);
}
