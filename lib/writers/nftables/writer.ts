/**
 * Keeps one family's table. The writer remembers the service ports it applied and a few counts, not
 * the table's elements: a change is the difference of two service ports. Whenever that memory may be
 * wrong (at first, after any refusal, on request) the kernel is read and its truth is the start.
 */
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Logger } from "../../base/log.ts";
import { isNotFound, NftablesError } from "../../kernel/nftables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftTable } from "../../kernel/nftables/operations.ts";
import type { ServicePort, ServicePortKey, Snapshot } from "../../snapshot/snapshot.ts";
import type { Changes, Notice, RuleWriter, SyncReport } from "../writer.ts";
import { type Batch, mergeBatches } from "./batch.ts";
import { commitInOrder } from "./commit_in_order.ts";
import { Committer } from "./committer.ts";
import { contributionsOf, type Desired, groupServicePorts, wantedElements } from "./desired.ts";
import { faultOf, withoutFaults } from "./faults.ts";
import type { Inventory } from "./inventory.ts";
import { tableOf } from "./names.ts";
import { OwnCommits } from "./own_commits.ts";
import { planChanges, type ServiceChange } from "./plan.ts";
import { Reconciliation } from "./reconciliation.ts";
import { Refusals } from "./refusals.ts";
import type { RuleContext } from "./rules/statements.ts";
import { readTable, type TableContent } from "./table_index.ts";

/** More changes than this are cheaper by reading and comparing, in several batches. */
const changesPerBatch = 1_000;
/**
 * A foreign edit is looked for at least this often while the ruleset keeps moving. Whoever asks does
 * so every second, then reads and writes: all of it together has to fit into five.
 */
const longestLookIntervalMs = 2_500;
/** Share of the time that looking may take while other software keeps changing its own tables. */
const lookShare = 1 / 20;

/** What a writer of this mode needs. */
export interface NftablesWriterOptions {
  readonly family: IpFamily;
  readonly nftables: Nftables;
  /** The bit of the packet mark that asks for masquerading. */
  readonly masqueradeBit: number;
  readonly clock: Clock;
  readonly logger?: Logger;
  /** Shared by all writers of the program, so that none takes another's commits for somebody else's. */
  readonly ownCommits?: OwnCommits;
}

/** What the table holds as far as the writer knows. */
interface Applied {
  readonly services: Map<ServicePortKey, ServicePort>;
  readonly context: RuleContext;
  readonly inventory: Inventory;
}

export class NftablesWriter implements RuleWriter {
  readonly family: IpFamily;
  readonly #nftables: Nftables;
  readonly #table: NftTable;
  readonly #mark: number;
  readonly #clock: Clock;
  readonly #logger: Logger | undefined;
  readonly #committer: Committer;
  /** Undefined: only the kernel knows. */
  #applied: Applied | undefined;
  #nextLook = -Infinity;

  constructor(options: NftablesWriterOptions) {
    this.family = options.family;
    this.#nftables = options.nftables;
    this.#table = tableOf(options.family);
    this.#mark = (1 << options.masqueradeBit) >>> 0;
    this.#clock = options.clock;
    this.#logger = options.logger;
    const { nftables, ownCommits = new OwnCommits() } = options;
    this.#committer = new Committer({ nftables, table: this.#table, ownCommits });
  }

