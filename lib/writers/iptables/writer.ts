/**
 * Keeps one family's rules. The writer remembers the service ports it applied, not their rules: a
 * change is the difference of two service ports. Whenever that memory may be wrong (at first, after
 * any refusal, on request, when a setting changes) the kernel is read and compared with what
 * is wanted.
 */
import { type Clock, systemClock } from "../../base/clock.ts";
import { deepEqual } from "../../base/deep_equal.ts";
import { describeError } from "../../base/errors.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Logger } from "../../base/log.ts";
import { CulpritSearch } from "../../kernel/nf_tables/culprit_search.ts";
import { isRefusal, XtablesError } from "../../kernel/xtables/errors.ts";
import { toolOf, type XtChange } from "../../kernel/xtables/rules.ts";
import type { Xtables, XtReceipt } from "../../kernel/xtables/xtables.ts";
import { faultOf, withoutFaults } from "../../snapshot/faults.ts";
import type { ServicePort, ServicePortKey, Snapshot } from "../../snapshot/snapshot.ts";
import {
  type Changes,
  type Notice,
  type RuleWriter,
  skipNotices,
  type SyncReport,
} from "../writer.ts";
import { Applied } from "./applied.ts";
import type { BackendWatch } from "../kube_chains/backend.ts";
import type { Batch } from "./batch.ts";
import { Counters } from "./counters.ts";
import { Draft } from "./draft.ts";
import { batchFailuresOf, chainsInUse } from "./failures.ts";
import { FullPlan, sortedByKey } from "./full_plan.ts";
import { cuts, type FailedBatch, Load, type Tally, tallyOf } from "./load.ts";
import type { IptablesMetrics } from "./metrics.ts";
import { OwnStamps } from "./own_stamps.ts";
import { type ContributionChange, planChange, type ServiceChange } from "./plan.ts";
import type { RuleContext } from "./rules/context.ts";
import { contextOf, isLargeCluster, type NodeFacts } from "./node_facts.ts";
import type { EditWatch } from "./edit_watch.ts";
import { TableWatch } from "./table_watch.ts";
import { Watch } from "./watch.ts";

/** More changes than this are cheaper by reading and comparing. */
const changesPerBatch = 1_000;
/** Each waits for the lock by itself. */
const lockAttempts = 3;

/** What a writer of this mode needs. */
export interface IptablesWriterOptions {
  readonly family: IpFamily;
  readonly xtables: Xtables;
  /** What the mode's settings and the node say. */
  readonly facts: NodeFacts;
  readonly counters: Counters;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Shared by all writers of the program, so that none takes another's commits for somebody else's. */
  readonly ownStamps?: OwnStamps;
  readonly metrics?: IptablesMetrics;
  /** Asked now and then. */
  readonly backendWatch?: BackendWatch;
}

/** A writer of one family's rules. It leaves them when it is disposed. */
export class IptablesWriter implements RuleWriter {
  readonly family: IpFamily;
  readonly #options: IptablesWriterOptions;
  readonly #xtables: Xtables;
  readonly #watch: EditWatch;
  /** Undefined: only the kernel knows. */
  #applied: Applied | undefined;
  /** What was right when it was last known: of no other chains are the rules known that hold it. */
  #former: Applied | undefined;
  #written = 0;
  /** Rules that the sync under way wrote. */
  #rules: { nat: number; filter: number } = { nat: 0, filter: 0 };

  constructor(options: IptablesWriterOptions) {
    const { clock = systemClock, family, ownStamps = new OwnStamps(), xtables } = options;
    this.family = family;
    this.#options = options;
    this.#xtables = xtables;
    const watch = { family, xtables, clock, ownStamps };
    this.#watch = xtables.backend === "nft" ? new Watch(watch) : new TableWatch(watch);
  }

  /** For a first sync that comes soon: what takes time and asks nothing of the snapshot begins now. */
  readAhead(): void {
    this.#watch.readAhead?.();
  }

  async sync(snapshot: Snapshot, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    signal.throwIfAborted();
    const { family } = this;
    const { metrics } = this.#options;
    const writtenBefore = this.#written;
    this.#rules = { nat: 0, filter: 0 };
    let isPartial = false;
    try {
      const followed = changes.kind === "some"
        ? await this.#follow(snapshot, changes.services, signal)
        : { kind: "unknown" as const };
      isPartial = followed.kind === "done";
      if (followed.kind === "refused") metrics?.restoreFailed(family, { isPartial: true });
      const notices = followed.kind === "done"
        ? skipNotices(followed.faults)
        : await this.#reconcile(snapshot, followed, signal);
      const written = this.#written - writtenBefore;
      return { full: !isPartial, written, notices };
    } catch (error) {
      if (!signal.aborted && error instanceof XtablesError) {
        metrics?.restoreFailed(family, { isPartial: false });
      }
      throw error;
    } finally {
      this.#report();
    }
  }

