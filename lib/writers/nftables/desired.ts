/** What the table shall be, whatever it is now. */
import type { IpFamily } from "../../base/ip_family.ts";
import { ElementList } from "../../kernel/nftables/element_list.ts";
import type { NftElement, NftFamily, NftSet } from "../../kernel/nftables/operations.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Owner } from "./batch.ts";
import {
  type Contribution,
  contributionOf,
  contributionOfSettings,
  elementsOfList,
  emptyContribution,
  type EndpointList,
} from "./contribution.ts";
import { tableOf } from "./names.ts";
import type { RuleContext } from "./rules/statements.ts";
import { isShared, type SetName } from "./sets.ts";
import { definitionOf } from "./shards.ts";
import { TableLedger } from "./table_ledger.ts";

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
}

/**
 * What shall be in one set. Its elements are kept as bytes, and those of lists are made when somebody
 * asks for them: all others of a large cluster would be in memory meanwhile.
 */
export class WantedSet {
  readonly #elements: ElementList;
  readonly #lists: EndpointList[] = [];

  constructor(set: NftSet, family: NftFamily) {
    this.#elements = new ElementList(set, family);
  }

  addElement(element: NftElement): void {
    this.#elements.add(element);
  }

  addList(list: EndpointList): void {
    this.#lists.push(list);
  }

  /** All of them. Once. */
  take(): ElementList {
    for (const list of this.#lists) {
      for (const element of elementsOfList(list)) this.#elements.add(element);
    }
    return this.#elements;
  }
}

/** The table as it shall be, to be compared with what the kernel holds. */
export interface WantedTable {
  /** What shall be in each set, each element once; a set that is not named is empty. */
  readonly sets: ReadonlyMap<SetName, WantedSet>;
  /** What is true of a table that holds all of it. */
  readonly ledger: TableLedger;
}

/** Goes through all service ports once. */
export function wantedTable({ context, groups }: Desired): WantedTable {
  const { family, settings } = context;
  const collection = new Collection(family);
  collection.add(contributionOfSettings(settings), undefined);
  for (const group of groups) {
    for (const servicePort of group) {
      collection.add(contributionOf(servicePort, settings.leftovers), servicePort.key);
    }
  }
  return collection;
}

class Collection implements WantedTable {
  readonly sets = new Map<SetName, WantedSet>();
  readonly ledger = new TableLedger();
  readonly #family: IpFamily;

  constructor(family: IpFamily) {
    this.#family = family;
  }

  add(contribution: Contribution, owner: Owner): void {
    const { elements, lists, picks, sets } = contribution;
    for (const list of lists) this.#set(list.set).addList(list);
    for (const [set, own] of elements) {
      for (const element of own) {
        const isFirst = !isShared(set) || this.ledger.acquireElement(set, element);
        if (isFirst) this.#set(set).addElement(element);
      }
    }
    for (const name of picks.keys()) this.ledger.acquireChain(name);
    for (const name of sets) this.ledger.acquireSet(name);
    this.ledger.census.replace(emptyContribution, contribution, owner);
  }

  #set(name: SetName): WantedSet {
    let set = this.sets.get(name);
    if (!set) {
      set = new WantedSet(definitionOf(name), tableOf(this.#family).family);
      this.sets.set(name, set);
    }
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
