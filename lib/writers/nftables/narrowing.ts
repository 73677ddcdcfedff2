/**
 * Which service ports a table is wrong about. Where its structure is right, the elements that differ
 * name their frontends, and all other service ports need no plan: a restart costs what changed
 * meanwhile.
 */
import { elementKey } from "../../kernel/nftables/element_identity.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServicePort } from "../../snapshot/snapshot.ts";
import type { Desired } from "./desired.ts";
import { isShared, protocolOfAllowSet, type SetName } from "./sets.ts";
import { isEndpointMap } from "./shards.ts";
import { isStructureRight } from "./structure.ts";
import type { TableLedger } from "./table_ledger.ts";
import type { TableComparison } from "./table_reading.ts";

/** The part of a table that has to be planned. */
export interface Narrowed {
  /** What is true of the whole table once that part is right. */
  readonly ledger: TableLedger;
  readonly groups: Desired["groups"];
}

/** Undefined where all of it has to be planned. */
export function narrow(
  { context, groups }: Desired,
  { content, wanted: ledger }: TableComparison,
): Narrowed | undefined {
  const frontends = new Set<string>();
  for (const [set, { extra, missing }] of content.differences) {
    // Nothing says who needs it.
    if (isShared(set) && missing.length > 0) return undefined;
    for (const element of missing) frontends.add(frontendOf(set, element));
    for (const element of extra) frontends.add(frontendOf(set, element));
  }
  const services = new Map(groups.flat().map((each) => [each.key, each]));
  const applied = { services, placed: new Map(), context, ledger };
  if (!isStructureRight(content, applied)) return undefined;
  if (frontends.size === 0) return { ledger, groups: [] };
  const isConcerned = (servicePort: ServicePort) =>
    frontendsOf(servicePort).some((frontend) => frontends.has(frontend));
  return { ledger, groups: groups.map((group) => group.filter(isConcerned)) };
}

/** The frontend of an element, in the words of `frontendsOf`; anything for what has none. */
function frontendOf(set: SetName, { key }: NftElement): string {
  if (isEndpointMap(set)) return elementKey({ key: key.slice(0, -1) });
  // Sets of source ranges have the address and the port alone.
  const protocol = protocolOfAllowSet.get(set);
  return elementKey({ key: protocol ? [key[0], protocol.toLowerCase(), key[1]] : key });
}

/** Where packets meet the service port: its addresses, and its node port on any address. */
function frontendsOf(servicePort: ServicePort): readonly string[] {
  const { clusterIP, externalIPs, loadBalancerVIPs, nodePort, port } = servicePort;
  const protocol = servicePort.protocol.toLowerCase();
  const addresses = [clusterIP, ...externalIPs, ...loadBalancerVIPs];
  return [
    ...addresses.map((address) => elementKey({ key: [address, protocol, port] })),
    elementKey({ key: [protocol, nodePort] }),
  ];
}
