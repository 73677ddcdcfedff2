/**
 * A map of endpoints as the kernel holds it, compared with the lists that shall be in it. Any order of
 * a list serves packets alike, so what matters is which endpoint is in which place. Frontends whose list
 * is there as it shall be, as nearly all are, cost one look.
 */
import { elementKey } from "../../kernel/nftables/element_identity.ts";
import type { NftElementDifference } from "../../kernel/nftables/nftables.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";
import { elementAt, type EndpointList } from "./contribution.ts";
import { isSame, type Places } from "./places.ts";
import type { ElementComparison } from "./table_ledger.ts";

/** What is wrong with the list of one frontend. */
interface ListDifference {
  /** Places that do not have what shall be there. */
  readonly missing: Set<number>;
  /** What is there and shall not be, by place. */
  readonly extra: Map<number, NftElement>;
  /** What is in the places of the list; known once its order was looked at. */
  held?: Places;
}

const nothing: ElementComparison = { missing: [], replaced: [] };

export class ListIndex {
  readonly #differences = new Map<string, ListDifference>();

  constructor({ extra, missing }: NftElementDifference) {
    for (const { key } of missing) this.#at(key).missing.add(placeOf(key));
    for (const element of extra) this.#at(element.key).extra.set(placeOf(element.key), element);
  }

  /** Which endpoints the kernel has in the places of a list as it shall be; undefined where it is that. */
  placesOf(list: EndpointList): Places | undefined {
    const difference = this.#of(list);
    if (!difference) return undefined;
    const { extra, missing } = difference;
    return difference.held ??= list.endpoints.map((endpoint, place) =>
      missing.has(place) ? endpointIn(extra.get(place)) : endpoint
    );
  }

  /** What has to be written for that order of a list whose places were asked for before. Once for each. */
  compare(list: EndpointList): ElementComparison {
    const difference = this.#of(list);
    if (!difference) return nothing;
    const { extra, held = [] } = difference;
    const missing: NftElement[] = [];
    const replaced: NftElement[] = [];
    for (let place = 0; place < list.endpoints.length; place++) {
      const other = extra.get(place);
      extra.delete(place);
      const found = held[place];
      if (isSame(found, list.endpoints[place])) continue;
      const element = elementAt(list, place);
      missing.push(element);
      if (other) replaced.push(other);
      else if (found) replaced.push({ key: element.key, value: [found.ip, found.port] });
    }
    return { missing, replaced };
  }

  /** Takes what nobody asked for. */
  takeRemaining(): readonly NftElement[] {
    const remaining = [...this.#differences.values()].flatMap(({ extra }) => [...extra.values()]);
    this.#differences.clear();
    return remaining;
  }

  #of(list: EndpointList): ListDifference | undefined {
    return this.#differences.size === 0 ? undefined : this.#differences.get(elementKey(list));
  }

  #at(key: NftElement["key"]): ListDifference {
    const frontend = elementKey({ key: key.slice(0, -1) });
    let difference = this.#differences.get(frontend);
    if (!difference) {
      difference = { missing: new Set(), extra: new Map() };
      this.#differences.set(frontend, difference);
    }
    return difference;
  }
}

function placeOf(key: NftElement["key"]): number {
  return Number(key.at(-1));
}

/** Undefined for what is none of ours: whatever else it says makes it another element. */
function endpointIn(element: NftElement | undefined): Places[number] {
  if (!element || element.comment !== undefined || !Array.isArray(element.value)) return undefined;
  const [ip, port] = element.value;
  return typeof ip === "string" && typeof port === "number" ? { ip, port } : undefined;
}