  async sync(snapshot: Snapshot, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    signal.throwIfAborted();
    const writtenBefore = this.#committer.written;
    const unneeded = this.#applied?.inventory.retired() ?? [];
    const followed = await this.#follow(snapshot, changes, signal);
    const isEnough = followed.kind === "done" && changes.kind === "some";
    const notices = isEnough
      ? skipNotices(followed.faults)
      : await this.#reconcile(snapshot, followed, signal);
    await this.#tidy(unneeded, signal);
    return { full: !isEnough, written: this.#committer.written - writtenBefore, notices };
  }

  async drifted(signal: AbortSignal): Promise<boolean> {
    const applied = this.#applied;
    if (!applied) return false;
    if (await this.#committer.isMoved()) {
      const started = this.#clock.monotonic();
      if (started < this.#nextLook) return false;
      const generation = await this.#committer.generation();
      const isDifferent = await this.#isDifferent(applied);
      const took = this.#clock.monotonic() - started;
      this.#nextLook = started + Math.min(took / lookShare, longestLookIntervalMs);
      if (isDifferent) return true;
      this.#committer.agree(generation);
    }
    await this.#tidy(applied.inventory.retired(), signal);
    return false;
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
    const faults = new Map<ServicePortKey, string>();
    const services = changesOf(applied, snapshot, changes)
      .map((change) => this.#soundChange(change, faults))
      .filter(({ after, before }) => before !== after);
    const concernsAll = context.settings.leftovers !== applied.context.settings.leftovers;
    if (concernsAll || services.length > changesPerBatch) return { kind: "unknown" };
    // Whatever happens until the end, only the kernel knows.
    this.#applied = undefined;
    try {
      const batches = planChanges(services, {
        inventory: applied.inventory,
        before: applied.context,
        after: context,
        servicesAfter: () => followedServices(applied, services),
      });
      for (const { operations } of batches) await this.#committer.commit(operations, { signal });
    } catch (error) {
      if (!(error instanceof NftablesError)) throw error;
      this.#logger?.verbose(2, "The kernel refused a change, reading the table", {
        table: `${this.#table.family} ${this.#table.name}`,
        error: describeError(error),
      });
      return { kind: "refused", error };
    }
    for (const { after, key } of services) {
      if (after) applied.services.set(key, after);
      else applied.services.delete(key);
    }
    this.#applied = { ...applied, context };
    return { kind: "done", faults };
  }

  /** Reads the kernel, compares everything, writes the difference. */
  async #reconcile(
    snapshot: Snapshot,
    followed: Followed,
    signal: AbortSignal,
  ): Promise<readonly Notice[]> {
    const written = this.#committer.written;
    const retired = new Set(this.#applied?.inventory.retired());
    this.#applied = undefined;
    const context = this.#contextOf(snapshot);
    const { faults, sound } = withoutFaults(snapshot.services, this.family);
    const refusals = new Refusals(groupServicePorts(sound));
    let inventory: Inventory | undefined;
    while (!inventory) {
      const desired = { context, groups: refusals.groups };
      inventory = await this.#attempt(desired, { refusals, retired, signal });
    }
    const services = new Map(refusals.groups.flat().map((each) => [each.key, each]));
    this.#applied = { services, context, inventory };
    const unneeded = inventory.retired();
    const isRepaired = this.#committer.written > written ||
      unneeded.some((name) => !retired.has(name));
    await this.#tidy(unneeded, signal);
    const skipped = new Map([...faults, ...refusals.skipped]);
    return [...skipNotices(skipped), ...isRepaired ? this.#repairNotices(followed) : []];
  }

  /** One reading and what follows from it; undefined when the kernel refused something. */
  async #attempt(
    desired: Desired,
    { refusals, retired, signal }: {
      readonly refusals: Refusals;
      readonly retired: ReadonlySet<string>;
      readonly signal: AbortSignal;
    },
  ): Promise<Inventory | undefined> {
    signal.throwIfAborted();
    const generation = await this.#committer.generation();
    const { complete, content } = await this.#compare(desired);
    this.#committer.agree(generation);
    let reconciliation = new Reconciliation(complete, { content, retired });
    let batches: Iterable<Batch> = reconciliation.batches();
    if (reconciliation.isImpossible) {
      reconciliation = new Reconciliation(complete, { content: undefined, retired });
      batches = [mergeBatches([{ kind: "delete-table" }], reconciliation.batches())];
    }
    const options = { committer: this.#committer, clock: this.#clock, signal };
    const failed = await commitInOrder(batches, options);
    if (!failed) return reconciliation.inventory;
    const { batch, error } = failed;
    if (error instanceof NftablesError && refusals.learn(batch, error.failures)) return undefined;
    throw error;
  }

  async #isDifferent({ context, inventory, services }: Applied): Promise<boolean> {
    const desired = { context, groups: groupServicePorts(services) };
    const { complete, content } = await this.#compare(desired);
    if (!content) return true;
    const retired = new Set(inventory.retired());
    const reconciliation = new Reconciliation(complete, { content, retired });
    return reconciliation.isImpossible || reconciliation.isNeeded();
  }

  /** Reads the table, if there is one, and gives what had to be computed of the desired state for that. */
  async #compare(
    desired: Desired,
  ): Promise<{ readonly complete: Desired; readonly content: TableContent | undefined }> {
    let complete = desired;
    const content = await readTable(this.#nftables, this.#table, () => {
      complete = { ...desired, contributions: contributionsOf(desired) };
      return wantedElements(complete);
    });
    return { complete, content };
  }

  /** Deletes what nobody needs since an earlier batch. Older kernels may ask for patience. */
  async #tidy(names: readonly string[], signal: AbortSignal): Promise<void> {
    const inventory = this.#applied?.inventory;
    if (!inventory || names.length === 0) return;
    try {
      await this.#committer.commit(inventory.deletions(names), { signal });
      inventory.forget(names);
    } catch (error) {
      if (!(error instanceof NftablesError)) throw error;
      // Still referred to somewhere in the kernel: the next call tries again. Nothing that serves
      // packets depends on it.
      if (!isNotFound(error)) return;
      if (names.length === 1) return inventory.forget(names);
      // Somebody was faster with one of them.
      for (const name of names) await this.#tidy([name], signal);
    }
  }

  /** The change, or a removal if what it leads to cannot be written. */
  #soundChange(change: ServiceChange, faults: Map<ServicePortKey, string>): ServiceChange {
    const fault = change.after && faultOf(change.after, this.family);
    if (fault === undefined) return change;
    faults.set(change.key, fault);
    return { ...change, after: undefined };
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
    return [{ kind: "repaired", message: `Repaired table "${table}": ${cause}` }];
  }
}

/** How far the change alone came. */
type Followed =
  | { readonly kind: "done"; readonly faults: ReadonlyMap<ServicePortKey, string> }
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly error: NftablesError };

function changesOf(
  { services }: Applied,
  snapshot: Snapshot,
  changes: Changes,
): readonly ServiceChange[] {
  const keys = changes.kind === "some"
    ? [...changes.services]
    : [...new Set([...services.keys(), ...snapshot.services.keys()])];
  return keys
    .map((key): ServiceChange => ({
      key,
      before: services.get(key),
      after: snapshot.services.get(key),
    }))
    .filter(({ after, before }) => before !== after)
    .sort((a, b) => a.key < b.key ? -1 : 1);
}

/** All service ports as they are after the changes; one that was skipped before is not among them. */
function followedServices(
  { services }: Applied,
  changes: readonly ServiceChange[],
): Iterable<ServicePort> {
  const after = new Map(services);
  for (const change of changes) {
    if (change.after) after.set(change.key, change.after);
    else after.delete(change.key);
  }
  return after.values();
}

function skipNotices(skipped: ReadonlyMap<ServicePortKey, string>): readonly Notice[] {
  return [...skipped].sort(([a], [b]) => a < b ? -1 : 1).map(([service, message]) => ({
    kind: "service-skipped",
    service,
    message: `Cannot program Service port "${service}": ${message}; it is tried again when it ` +
      "changes and whenever the table is compared as a whole",
  }));
}