  async drifted(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    return this.#applied !== undefined && await this.#watch.drifted(this.#applied, signal);
  }

  /** Stale chains go with the change that leaves them; what remains is to look which engine is used. */
  async maintain(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#options.backendWatch?.look();
  }

  [Symbol.asyncDispose](): Promise<void> {
    // The rules stay, and the access to the kernel belongs to whoever made it.
    return Promise.resolve();
  }

  /** Writes what changed since the last call in one commit, if the memory of that call can be trusted. */
  async #follow(
    snapshot: Snapshot,
    keys: ReadonlySet<ServicePortKey>,
    signal: AbortSignal,
  ): Promise<Followed> {
    const applied = this.#applied;
    if (!applied || keys.size > changesPerBatch) return { kind: "unknown" };
    const faults = new Map<ServicePortKey, string>();
    const changes = changesOf(applied, snapshot, keys)
      .map((change) => this.#soundChange(change, faults))
      .filter(({ after, before }) => before !== after);
    const endpoints = changes.reduce(
      (sum, { after, before }) => sum + (after?.endpointCount ?? 0) - (before?.endpointCount ?? 0),
      applied.endpoints,
    );
    const context = this.#contextOf(snapshot, endpoints);
    // Settings are in the rules of all service ports.
    if (!deepEqual(context, applied.context)) return { kind: "unknown" };
    const draft = new Draft();
    const planned = changes.map((change) => planChange(change, { context, draft }));
    // Whatever happens until the end, only the kernel knows.
    this.#former = applied;
    this.#applied = undefined;
    try {
      await this.#commit(draft.takeAll(), signal);
    } catch (error) {
      if (!(error instanceof XtablesError)) throw error;
      this.#options.logger?.verbose(2, "A change of iptables' rules was refused, reading them", {
        family: this.family,
        error: describeError(error),
      });
      return { kind: "refused", error };
    }
    this.#take(applied, planned, changes);
    return { kind: "done", faults };
  }

  #take(
    applied: Applied,
    planned: readonly ContributionChange[],
    changes: readonly ServiceChange[],
  ): void {
    for (const [index, change] of planned.entries()) applied.changed(change, changes[index].after);
    this.#applied = applied;
  }

  /** Reads the kernel, compares everything, writes the difference. */
  async #reconcile(
    snapshot: Snapshot,
    followed: Followed,
    signal: AbortSignal,
  ): Promise<readonly Notice[]> {
    const written = this.#written;
    this.#former = this.#applied ?? this.#former;
    this.#applied = undefined;
    this.#options.counters.ensure();
    const { faults, sound } = withoutFaults(snapshot.services, this.family);
    const culprits = new CulpritSearch<ServicePort>([[...sound.values()]]);
    const search: Search = { culprits, kept: new Set(), keepsChanges: false };
    let applied: Applied | undefined;
    while (!applied) applied = await this.#attempt(snapshot, search, signal);
    this.#applied = applied;
    this.#watch.settled();
    const skipped = new Map([...faults, ...culprits.skipped]);
    const isRepaired = this.#written > written;
    return [
      ...skipNotices(skipped),
      ...[...search.kept].map((chain) => keptNotice(chain, this.family)),
      ...isRepaired ? this.#repairNotices(followed) : [],
    ];
  }

  /** One reading and what follows from it; undefined when something was refused. */
  async #attempt(
    snapshot: Snapshot,
    search: Search,
    signal: AbortSignal,
  ): Promise<Applied | undefined> {
    signal.throwIfAborted();
    const { kept } = search;
    const sorted = sortedByKey(search.culprits.groups.flat());
    const services = new Map(sorted.map((each) => [each.key, each]));
    let endpoints = 0;
    for (const { endpointCount } of services.values()) endpoints += endpointCount;
    const context = this.#contextOf(snapshot, endpoints);
    const { reading, stamp } = await this.#watch.read();
    this.#watch.agree(stamp, reading.chains);
    const over = this.#watch.over(reading, isSameSince(this.#former, { context, services }));
    const plan = new FullPlan({ context, services: services.values() }, over, {
      leavesPerBatch: this.#leavesPerBatch(search),
      kept,
    });
    const load = this.#load(search, signal);
    try {
      for await (const batch of plan.batches()) {
        const failed = await load.take(batch);
        if (failed) return this.#learn(failed, search);
      }
      const failed = await load.finish();
      if (failed) return this.#learn(failed, search);
    } finally {
      await load.settled();
    }
    return new Applied({ context, services, owners: plan.owners, counts: plan.counts, kept });
  }

  #leavesPerBatch({ keepsChanges }: Search): number {
    const { changesPerPiece, leavesPerCommit } = cuts[this.#xtables.backend];
    return keepsChanges || !this.#xtables.compose ? leavesPerCommit : changesPerPiece;
  }

  #load({ keepsChanges }: Search, signal: AbortSignal): Load {
    return new Load({
      cut: cuts[this.#xtables.backend],
      commit: (batch) => this.#commit(batch, signal),
      compose: () =>
        keepsChanges ? undefined : this.#xtables.compose?.(this.family, { signal, first: "nat" }),
      composing: (changes) => this.#watch.changing(changes),
      commitComposed: async (composition, tally) => {
        signal.throwIfAborted();
        this.#note(await composition.commit(), tally);
      },
    });
  }

  /** Another attempt may help, or the error is thrown. */
  #learn({ batch, error }: FailedBatch, search: Search): undefined {
    const { culprits, kept } = search;
    this.#watch.forget();
    if (!(error instanceof XtablesError)) throw error;
    if (!batch) {
      // The next attempt says which change it is.
      search.keepsChanges = true;
      return;
    }
    const used = chainsInUse(error, batch.changes).filter((chain) => !kept.has(chain));
    for (const chain of used) kept.add(chain);
    // Each such attempt leaves one chain less to be deleted.
    if (used.length > 0) return;
    if (!culprits.learn(batch, batchFailuresOf(error))) throw error;
  }

  async #commit(batch: Batch, signal: AbortSignal): Promise<void> {
    const { changes } = batch;
    const receipt = await this.#commitUnlocked(changes, signal);
    if (!receipt) return;
    this.#watch.changing(changes);
    this.#note(receipt, tallyOf(changes));
  }

  #note(receipt: XtReceipt, { changes, filter, nat }: Tally): void {
    this.#written += changes;
    this.#rules.nat += nat;
    this.#rules.filter += filter;
    this.#watch.committed(receipt);
  }

  /** While another program holds iptables' lock nothing is applied: the same is tried again. */
  async #commitUnlocked(
    changes: readonly XtChange[],
    signal: AbortSignal,
  ): Promise<XtReceipt | undefined> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#xtables.commit(this.family, changes, { signal });
      } catch (error) {
        if (attempt === lockAttempts || !isRefusal(error, "locked")) throw error;
      }
    }
  }

  /** The change, or a removal if what it leads to cannot be written. */
  #soundChange(change: ServiceChange, faults: Map<ServicePortKey, string>): ServiceChange {
    const fault = change.after && faultOf(change.after, this.family);
    if (fault === undefined) return change;
    faults.set(change.key, fault);
    return { ...change, after: undefined };
  }

  #contextOf({ settings }: Snapshot, endpoints: number): RuleContext {
    const { counters, facts } = this.#options;
    return contextOf(facts, {
      family: this.family,
      settings,
      counters: counters.usable,
      isLarge: isLargeCluster(endpoints),
    });
  }

  #report(): void {
    const applied = this.#applied;
    if (!applied) return;
    this.#options.metrics?.rules(this.family, {
      counts: applied.counts,
      written: this.#rules,
      context: applied.context,
    });
  }

  #repairNotices(followed: Followed): readonly Notice[] {
    if (followed.kind !== "refused") return [];
    const cause = describeError(followed.error);
    return [{ message: `Repaired the rules of ${toolOf(this.family)}: ${cause}` }];
  }
}

