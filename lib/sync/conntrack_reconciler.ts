/**
 * Ends stale UDP flows after a sync, and beside the next one: a table of a hundred thousand flows is
 * in nobody's way. What has to be looked at is kept until it was looked at: neither a failed sync nor
 * a failed look at the table loses it.
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

/** What is known of the service ports that a sync put into force. */
export interface InForce {
  readonly udpPorts: ReadonlyMap<ServicePortKey, ServicePort>;
  readonly endpointsChanged: boolean;
}

const none: ReadonlySet<ServicePortKey> = new Set();

/** The UDP flows of one family. */
export class ConntrackReconciler {
  readonly #conntrack: Conntrack;
  readonly #frontends: UdpFrontends;
  /** Changed since they were last looked at. */
  readonly #changed = new Set<ServicePortKey>();
  /** Between their old rules and their new ones: a flow may follow either. */
  #written: ReadonlySet<ServicePortKey> = none;
  #due = false;

  constructor(family: IpFamily, conntrack: Conntrack) {
    this.#conntrack = conntrack;
    this.#frontends = new UdpFrontends(family);
  }

  /** Whether `reconcile` has something to do. */
  get due(): boolean {
    return this.#due;
  }

  /** A sync begins to write these: their flows are left alone until `note` or `abandon`. */
  begin(keys: ReadonlySet<ServicePortKey>): void {
    this.#written = keys;
  }

  /** The sync that began failed. */
  abandon(): void {
    this.#written = none;
  }

  /**
   * Notes what a successful sync put into force. `endpointsChanged` makes a reconciliation due:
   * changes of Services alone never cut flows, but are heeded with the next one that is.
   */
  note(keys: ReadonlySet<ServicePortKey>, { endpointsChanged, udpPorts }: InForce): void {
    this.#written = none;
    this.#frontends.update(keys, udpPorts);
    this.#due ||= endpointsChanged;
    // Last: see what keeps a change cheap (lib/README.md).
    for (const key of keys) {
      if (udpPorts.has(key)) this.#changed.add(key);
      else this.#changed.delete(key);
    }
  }

  /** Ends the stale flows of everything noted. When it throws, it is still due. Calls must not overlap. */
  async reconcile(signal: AbortSignal): Promise<Reconciliation> {
    const keys = new Set(this.#changed);
    this.#changed.clear();
    this.#due = false;
    try {
      return await this.#reconcile(keys, signal);
    } catch (cause) {
      this.#putBack(keys);
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Cannot end stale UDP flows: ${reason}`, { cause });
    }
  }

  async #reconcile(
    keys: ReadonlySet<ServicePortKey>,
    signal: AbortSignal,
  ): Promise<Reconciliation> {
    const { filters, isStale } = this.#frontends.review(keys);
    const stale = new Map<string, Flow>();
    let complete = true;
    for (const filter of filters) {
      const listing = await this.#conntrack.list(filter, { wanted: isStale, signal });
      complete &&= listing.complete;
      for (const flow of listing.flows) stale.set(identityOf(flow), flow);
    }
    const flows = this.#stillStale([...stale.values()], keys);
    return { removed: await this.#conntrack.remove(flows, signal), complete };
  }

  /** Rules may have changed while the table was read. */
  #stillStale(flows: readonly Flow[], keys: ReadonlySet<ServicePortKey>): readonly Flow[] {
    const written = keys.intersection(this.#written);
    if (written.size > 0) this.#putBack(written);
    const { isStale } = this.#frontends.review(keys.difference(written));
    return flows.filter(isStale);
  }

  #putBack(keys: ReadonlySet<ServicePortKey>): void {
    for (const key of keys) this.#changed.add(key);
    this.#due = true;
  }
}

function identityOf({ id, original, zone }: Flow): string {
  const { source, destination, sourcePort, destinationPort } = original;
  return `${id} ${zone} ${source} ${sourcePort} ${destination} ${destinationPort}`;
}
