/**
 * Every name that appears in the table, with its purpose, grouped by the stage of a packet's path.
 * The purposes are written into the kernel as comments, so that `nft list ruleset` explains itself.
 * The table, the base chains and the chains of session affinity are named as upstream names them:
 * other software looks for some of them.
 */
import { createHash } from "node:crypto";
import type { IpFamily } from "../../base/ip_family.ts";
import type { NftTable } from "../../kernel/nftables/operations.ts";
import type { Endpoint, ServicePort } from "../../snapshot/snapshot.ts";

/** The one table of a family that is ours, whoever made it. */
export function tableOf(family: IpFamily): NftTable {
  return { family: family === "IPv4" ? "ip" : "ip6", name: "kube-proxy" };
}

/** Chains that the kernel calls itself, in the order in which a packet meets them. */
export const baseChainPurposes = {
  "filter-prerouting-pre-dnat": "source ranges, while the load balancer address is still there",
  "filter-output-pre-dnat": "the same for packets of this node",
  "nat-prerouting": "choose the endpoint of a new connection",
  "nat-output": "the same for connections of this node",
  "filter-input": "packets to this node that no endpoint took",
  "filter-forward": "packets through this node that no endpoint took",
  "filter-output": "packets of this node that no endpoint took",
  "nat-postrouting": "masquerade what has to come back through this node",
} as const;

/** Chains that are always there, in the order in which a packet meets them. */
export const chainPurposes = {
  // Source ranges, before the destination changes.
  "firewall-check": "load balancer addresses with source ranges",
  "firewall-sctp": "drop what is outside of the source ranges",
  "firewall-tcp": "drop what is outside of the source ranges",
  "firewall-udp": "drop what is outside of the source ranges",
  // Which Service, under which policy.
  "services": "find the Service of a new connection",
  "external-cluster": "external address, Cluster policy: masquerade, any endpoint",
  "external-local": "external address, Local policy: endpoints of this node, source kept",
  "nodeport-cluster": "node port, Cluster policy: masquerade, any endpoint",
  "nodeport-local": "node port, Local policy: endpoints of this node, source kept",
  "keep-destination": "decided, unchanged: no later nat chain may choose",
  // A packet that still has a Service's address after nat has no endpoint.
  "nodeport-endpoints-check": "node ports without endpoints",
  "service-endpoints-check": "addresses without endpoints",
  "cluster-ips-check": "ports that no Service has, cluster IPs that are not in use",
  "reject-chain": "refuse at once",
  // On the way out.
  "masquerading": "the marked, and endpoints that call themselves",
} as const;

export type ChainName = keyof typeof chainPurposes;

/** The chains that choose among K endpoints; the name ends in K. */
export const pickPrefixes = {
  "endpoints": "pick-",
  "local-endpoints": "pick-local-",
  "nodeport-endpoints": "pick-nodeport-",
  "nodeport-local-endpoints": "pick-nodeport-local-",
} as const;

/** The maps that those chains look into. */
export type EndpointMap = keyof typeof pickPrefixes;

/** A chain that chooses among `count` endpoints of `map`. */
export interface PickChain {
  readonly name: string;
  readonly map: EndpointMap;
  /** Which of the maps of that kind. */
  readonly shard: number;
  readonly count: number;
}

/** The chain that chooses among so many endpoints of the map with that number. */
export function pickChain(
  map: EndpointMap,
  { count, shard }: Pick<PickChain, "count" | "shard">,
): PickChain {
  const name = `${pickPrefixes[map]}${count}`;
  return { name: shard === 0 ? name : `${name}-in-${shard}`, map, shard, count };
}

/** Chains of one service port with session affinity: cluster endpoints, endpoints of this node. */
export function affinityChainName(
  servicePort: ServicePort,
  endpoints: "cluster" | "local",
): string {
  const prefix = endpoints === "cluster" ? "service-" : "local-";
  return prefix + hashedName(servicePortPath(servicePort));
}

/** The chain that serves one endpoint with session affinity, and the endpoint's number in the sets of clients. */
export function endpointNames(
  servicePort: ServicePort,
  endpoint: Endpoint,
): { readonly chain: string; readonly number: number } {
  const address = endpoint.ip.replaceAll(":", ".");
  const path = `${servicePortPath(servicePort)}__${address}/${endpoint.port}`;
  const { digest, name } = hashed(path);
  return { chain: `endpoint-${name}`, number: numberIn(digest) };
}

/** The set of an endpoint's clients in tables where each endpoint has one. */
export function formerClientsName(servicePort: ServicePort, endpoint: Endpoint): string {
  return endpointNames(servicePort, endpoint).chain.replace("endpoint-", "affinity-");
}

/** The comment of an element that has no endpoints: whose it is, within the kernel's 128 bytes. */
export function servicePortComment({ namespace, name, portName }: ServicePort): string {
  return `${namespace}/${name}${portName === "" ? "" : `:${portName}`}`.slice(0, 128);
}

function servicePortPath({ namespace, name, protocol, portName }: ServicePort): string {
  return `${namespace}/${name}/${protocol.toLowerCase()}/${portName}`;
}

/** A chain name holds 255 bytes; the longest prefix takes 9, and upstream leaves 240 for the rest. */
const longestBase = 240;

/** So much of the hash is part of the name. */
const hashBytes = 5;

/** Made of bytes of the hash that the name does not show. */
function numberIn(digest: Uint8Array): number {
  return new DataView(digest.buffer, digest.byteOffset).getUint32(hashBytes);
}

function hashedName(body: string): string {
  return hashed(body).name;
}

/** The hash keeps names apart when the end is cut, and people from confusing neighbours. */
function hashed(body: string): { readonly name: string; readonly digest: Uint8Array } {
  const digest = createHash("sha256").update(body).digest();
  const name = `${base32(digest)}-${body}`;
  return {
    name: name.length > longestBase ? `${name.slice(0, longestBase - 3)}...` : name,
    digest,
  };
}

/** RFC 4648 of the first five bytes: eight characters, no padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let bits = 0n;
  for (const byte of bytes.subarray(0, hashBytes)) bits = (bits << 8n) | BigInt(byte);
  let text = "";
  for (let shift = 35n; shift >= 0n; shift -= 5n) text += alphabet[Number((bits >> shift) & 31n)];
  return text;
}
