/**
 * Names of chains and counters that only this mode has. They are upstream's to the letter: its
 * proxy, and every tool that knows it, finds the same chains.
 */
import { hash } from "node:crypto";
import type { IpFamily } from "../../base/ip_family.ts";
import { joinHostPort } from "../../base/ip.ts";
import type { Endpoint, ServicePort } from "../../snapshot/snapshot.ts";
import { xtProtocolOf } from "../kube_chains/rules.ts";

/** Kinds of chains that a service port has of its own, each with the beginning of its names. */
const prefixes = {
  /** Chooses among the endpoints of Cluster policy. */
  cluster: "KUBE-SVC-",
  /** Chooses among the endpoints of Local policy. */
  local: "KUBE-SVL-",
  /** What comes from outside the cluster: masquerades, and leads to one of the two above. */
  external: "KUBE-EXT-",
  /** Lets only some sources on to the external chain. */
  firewall: "KUBE-FW-",
} as const;

/** The chain of one endpoint of one service port. */
const endpointPrefix = "KUBE-SEP-";

/** Packets that belong to no connection and were dropped. */
export const invalidCounter = "ct_state_invalid_dropped_pkts";
/** Packets to node ports of 127.0.0.1 that were let in. */
export const localhostCounter = "localhost_nps_accepted_pkts";

const ownChain = /^KUBE-(SVC|SVL|EXT|FW|SEP)-[A-Z2-7]{16}$/;

/** Whether a chain of the table nat belongs to some service port. */
export function isOwnChain(name: string): boolean {
  return ownChain.test(name);
}

/** How comments name a service port: `ns/svc:port`, without the port's name where it has none. */
export function servicePortName({ name, namespace, portName }: ServicePort): string {
  return `${namespace}/${name}${portName === "" ? "" : `:${portName}`}`;
}

/** The chains that a service port may have, whether it has them or not. */
export type ServicePortChains = Readonly<Record<keyof typeof prefixes, string>>;

/** Names of a service port's chains. */
export function chainsOf(servicePort: ServicePort): ServicePortChains {
  const hash = hashOf(servicePortName(servicePort) + xtProtocolOf(servicePort.protocol));
  return {
    cluster: prefixes.cluster + hash,
    local: prefixes.local + hash,
    external: prefixes.external + hash,
    firewall: prefixes.firewall + hash,
  };
}

/** The name of an endpoint's chain, which also names the list of its pinned clients. */
export function endpointChainOf(servicePort: ServicePort, endpoint: Endpoint): string {
  const { protocol } = servicePort;
  const text = servicePortName(servicePort) + xtProtocolOf(protocol) + endpointName(endpoint);
  return endpointPrefix + hashOf(text);
}

/** How comments and hashes name an endpoint: `10.0.0.1:80`, `[fd00::1]:80`. */
export function endpointName({ ip, port }: Endpoint): string {
  return joinHostPort(ip, port);
}

/** An address as a range that holds it alone. */
export function wholeCidr(ip: string, family: IpFamily): string {
  return `${ip}/${family === "IPv4" ? 32 : 128}`;
}

const HASH_LENGTH = 16;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The first 16 characters of the SHA-256 in base 32: eight from each ten digits. */
function hashOf(text: string): string {
  // A text costs a third of what bytes do, which are memory outside of the engine's.
  const digest = hash("sha256", text, "hex");
  const codes: number[] = [];
  let pending = 0;
  for (let at = 0, bits = 0; codes.length < HASH_LENGTH; at++) {
    const code = digest.charCodeAt(at);
    pending = (pending << 4) | (code < LETTER_A ? code - DIGIT_0 : code - LETTER_A + 10);
    bits += 4;
    if (bits < 5) continue;
    bits -= 5;
    codes.push(BASE32.charCodeAt((pending >> bits) & 31));
    pending &= 0xf;
  }
  return String.fromCharCode(...codes);
}

const DIGIT_0 = "0".charCodeAt(0);
const LETTER_A = "a".charCodeAt(0);
