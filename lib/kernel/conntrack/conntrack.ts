/** The kernel's table of connections, as far as a service proxy looks into it. */
import type { IpFamily } from "../../base/ip_family.ts";

/** Addresses are canonical text; ports are 0 for protocols without them. */
export interface FlowTuple {
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
}

/** One entry: how its first packet looked, and how its answers look (both after translation). */
export interface Flow {
  readonly family: IpFamily;
  /** Number of the IP protocol: 6, 17, 132. */
  readonly protocol: number;
  readonly original: FlowTuple;
  readonly reply: FlowTuple;
  /** The kernel's number of this entry: one that takes its place later has, as a rule, another. */
  readonly id: number;
  /** 0 unless somebody separates connections by zones. */
  readonly zone: number;
}

/**
 * Which entries are meant: all given fields must be equal, in the original direction. At least one
 * address or port must be left open (a whole tuple names one entry, which is `remove`'s business).
 */
export interface FlowFilter {
  readonly family: IpFamily;
  readonly protocol: number;
  readonly destination?: string;
  readonly destinationPort?: number;
}

/** How entries are listed. */
export interface ListFlowsOptions {
  /** Whether the entry is wanted; asked for each that passes the filter. The flow is valid after it too. */
  readonly wanted?: (flow: Flow) => boolean;
  readonly signal?: AbortSignal;
}

/** What was found. */
export interface FlowListing {
  readonly flows: readonly Flow[];
  /** False when the kernel interrupted every attempt: entries may be missing, none is wrong. */
  readonly complete: boolean;
}

/** Reading and ending entries, in the network namespace of the calling thread. Throws `NetlinkError`. */
export interface Conntrack {
  /** Goes through the table without blocking the event loop for long. */
  list(filter: FlowFilter, options?: ListFlowsOptions): Promise<FlowListing>;
  /** Removes exactly these entries; one that is gone already is fine. Returns how many it removed. */
  remove(flows: readonly Flow[], signal?: AbortSignal): Promise<number>;
}

/** Whether the filter selects the flow. */
export function filterSelects(filter: FlowFilter, flow: Flow): boolean {
  return flow.family === filter.family && flow.protocol === filter.protocol &&
    (filter.destination === undefined || flow.original.destination === filter.destination) &&
    (filter.destinationPort === undefined ||
      flow.original.destinationPort === filter.destinationPort);
}
