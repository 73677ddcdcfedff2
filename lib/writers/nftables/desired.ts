/** What the table shall be, whatever it is now. */
import type { NftElements } from "../../kernel/nftables/nftables.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import {
  type Contribution,
  contributionOf,
  contributionOfSettings,
  elementsOfList,
  type EndpointList,
} from "./contribution.ts";
import { elementKey } from "../../kernel/nftables/element_identity.ts";
import type { RuleContext } from "./rules/statements.ts";
import { isShared, type SetName } from "./sets.ts";

/** How many elements a batch holds at most. A single Service with more is a batch of its own. */
export const elementsPerBatch = 20_000;
/** How many service ports a batch holds at most. */
const servicesPerBatch = 1_000;
/**
 * The kernel goes through the chains of everybody at each commit: beside 110,000 of another mode that takes
 * longer than such a batch. Beside leftovers batches are so much larger.
 */
const growthBesideLeftovers = 3;

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

/** What shall be in one set. The elements of lists are made when they are walked through, and not kept. */
class WantedSet implements NftElements {
  readonly #elements: NftElement[] = [];
  readonly #lists: EndpointList[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  addElement(element: NftElement): void {
    this.#elements.push(element);
    this.#length++;
  }

  addList(list: EndpointList): void {
    this.#lists.push(list);
    this.#length += list.endpoints.length;
  }

  *[Symbol.iterator](): Generator<NftElement> {
    yield* this.#elements;
    for (const list of this.#lists) yield* elementsOfList(list);
  }
}

/** What shall be in each set, each element once; a set that is not named is empty. */
export function wantedSets(desired: Desired): ReadonlyMap<SetName, NftElements> {
  const collection = new Collection();
  collection.add(contributionOfSettings(desired.context.settings));
  const { contributions = contributionsOf(desired) } = desired;
  for (const contribution of contributions.values()) collection.add(contribution);
  return collection.sets;
}

class Collection {
  readonly sets = new Map<SetName, WantedSet>();
  /** Keys of the shared sets' elements. */
  readonly #seen = new Map<SetName, Set<string>>();

  add({ elements, lists }: Contribution): void {
    for (const list of lists) this.#set(list.set).addList(list);
    for (const [set, own] of elements) {
      const target = this.#set(set);
      if (isShared(set)) this.#addShared(set, own);
      else for (const element of own) target.addElement(element);
    }
  }

  #addShared(set: SetName, elements: readonly NftElement[]): void {
    let known = this.#seen.get(set);
    if (!known) this.#seen.set(set, known = new Set());
    for (const element of elements) {
      const key = elementKey(element);
      if (known.has(key)) continue;
      known.add(key);
      this.#set(set).addElement(element);
    }
  }

  #set(name: SetName): WantedSet {
    let set = this.sets.get(name);
    if (!set) this.sets.set(name, set = new WantedSet());
    return set;
  }
}

/** Service ports in sorted order, in groups of a size that the kernel takes in a few milliseconds. */
export function groupServicePorts(
  services: ReadonlyMap<ServicePortKey, ServicePort>,
  { leftovers }: { readonly leftovers: boolean },
): readonly (readonly ServicePort[])[] {
  const growth = leftovers ? growthBesideLeftovers : 1;
  const [mostElements, mostServices] = [elementsPerBatch * growth, servicesPerBatch * growth];
  const groups: ServicePort[][] = [];
  let weight = Infinity;
  for (const key of [...services.keys()].sort()) {
    const servicePort = services.get(key);
    if (!servicePort) continue;
    const { externalIPs, loadBalancerVIPs, reachableEndpoints } = servicePort;
    const frontends = 2 + externalIPs.length + loadBalancerVIPs.length;
    const own = frontends * (1 + reachableEndpoints.length);
    if (weight + own > mostElements || (groups.at(-1)?.length ?? 0) >= mostServices) {
      groups.push([]);
      weight = 0;
    }
    groups.at(-1)?.push(servicePort);
    weight += own;
  }
  return groups;
}
