/** On which of the node's addresses node ports answer. */
import {
  type Cidr,
  cidrContains,
  cidrOf,
  familyOfBytes,
  formatIp,
  isLoopback,
  parseCidr,
  parseIp,
} from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { NodeAddress, NodePortAddresses } from "./snapshot.ts";

/** What the answer depends on. */
export interface NodePortAddressInputs {
  /** CIDRs and the keywords `primary`, `localhost` and `all`, as configured. */
  readonly configured: readonly string[];
  /** The node's address of the family, or undefined while it is unknown. */
  readonly nodeIP: Uint8Array | undefined;
  /** All addresses of all interfaces, of either family. */
  readonly interfaceAddresses: readonly string[];
  /** Where all addresses answer, list them too; false when absent. */
  readonly listsAll?: boolean;
}

/**
 * A family for which nothing is configured answers on all its addresses, as upstream does. `primary`
 * with an unknown address is an entry that matches nothing yet. Addresses are canonical and sorted.
 */
export function resolveNodePortAddresses(
  family: IpFamily,
  inputs: NodePortAddressInputs,
): NodePortAddresses {
  if (!configuresNodePortAddresses(family, inputs.configured)) return all(family, inputs);
  const ranges = inputs.configured.flatMap((entry) => rangesOf(entry, inputs.nodeIP))
    .filter((range) => range.family === family);
  if (ranges.some((range) => range.prefixLength === 0)) return all(family, inputs);
  const addresses = new Set<string>();
  const loopback = new Set<string>();
  for (const text of inputs.interfaceAddresses) {
    const address = parseIp(text);
    if (!address || !ranges.some((range) => cidrContains(range, address))) continue;
    (isLoopback(address) ? loopback : addresses).add(formatIp(address));
  }
  return {
    kind: "listed",
    addresses: [...addresses].sort(),
    ...(loopback.size > 0 && { loopback: [...loopback].sort() }),
  };
}

function all(
  family: IpFamily,
  { interfaceAddresses, listsAll }: NodePortAddressInputs,
): NodePortAddresses {
  if (!listsAll) return { kind: "all" };
  const addresses = new Map<string, NodeAddress>();
  for (const text of interfaceAddresses) {
    const address = parseIp(text);
    if (!address || familyOfBytes(address) !== family) continue;
    const ip = formatIp(address);
    addresses.set(ip, { ip, isLoopback: isLoopback(address) });
  }
  return { kind: "all", addresses: [...addresses.values()].sort(byText) };
}

function byText(a: NodeAddress, b: NodeAddress): number {
  return a.ip < b.ip ? -1 : 1;
}

/** Whether any entry is about the family; without one, all its addresses answer, worth a warning. */
function configuresNodePortAddresses(
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
