/**
 * Keeps one family's table. The writer remembers the service ports it applied and a few counts, not
 * the table's elements: a change is the difference of two service ports. Whenever that memory may be
 * wrong (at first, after any refusal, on request) the kernel is read and compared with what is wanted.
 */
import { type Clock, systemClock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Logger } from "../../base/log.ts";
import { NfTablesError } from "../../kernel/nf_tables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftTable } from "../../kernel/nftables/operations.ts";
import type { ServicePort, ServicePortKey, Snapshot } from "../../snapshot/snapshot.ts";
import {
  type Changes,
  type Notice,
  type RuleWriter,
  skipNotices,
  type SyncReport,
} from "../writer.ts";
import { type Batch, mergeBatches } from "./batch.ts";
import { commitInOrder } from "../../kernel/nf_tables/commit_in_order.ts";
import { Committer } from "./committer.ts";
import { cutBatches } from "./cut_batch.ts";
import { type Applied, changesOf, inTable, remember, servicesAfter } from "./applied.ts";
import { Capacity, mostElements } from "./capacity.ts";
import { type Desired, groupServicePorts, wantedTable } from "./desired.ts";
import { forgetClients } from "./gone_clients.ts";
import { faultOf, withoutFaults } from "../../snapshot/faults.ts";
import { LookBudget } from "./look_budget.ts";
import type { NftablesMetrics } from "./metrics.ts";
import { tableOf } from "./names.ts";
import { OwnCommits } from "../../kernel/nf_tables/own_commits.ts";
import { planChanges, type ServiceChange } from "./plan.ts";
import { FullPlan } from "./full_plan.ts";
import { narrow } from "./narrowing.ts";
import { CulpritSearch } from "../../kernel/nf_tables/culprit_search.ts";
import type { RuleContext } from "./rules/statements.ts";
import { takeOverClients } from "./former_clients.ts";
import { definitionOf } from "./shards.ts";
import { sliceChanges } from "./slices.ts";
import { TableLook } from "./table_look.ts";
import { readTable } from "./table_reading.ts";
import { deleteUnneeded, emptyChains, type Tidied } from "./tidying.ts";

/** A sync that takes longer leaves the rest of its changes to the next one, so that others get their turn. */
const longestTurnMs = 50;

/** What a writer of this mode needs. */
interface NftablesWriterOptions {
  readonly family: IpFamily;
  readonly nftables: Nftables;
  /** The bit of the packet mark that asks for masquerading. */
  readonly masqueradeBit: number;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Shared by all writers of the program, so that none takes another's commits for somebody else's. */
  readonly ownCommits?: OwnCommits;
  /** Shared by all writers of the program. */
  readonly budget?: LookBudget;
  readonly metrics?: NftablesMetrics;
  /** What the table may hold; what a node can hold when absent. */
  readonly mostElements?: number;
}

/** A writer of one family's table. It touches no other table, and leaves its own when it is disposed. */
export class NftablesWriter implements RuleWriter {
  readonly family: IpFamily;
  readonly #nftables: Nftables;
  readonly #table: NftTable;
  readonly #mark: number;
  readonly #clock: Clock;
  readonly #logger: Logger | undefined;
  readonly #metrics: NftablesMetrics | undefined;
  readonly #committer: Committer;
  /** Undefined: only the kernel knows. */
  #applied: Applied | undefined;
  readonly #look: TableLook;
  readonly #capacity: Capacity;
  /** Service ports that cannot be written. */
  readonly #skipped = new Set<ServicePortKey>();

