/** On which of the node's addresses node ports answer. */
import {
  type Cidr,
  cidrContains,
  cidrOf,
  formatIp,
  isLoopback,
  parseCidr,
  parseIp,
} from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { NodePortAddresses } from "./snapshot.ts";

/** What the answer depends on. */
export interface NodePortAddressInputs {
  /** CIDRs and the keywords `primary`, `localhost` and `all`, as configured. */
  readonly configured: readonly string[];
  /** The node's address of the family, or undefined while it is unknown. */
  readonly nodeIP: Uint8Array | undefined;
  /** All addresses of all interfaces, of either family. */
  readonly interfaceAddresses: readonly string[];
  /** Loopback never serves node ports, but health checks may listen there; false when absent. */
  readonly withLoopback?: boolean;
}

/**
 * A family for which nothing is configured answers on all its addresses, as upstream does. `primary`
 * with an unknown address is an entry that matches nothing yet. Addresses are canonical and sorted.
 */
export function resolveNodePortAddresses(
  family: IpFamily,
  inputs: NodePortAddressInputs,
): NodePortAddresses {
  if (!configuresNodePortAddresses(family, inputs.configured)) return { kind: "all" };
  const ranges = inputs.configured.flatMap((entry) => rangesOf(entry, inputs.nodeIP))
    .filter((range) => range.family === family);
  if (ranges.some((range) => range.prefixLength === 0)) return { kind: "all" };
  const addresses = new Set<string>();
  for (const text of inputs.interfaceAddresses) {
    const address = parseIp(text);
    if (!address || (isLoopback(address) && !inputs.withLoopback)) continue;
    if (ranges.some((range) => cidrContains(range, address))) addresses.add(formatIp(address));
  }
  return { kind: "listed", addresses: [...addresses].sort() };
}

/** Whether any entry is about the family; without one, all its addresses answer, worth a warning. */
export function configuresNodePortAddresses(
  family: IpFamily,
  configured: readonly string[],
): boolean {
  return configured.some((entry) => isKeyword(entry) || parseCidr(entry)?.family === family);
}

function isKeyword(entry: string): boolean {
  return entry === "primary" || entry === "localhost" || entry === "all";
}

function rangesOf(entry: string, nodeIP: Uint8Array | undefined): readonly Cidr[] {
  if (entry === "primary") return nodeIP ? [cidrOf(nodeIP, nodeIP.length * 8)] : [];
  const texts = entry === "localhost"
    ? ["127.0.0.0/8", "::1/128"]
    : entry === "all"
    ? ["0.0.0.0/0", "::/0"]
    : [entry];
  return texts.flatMap((text) => parseCidr(text) ?? []);
}
