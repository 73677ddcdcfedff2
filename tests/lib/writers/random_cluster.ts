/** A cluster that changes at random, and whoever tells a writer of it: after a failure all has to be compared. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { ServicePort, ServicePortKey, Snapshot } from "../../../lib/snapshot/snapshot.ts";
import type { SyncReport } from "../../../lib/writers/writer.ts";
import { snapshotOf } from "./nftables/samples.ts";
import { keyOf, servicePortOf, type Shape } from "./random_service_ports.ts";

/** What is told of changes. */
export interface ToldWriter {
  full(snapshot: Snapshot): Promise<SyncReport>;
  some(snapshot: Snapshot, ...changed: readonly ServicePort[]): Promise<SyncReport>;
  /** The program ends, and another one starts on the same kernel. */
  restart(): void;
}

export interface RandomClusterOptions {
  readonly family: IpFamily;
  readonly writer: ToldWriter;
  /** Whether a sync may fail like this. */
  readonly mayFail: (error: unknown) => boolean;
}

/** Syncs while nothing is planted any more: more than what was planted before can spoil. */
const settlingSyncs = 3;

export class RandomCluster {
  readonly #options: RandomClusterOptions;
  readonly #services = new Map<ServicePortKey, ServicePort>();
  #needsFull = true;

  constructor(options: RandomClusterOptions) {
    this.#options = options;
  }

  get snapshot(): Snapshot {
    return snapshotOf(this.#options.family, [...this.#services.values()]);
  }

  async put(shapes: readonly Shape[]): Promise<void> {
    const servicePorts = shapes.map((shape) => servicePortOf(this.#options.family, shape));
    for (const each of servicePorts) this.#services.set(each.key, each);
    await this.#change(servicePorts);
  }

  async remove(number: number): Promise<void> {
    const gone = this.#services.get(keyOf(number));
    if (!gone) return;
    this.#services.delete(gone.key);
    await this.#change([gone]);
  }

  async restart(): Promise<void> {
    this.#options.writer.restart();
    await this.#full();
  }

  /** Somebody else changed something. */
  edited(): void {
    this.#needsFull = true;
  }

  async settle(): Promise<void> {
    for (let i = 0; i < settlingSyncs; i++) await this.#full();
  }

  async #change(changed: readonly ServicePort[]): Promise<void> {
    if (this.#needsFull) return await this.#full();
    await this.#sync(() => this.#options.writer.some(this.snapshot, ...changed));
  }

  async #full(): Promise<void> {
    await this.#sync(() => this.#options.writer.full(this.snapshot));
  }

  async #sync(sync: () => Promise<SyncReport>): Promise<void> {
    this.#needsFull = true;
    try {
      await sync();
      this.#needsFull = false;
    } catch (error) {
      if (!this.#options.mayFail(error)) throw error;
    }
  }
}
