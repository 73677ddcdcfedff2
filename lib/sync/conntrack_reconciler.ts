/**
 * Ends stale UDP flows after a sync. What has to be looked at is kept until it was looked at: neither
 * a failed sync nor a failed look at the table loses it.
 */
import type { IpFamily } from "../base/ip_family.ts";
import type { Conntrack, Flow } from "../kernel/conntrack/conntrack.ts";
import type { ServicePort, ServicePortKey } from "../snapshot/snapshot.ts";
import { UdpFrontends } from "./udp_frontends.ts";

/** What a reconciliation did. */
export interface Reconciliation {
  readonly removed: number;
  /** False when the kernel interrupted the listing each time: a part was reconciled. */
  readonly complete: boolean;
}

/** Flows could not be looked at or ended; rules are not concerned. */
export class ReconciliationError extends Error {
  override readonly name = "ReconciliationError";
}

/** The UDP flows of one family. */
export class ConntrackReconciler {
  readonly #conntrack: Conntrack;
  readonly #frontends: UdpFrontends;
  /** Changed since they were last looked at. */
  readonly #changed = new Set<ServicePortKey>();
  #due = false;

  constructor(family: IpFamily, conntrack: Conntrack) {
    this.#conntrack = conntrack;
    this.#frontends = new UdpFrontends(family);
  }

  /** Whether `reconcile` has something to do. */
  get due(): boolean {
    return this.#due;
  }

  /**
   * Notes what a successful sync put into force. `endpointsChanged` makes a reconciliation due:
   * changes of Services alone never cut flows, but are heeded with the next one that is.
   */
  note(
    keys: ReadonlySet<ServicePortKey>,
    udpPorts: ReadonlyMap<ServicePortKey, ServicePort>,
    { endpointsChanged }: { readonly endpointsChanged: boolean },
  ): void {
    this.#frontends.update(keys, udpPorts);
    for (const key of keys) {
      if (udpPorts.has(key)) this.#changed.add(key);
      else this.#changed.delete(key);
    }
    this.#due ||= endpointsChanged;
  }

  /** Ends the stale flows of everything noted. When it throws (`ReconciliationError`), it is still due. */
  async reconcile(signal: AbortSignal): Promise<Reconciliation> {
    try {
      return await this.#reconcile(signal);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ReconciliationError(`Cannot end stale UDP flows: ${reason}`, { cause });
    }
  }

  async #reconcile(signal: AbortSignal): Promise<Reconciliation> {
    const { filters, isStale } = this.#frontends.review(this.#changed);
    const stale = new Map<string, Flow>();
    let complete = true;
    for (const filter of filters) {
      const listing = await this.#conntrack.list(filter, { wanted: isStale, signal });
      complete &&= listing.complete;
      for (const flow of listing.flows) stale.set(identityOf(flow), flow);
    }
    const removed = await this.#conntrack.remove([...stale.values()], signal);
    this.#changed.clear();
    this.#due = false;
    return { removed, complete };
  }
}

function identityOf({ id, original, zone }: Flow): string {
  const { source, destination, sourcePort, destinationPort } = original;
  return `${id} ${zone} ${source} ${sourcePort} ${destination} ${destinationPort}`;
}
