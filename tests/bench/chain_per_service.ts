/**
 * The layout that most proxies write, as nft text: a chain for every service port, and in it an
 * anonymous map from a random number to an endpoint. Made only to be measured against.
 */
import type { ServicePort } from "../../lib/snapshot/snapshot.ts";

const table = "ip kube-proxy";

function chainOf(port: ServicePort): string {
  return `service-${port.namespace}/${port.name}/${port.protocol.toLowerCase()}/${port.portName}`;
}

function dnatRule(port: ServicePort): string {
  const protocol = port.protocol.toLowerCase();
  const endpoints = port.clusterEndpoints;
  if (endpoints.length === 1) {
    return `meta l4proto ${protocol} dnat to ${endpoints[0].ip}:${endpoints[0].port}`;
  }
  const map = endpoints.map(({ ip, port }, i) => `${i} : ${ip} . ${port}`).join(" , ");
  return `meta l4proto ${protocol} dnat ip addr . port to numgen random mod ${endpoints.length} map { ${map} }`;
}

/** The table with its base chains and every service port. */
export function loadText(ports: Iterable<ServicePort>): string {
  const lines = [
    `add table ${table}`,
    `add chain ${table} nat-prerouting { type nat hook prerouting priority -100 ; }`,
    `add chain ${table} nat-output { type nat hook output priority -100 ; }`,
    `add chain ${table} nat-postrouting { type nat hook postrouting priority 100 ; }`,
    `add chain ${table} services`,
    `add chain ${table} masquerading`,
    `add set ${table} cluster-ips { type ipv4_addr ; }`,
    `add map ${table} service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }`,
    `add rule ${table} nat-prerouting jump services`,
    `add rule ${table} nat-output jump services`,
    `add rule ${table} nat-postrouting jump masquerading`,
    `add rule ${table} masquerading mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random`,
    `add rule ${table} services ip daddr @cluster-ips ip saddr != 10.128.0.0/14 mark set mark or 0x4000`,
    `add rule ${table} services ip daddr . meta l4proto . th dport vmap @service-ips`,
  ];
  for (const port of ports) {
    const chain = chainOf(port);
    const key = `${port.clusterIP} . ${port.protocol.toLowerCase()} . ${port.port}`;
    lines.push(`add chain ${table} ${chain}`, `add rule ${table} ${chain} ${dnatRule(port)}`);
    lines.push(`add element ${table} service-ips { ${key} : goto ${chain} }`);
    lines.push(`add element ${table} cluster-ips { ${port.clusterIP} }`);
  }
  return `${lines.join("\n")}\n`;
}

/** The change of one service port's endpoints. */
export function changeText(port: ServicePort): string {
  const chain = chainOf(port);
  return `flush chain ${table} ${chain}\nadd rule ${table} ${chain} ${dnatRule(port)}\n`;
}