/** What the attempts of one comparison found out. */
interface Search {
  readonly culprits: CulpritSearch<ServicePort>;
  /** Stale chains that cannot be deleted. */
  readonly kept: Set<string>;
  /** Something was refused: whatever is refused next has to be named. */
  keepsChanges: boolean;
}

/** How far the change alone came. */
type Followed =
  | { readonly kind: "done"; readonly faults: ReadonlyMap<ServicePortKey, string> }
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly error: XtablesError };

/** Whether the rules that are wanted of an own chain are those that were wanted before. */
function isSameSince(
  former: Applied | undefined,
  { context, services }: Pick<Applied, "context" | "services">,
): (chain: string) => boolean {
  if (!former || !deepEqual(former.context, context)) return () => false;
  return (chain) => {
    const key = former.owners.get(chain);
    const before = key === undefined ? undefined : former.services.get(key);
    return before !== undefined && before === services.get(before.key);
  };
}

function keptNotice(chain: string, family: IpFamily): Notice {
  return {
    message: `Cannot delete chain "${chain}" of ${toolOf(family)} table "nat": another program's ` +
      "rule leads to it; it was emptied and stays until that rule is gone",
  };
}

function changesOf(
  { services }: Applied,
  snapshot: Snapshot,
  keys: ReadonlySet<ServicePortKey>,
): readonly ServiceChange[] {
  return [...keys]
    .map((key): ServiceChange => ({
      key,
      before: services.get(key),
      after: snapshot.services.get(key),
    }))
    .sort((a, b) => a.key < b.key ? -1 : 1);
}
