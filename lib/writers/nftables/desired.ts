/** What the table shall be, whatever it is now. */
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import { type Contribution, contributionOf, contributionOfSettings } from "./contribution.ts";
import { elementKey } from "../../kernel/nftables/elements.ts";
import { listOf } from "./elements.ts";
import type { RuleContext } from "./rules/statements.ts";
import { isShared, type SetName } from "./sets.ts";

/** How many elements a batch holds at most, but for a single Service with more. */
export const elementsPerBatch = 20_000;
/** How many service ports a batch holds at most. */
const servicesPerBatch = 1_000;

/** What the table shall be. */
export interface Desired {
  readonly context: RuleContext;
  /** The service ports, in groups that are written together. */
  readonly groups: readonly (readonly ServicePort[])[];
  /** What some of them put into the table, where that is computed already. */
  readonly contributions?: ReadonlyMap<ServicePortKey, Contribution>;
}

/** What all of them put into the table. */
export function contributionsOf({ context, groups }: Desired): Map<ServicePortKey, Contribution> {
  const contributions = new Map<ServicePortKey, Contribution>();
  const { leftovers } = context.settings;
  for (const group of groups) {
    for (const servicePort of group) {
      contributions.set(servicePort.key, contributionOf(servicePort, leftovers));
    }
  }
  return contributions;
}

/** All elements that shall be in the table, each once. */
export function wantedElements(desired: Desired): Map<SetName, NftElement[]> {
  const wanted = new Map<SetName, NftElement[]>();
  const seen = new Map<SetName, Set<string>>();
  collectElements(contributionOfSettings(desired.context.settings), { seen, wanted });
  const { contributions = contributionsOf(desired) } = desired;
  for (const contribution of contributions.values()) {
    collectElements(contribution, { seen, wanted });
  }
  return wanted;
}

function collectElements(
  { elements }: Contribution,
  { seen, wanted }: {
    /** Keys of the shared sets' elements. */
    readonly seen: Map<SetName, Set<string>>;
    readonly wanted: Map<SetName, NftElement[]>;
  },
): void {
  for (const [set, list] of elements) {
    const target = listOf(wanted, set);
    if (!isShared(set)) {
      for (const element of list) target.push(element);
      continue;
    }
    let known = seen.get(set);
    if (!known) seen.set(set, known = new Set());
    for (const element of list) {
      const key = elementKey(element);
      if (known.has(key)) continue;
      known.add(key);
      target.push(element);
    }
  }
}

/** Service ports in sorted order, in groups of a size that the kernel takes in a few milliseconds. */
export function groupServicePorts(
  services: ReadonlyMap<ServicePortKey, ServicePort>,
): readonly (readonly ServicePort[])[] {
  const groups: ServicePort[][] = [];
  let weight = Infinity;
  for (const key of [...services.keys()].sort()) {
    const servicePort = services.get(key);
    if (!servicePort) continue;
    const { externalIPs, loadBalancerVIPs, reachableEndpoints } = servicePort;
    const frontends = 2 + externalIPs.length + loadBalancerVIPs.length;
    const own = frontends * (1 + reachableEndpoints.length);
    if (weight + own > elementsPerBatch || (groups.at(-1)?.length ?? 0) >= servicesPerBatch) {
      groups.push([]);
      weight = 0;
    }
    groups.at(-1)?.push(servicePort);
    weight += own;
  }
  return groups;
}