  constructor(options: NftablesWriterOptions) {
    this.family = options.family;
    this.#nftables = options.nftables;
    this.#table = tableOf(options.family);
    this.#mark = (1 << options.masqueradeBit) >>> 0;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#capacity = new Capacity(options.mostElements ?? mostElements);
    const { nftables, ownCommits = new OwnCommits() } = options;
    this.#committer = new Committer({ nftables, table: this.#table, ownCommits });
    this.#look = new TableLook({
      nftables,
      table: this.#table,
      foreign: this.#committer.foreign,
      budget: options.budget ?? new LookBudget(this.#clock),
      clock: this.#clock,
    });
  }

  async sync(snapshot: Snapshot, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    try {
      return await this.#sync(snapshot, changes, signal);
    } catch (error) {
      if (!signal.aborted) this.#metrics?.syncFailed(this.family);
      throw error;
    }
  }

  async #sync(snapshot: Snapshot, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    signal.throwIfAborted();
    const writtenBefore = this.#committer.written;
    const unneeded = this.#applied?.ledger.retired() ?? [];
    const followed = await this.#follow(snapshot, changes, signal);
    const isEnough = followed.kind === "done" && changes.kind === "some";
    const notices = isEnough
      ? skipNotices(followed.faults)
      : await this.#reconcile(snapshot, followed, signal);
    await this.#tidy(unneeded, signal);
    return {
      full: !isEnough,
      written: this.#committer.written - writtenBefore,
      notices,
      ...isEnough && followed.unfinished.size > 0 ? { unfinished: followed.unfinished } : {},
    };
  }

  async drifted(signal: AbortSignal): Promise<boolean> {
    const applied = this.#applied;
    if (!applied || !await this.#committer.foreign.isMoved()) return false;
    return await this.#look.isDifferent(applied, signal);
  }

  async maintain(signal: AbortSignal): Promise<void> {
    await this.#tidy(this.#applied?.ledger.retired() ?? [], signal);
    const ledger = this.#applied?.ledger;
    const [nftables, table, committer] = [this.#nftables, this.#table, this.#committer];
    for (const gone of ledger?.goneClients() ?? []) {
      const isDone = await forgetClients(gone, { nftables, table, committer, signal });
      if (isDone) ledger?.clientsForgotten(gone);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    // The rules stay, and the access to the kernel belongs to whoever made it.
    return Promise.resolve();
  }

  /** Writes what changed since the last call, if the memory of that call can be trusted. */
  async #follow(
    snapshot: Snapshot,
    changes: Changes,
    signal: AbortSignal,
  ): Promise<Followed> {
    const applied = this.#applied;
    if (!applied) return { kind: "unknown" };
    const context = this.#contextOf(snapshot);
    if (context.settings.leftovers !== applied.context.settings.leftovers) {
      return { kind: "unknown" };
    }
    const faults = new Map<ServicePortKey, string>();
    const started = this.#clock.monotonic();
    const slices = sliceChanges(changesOf(applied, snapshot, changes));
    for (const [i, slice] of slices.entries()) {
      const sound = slice.map((change) => this.#soundChange(change, faults))
        .filter(({ after, before }) => before !== after);
      this.#noteSkipped(slice.map(({ key }) => key), faults);
      const error = await this.#followSlice(sound, { ...applied, context }, signal);
      if (error) return { kind: "refused", error };
      const isLong = this.#clock.monotonic() - started > longestTurnMs;
      if (!isLong || changes.kind === "all") continue;
      const unfinished = new Set(slices.slice(i + 1).flat().map(({ key }) => key));
      return { kind: "done", faults, unfinished };
    }
    return { kind: "done", faults, unfinished: new Set() };
  }

  /** Writes a few changes at once; gives what the kernel said against it. */
  async #followSlice(
    slice: readonly ServiceChange[],
    applied: Applied,
    signal: AbortSignal,
  ): Promise<NfTablesError | undefined> {
    const placed = slice.map((change) => inTable(applied, change));
    const before = this.#applied?.context ?? applied.context;
    // Whatever happens until the end, only the kernel knows.
    this.#applied = undefined;
    try {
      const batches = planChanges(placed, {
        ledger: applied.ledger,
        before,
        after: applied.context,
        servicesAfter: () => servicesAfter(applied, slice),
      });
      await this.#commitAll(batches, signal);
    } catch (error) {
      if (!(error instanceof NfTablesError)) throw error;
      this.#logger?.verbose(2, "The kernel refused a change, reading the table", {
        table: `${this.#table.family} ${this.#table.name}`,
        error: describeError(error),
      });
      return error;
    }
    remember(applied, slice, placed);
    this.#applied = applied;
    return undefined;
  }

  /** Reads the kernel, compares everything, writes the difference. */
  async #reconcile(
    snapshot: Snapshot,
    followed: Followed,
    signal: AbortSignal,
  ): Promise<readonly Notice[]> {
    const written = this.#committer.written;
    const retired = new Set(this.#applied?.ledger.retired());
    this.#applied = undefined;
    const context = this.#contextOf(snapshot);
    const { faults, sound } = withoutFaults(snapshot.services, this.family);
    const beyond = this.#capacity.fill(sound);
    const fitting = new Map([...sound].filter(([key]) => !beyond.has(key)));
    const culprits = new CulpritSearch(groupServicePorts(fitting, snapshot.settings));
    let plan: FullPlan | undefined;
    // Others' chains make each commit long. What is refused is found by smaller ones.
    for (let joins = context.settings.leftovers; !plan; joins = false) {
      const desired = { context, groups: culprits.groups };
      plan = await this.#attempt(desired, { culprits, joins, retired, signal });
    }
    const { chainsToEmpty, ledger, placed } = plan;
    await this.#noted(emptyChains(chainsToEmpty, { committer: this.#committer, signal }));
    const services = new Map(culprits.groups.flat().map((each) => [each.key, each]));
    this.#applied = { services, placed, context, ledger };
    const unneeded = ledger.retired();
    const isRepaired = this.#committer.written > written ||
      unneeded.some((name) => !retired.has(name));
    await this.#tidy(unneeded, signal);
    const skipped = new Map([...faults, ...beyond, ...culprits.skipped]);
    this.#noteSkipped(this.#skipped.keys(), skipped);
    return [...skipNotices(skipped), ...isRepaired ? this.#repairNotices(followed) : []];
  }

  /** One reading and what follows from it; undefined when the kernel refused something. */
  async #attempt(
    desired: Desired,
    { culprits, joins, retired, signal }: {
      readonly culprits: CulpritSearch<ServicePort>;
      readonly joins: boolean;
      readonly retired: ReadonlySet<string>;
      readonly signal: AbortSignal;
    },
  ): Promise<FullPlan | undefined> {
    signal.throwIfAborted();
    const generation = await this.#committer.foreign.generation();
    const compared = await readTable(
      this.#nftables,
      this.#table,
      () => wantedTable(desired),
    );
    const content = compared?.content;
    if (content?.ownerPort !== undefined) throw ownedByOther(this.#table, content.ownerPort);
    this.#committer.foreign.agree(generation);
    const narrowed = compared && narrow(desired, compared);
    let plan = new FullPlan(desired, { content, retired, joins, narrowed });
    let batches: Iterable<Batch> = plan.batches();
    if (plan.isImpossible) {
      plan = new FullPlan(desired, { content: undefined, retired });
      batches = [mergeBatches([{ kind: "delete-table" }], plan.batches())];
    }
    const failed = await commitInOrder(cutBatches(batches, this.#committer.limit), {
      commit: ({ operations }, series) =>
        operations.length > 0 ? this.#committer.commit(operations, { series, signal }) : undefined,
      clock: this.#clock,
      signal,
    });
    if (!failed) {
      const former = new Map([...content?.sets ?? []].filter(([name]) => !definitionOf(name)));
      const [nftables, table, committer] = [this.#nftables, this.#table, this.#committer];
      if (former.size > 0) {
        const services = desired.groups.flat();
        await takeOverClients(services, { former, nftables, table, committer, signal });
      }
      return plan;
    }
    const { batch, error } = failed;
    if (error instanceof NfTablesError && culprits.learn(batch, error.failures)) return undefined;
    throw error;
  }

  /** Deletes what nobody needs since an earlier batch. */
  async #tidy(names: readonly string[], signal: AbortSignal): Promise<void> {
    const ledger = this.#applied?.ledger;
    if (!ledger || names.length === 0) return;
    const options = { committer: this.#committer, signal };
    ledger.forget((await this.#noted(deleteUnneeded(ledger, names, options))).gone);
  }

  /** What cannot go is counted and told, and tried again another time. */
  async #noted(tidying: Promise<Tidied>): Promise<Tidied> {
    const tidied = await tidying;
    if (tidied.held.length === 0) return tidied;
    this.#metrics?.cleanupFailed(this.family);
    this.#logger?.verbose(2, "The kernel did not remove unused objects, trying again later", {
      table: `${this.#table.family} ${this.#table.name}`,
      names: tidied.held.slice(0, 10),
    });
    return tidied;
  }

  async #commitAll(batches: Iterable<Batch>, signal: AbortSignal): Promise<void> {
    for (const { operations } of cutBatches(batches, this.#committer.limit)) {
      await this.#committer.commit(operations, { signal });
    }
  }

  /** The change, or a removal if what it leads to cannot be written. */
  #soundChange(change: ServiceChange, faults: Map<ServicePortKey, string>): ServiceChange {
    const broken = change.after && faultOf(change.after, this.family);
    const after = broken === undefined ? change.after : undefined;
    const fault = this.#capacity.change(change.before, after) ?? broken;
    if (fault === undefined) return change;
    faults.set(change.key, fault);
    return { ...change, after: undefined };
  }

  /** What becomes of service ports that were looked at. */
  #noteSkipped(
    looked: Iterable<ServicePortKey>,
    skipped: ReadonlyMap<ServicePortKey, string>,
  ): void {
    const before = this.#skipped.size;
    for (const key of [...looked]) this.#skipped.delete(key);
    for (const key of skipped.keys()) this.#skipped.add(key);
    if (before > 0 || this.#skipped.size > 0) {
      this.#metrics?.skipped(this.family, this.#skipped.size);
    }
  }

  #contextOf({ settings }: Snapshot): RuleContext {
    return { family: this.family, mark: this.#mark, settings };
  }

  #repairNotices(followed: Followed): readonly Notice[] {
    if (followed.kind === "unknown") return [];
    const cause = followed.kind === "refused"
      ? describeError(followed.error)
      : "somebody else changed it";
    const table = `${this.#table.family} ${this.#table.name}`;
    return [{ message: `Repaired table "${table}": ${cause}` }];
  }
}

/** How far the change alone came. */
type Followed =
  | {
    readonly kind: "done";
    readonly faults: ReadonlyMap<ServicePortKey, string>;
    readonly unfinished: ReadonlySet<ServicePortKey>;
  }
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly error: NfTablesError };

function ownedByOther({ family, name }: NftTable, port: number): Error {
  return new Error(
    `Cannot change table "${family} ${name}": it belongs to another program (netlink port ${port}, ` +
      "as a rule the number of its process), and the kernel lets nobody else change it; end that " +
      "program",
  );
}
