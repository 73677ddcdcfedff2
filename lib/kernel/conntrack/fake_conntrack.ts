import {
  type Conntrack,
  filterSelects,
  type Flow,
  type FlowFilter,
  type FlowListing,
  type ListFlowsOptions,
} from "./conntrack.ts";

/** A flow as a test writes it: the rest is made up. */
export type FakeFlow = Omit<Flow, "id" | "zone"> & Partial<Pick<Flow, "id" | "zone">>;

/** A table of connections in memory. */
export class FakeConntrack implements Conntrack {
  #flows: Flow[] = [];
  #nextId = 1;
  #failure: Error | undefined;
  #interrupted = false;
  /** What happens while a listing is on its way to its reader. */
  duringListing: () => void | Promise<void> = () => {};

  constructor(flows: readonly FakeFlow[] = []) {
    for (const flow of flows) this.add(flow);
  }

  /** What the table holds, in the order in which it came. */
  get flows(): readonly Flow[] {
    return this.#flows;
  }

  /** Puts an entry into the table and returns it as the kernel would list it. */
  add(flow: FakeFlow): Flow {
    const added = { zone: 0, id: this.#nextId++, ...flow };
    this.#flows.push(added);
    return added;
  }

  /** From now on every call fails like that; undefined ends it. */
  failWith(failure: Error | undefined): void {
    this.#failure = failure;
  }

  /** From now on listings miss every second entry, as if the kernel were interrupted each time. */
  interruptListings(interrupted: boolean): void {
    this.#interrupted = interrupted;
  }

  async list(filter: FlowFilter, options: ListFlowsOptions = {}): Promise<FlowListing> {
    if (this.#failure) throw this.#failure;
    const seen = this.#flows.filter((_flow, i) => !this.#interrupted || i % 2 === 0);
    const flows = seen.filter((flow) =>
      filterSelects(filter, flow) && (options.wanted?.(flow) ?? true)
    );
    await this.duringListing();
    return { flows, complete: !this.#interrupted };
  }

  remove(flows: readonly Flow[]): Promise<number> {
    if (this.#failure) return Promise.reject(this.#failure);
    const keys = new Set(flows.map(keyOf));
    const before = this.#flows.length;
    this.#flows = this.#flows.filter((flow) => !keys.has(keyOf(flow)));
    return Promise.resolve(before - this.#flows.length);
  }
}

/** The whole entry and its number: neither alone is enough for the kernel either. */
function keyOf(flow: Flow): string {
  return JSON.stringify([flow.family, flow.protocol, flow.original, flow.zone, flow.id]);
}
