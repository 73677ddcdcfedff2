/** A writer over an nf_tables in memory, and what a test wants to see of it. */
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import type {
  FamilySettings,
  ServicePort,
  ServicePortKey,
  Snapshot,
} from "../../../../lib/snapshot/snapshot.ts";
import type { OwnCommits } from "../../../../lib/kernel/nf_tables/own_commits.ts";
import type { NftablesMetrics } from "../../../../lib/writers/nftables/metrics.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { NftablesWriter } from "../../../../lib/writers/nftables/writer.ts";
import type { Changes, RuleWriter, SyncReport } from "../../../../lib/writers/writer.ts";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { inAnyPlace } from "./any_place.ts";
import { snapshotOf } from "./samples.ts";

export const noSignal: AbortSignal = new AbortController().signal;

export class Harness {
  readonly family: IpFamily;
  readonly nftables: FakeNftables;
  readonly clock = new FakeClock();
  readonly #ownCommits: OwnCommits | undefined;
  readonly #metrics: NftablesMetrics | undefined;
  readonly #mostElements: number | undefined;
  writer: RuleWriter;
  #services = new Map<ServicePortKey, ServicePort>();
  #settings: Partial<FamilySettings>;

  constructor(options: {
    readonly family?: IpFamily;
    readonly nftables?: FakeNftables;
    readonly settings?: Partial<FamilySettings>;
    readonly ownCommits?: OwnCommits;
    readonly metrics?: NftablesMetrics;
    readonly mostElements?: number;
  } = {}) {
    this.family = options.family ?? "IPv4";
    this.nftables = options.nftables ?? new FakeNftables();
    this.#settings = options.settings ?? {};
    this.#ownCommits = options.ownCommits;
    this.#metrics = options.metrics;
    this.#mostElements = options.mostElements;
    this.writer = this.#newWriter();
  }

  get snapshot(): Snapshot {
    return snapshotOf(this.family, [...this.#services.values()], this.#settings);
  }

  /** The table, whatever places the endpoints of a frontend have. */
  table(): string {
    return inAnyPlace(this.nftables.dump());
  }

  /** What a clean start makes of the same snapshot, to be compared with `table`. */
  async cleanStart(): Promise<string> {
    const other = new Harness({ family: this.family, settings: this.#settings });
    other.#services = this.#services;
    await other.all();
    return other.table();
  }

  /** Adds or replaces service ports, and syncs just these. */
  async put(...servicePorts: readonly ServicePort[]): Promise<SyncReport> {
    return await this.change(servicePorts, []);
  }

  async remove(...keys: readonly ServicePortKey[]): Promise<SyncReport> {
    return await this.change([], keys);
  }

  async change(
    put: readonly ServicePort[],
    removed: readonly ServicePortKey[],
  ): Promise<SyncReport> {
    this.arrange(put, removed);
    const services = new Set([...put.map(({ key }) => key), ...removed]);
    return await this.sync({ kind: "some", services, settings: false });
  }

  /** Changes the desired state without telling the writer. */
  arrange(put: readonly ServicePort[], removed: readonly ServicePortKey[] = []): void {
    this.#services = new Map(this.#services);
    for (const key of removed) this.#services.delete(key);
    for (const each of put) this.#services.set(each.key, each);
  }

  async settings(settings: Partial<FamilySettings>): Promise<SyncReport> {
    this.#settings = { ...this.#settings, ...settings };
    return await this.sync({ kind: "some", services: new Set(), settings: true });
  }

  async all(): Promise<SyncReport> {
    return await this.sync({ kind: "all" });
  }

  async sync(changes: Changes, signal = noSignal): Promise<SyncReport> {
    return await this.writer.sync(this.snapshot, changes, signal);
  }

  async drifted(signal = noSignal): Promise<boolean> {
    return await this.writer.drifted(signal);
  }

  async maintain(): Promise<void> {
    await this.writer.maintain(noSignal);
  }

  /** The process ends, and another one starts on the same kernel. */
  restart(): void {
    this.writer = this.#newWriter();
  }

  /** Somebody else changes our table. */
  async tamper(...operations: readonly NftOperation[]): Promise<void> {
    await this.nftables.commit(tableOf(this.family), operations);
  }

  /** The operations of the batches since a mark, batch by batch. */
  batchesSince(mark: number): readonly (readonly NftOperation[])[] {
    return this.nftables.commits.slice(mark).map(({ operations }) => operations);
  }

  #newWriter(): RuleWriter {
    return new NftablesWriter({
      family: this.family,
      nftables: this.nftables,
      masqueradeBit: 14,
      clock: this.clock,
      ownCommits: this.#ownCommits,
      metrics: this.#metrics,
      ...(this.#mostElements !== undefined && { mostElements: this.#mostElements }),
    });
  }
}
