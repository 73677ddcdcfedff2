/**
 * Keeps one family's virtual servers, addresses, sets and rules. The writer remembers what the kernel
 * holds; whenever that may be wrong (at first, after a failure, when a setting changes, every sync
 * period) the kernel is read. Either way the difference to what is wanted is written, in the order in
 * which no packet meets half of a frontend.
 */
import { type Clock, systemClock } from "../../base/clock.ts";
import { deepEqual } from "../../base/deep_equal.ts";
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Logger } from "../../base/log.ts";
import { isRefusal } from "../../kernel/xtables/errors.ts";
import type { Xtables, XtRefusal } from "../../kernel/xtables/xtables.ts";
import { faultOf } from "../../snapshot/faults.ts";
import type { ServicePort, ServicePortKey, Snapshot } from "../../snapshot/snapshot.ts";
import {
  type Changes,
  type Notice,
  type RuleWriter,
  skipNotices,
  type SyncReport,
} from "../writer.ts";
import type { StaticChain } from "../kube_chains/rules.ts";
import { ChainKeeper } from "./chain_keeper.ts";
import {
  type Contribution,
  contributionOf,
  type IpvsContext,
  nodePortAddressesOf,
} from "./contribution.ts";
import { Hands } from "./hands.ts";
import { type Held, type IpvsKernel, readAddresses, readHeld } from "./held.ts";
import { linkName, type SetRole, setRoles } from "./names.ts";
import { isEmptyPlan, type Plan, planOf } from "./plan.ts";
import { Retirement } from "./retirement.ts";
import { skeleton } from "./rules/chains.ts";
import { type Touched, touchedBy, Wanted } from "./wanted.ts";

/** Service ports whose objects are worked out in one go. */
const servicesPerTurn = 500;
/** Readings of one sync: somebody else may write between reading and writing. */
const attempts = 3;
/** Share of the time that looking for edits of others may take. */
const lookShare = 1 / 20;

/** What a writer of this mode needs. */
export interface IpvsWriterOptions {
  readonly family: IpFamily;
  readonly kernel: IpvsKernel;
  readonly xtables: Xtables;
  readonly settings: WriterSettings;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** What the configuration says. */
export interface WriterSettings {
  readonly masqueradeBit: number;
  readonly scheduler: string;
  readonly excludeCIDRs: readonly string[];
}

/** What is known after a sync. */
interface Applied {
  readonly services: Map<ServicePortKey, ServicePort>;
  readonly wanted: Wanted;
  readonly held: Held;
}

/** A writer of one family. It leaves everything when it is disposed. */
export class IpvsWriter implements RuleWriter {
  readonly family: IpFamily;
  readonly #options: IpvsWriterOptions;
  readonly #clock: Clock;
  readonly #chains: ChainKeeper;
  readonly #retirement: Retirement;
  /** What was held last, right or not: servers in it are ours, also where their address is gone. */
  #last: Held | undefined;
  /** Undefined: only the kernel knows. */
  #applied: Applied | undefined;
  #said: ReadonlySet<string> = new Set();
  #nextLook = -Infinity;
  #lastSkeleton: Skeleton | undefined;

  constructor(options: IpvsWriterOptions) {
    const { clock = systemClock, family, xtables } = options;
    this.family = family;
    this.#options = options;
    this.#clock = clock;
    this.#chains = new ChainKeeper(family, xtables);
    this.#retirement = new Retirement(clock);
  }

  async sync(snapshot: Snapshot, changes: Changes, signal: AbortSignal): Promise<SyncReport> {
    signal.throwIfAborted();
    const foreign = new Set<string>();
    const followed = changes.kind === "some"
      ? await this.#follow(snapshot, changes.services, { foreign, signal })
      : undefined;
    if (followed) return { full: false, ...followed };
    return { full: true, ...await this.#reconcile(snapshot, { foreign, signal }) };
  }

  async drifted(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const applied = this.#applied;
    const started = this.#clock.monotonic();
    if (!applied || started < this.#nextLook) return false;
    const { wanted } = applied;
    const held = this.#read(wanted);
    const chains = new ChainKeeper(this.family, this.#options.xtables);
    await chains.read(this.#skeleton(wanted, held));
    const plan = planOf({ wanted, held });
    const isDrifted = !held.link || !isEmptyPlan(plan) ||
      chains.changes({
          chains: this.#skeleton(wanted, held),
          outRules: wanted.outRules,
        }).length > 0;
    const now = this.#clock.monotonic();
    this.#nextLook = isDrifted ? -Infinity : now + (now - started) / lookShare;
    return isDrifted;
  }

  /** The clock of destinations that wait for their last connection. */
  async maintain(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const applied = this.#applied;
    if (!applied || this.#retirement.isEmpty) return;
    const { held, wanted } = applied;
    const hands = new Hands(this.#options.kernel, { wanted, held, signal });
    await hands.changeServers(this.#retirement.due(this.#options.kernel.ipvs, { held }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    // Everything stays, and the access to the kernel belongs to whoever made it.
    return Promise.resolve();
  }

  /** Writes what changed since the last call, if the memory of that call can be trusted. */
  async #follow(
    snapshot: Snapshot,
    keys: ReadonlySet<ServicePortKey>,
    { foreign, signal }: Way,
  ): Promise<Outcome | undefined> {
    const applied = this.#applied;
    if (!applied || !deepEqual(applied.wanted.context.settings, snapshot.settings)) return;
    const { services, wanted } = applied;
    const faults = new Map<ServicePortKey, string>();
    const contributions: Contribution[] = [];
    for (const key of keys) {
      const before = this.#contributionOf(services.get(key), wanted.context);
      const servicePort = this.#sound(snapshot.services.get(key), faults);
      const after = this.#contributionOf(servicePort, wanted.context);
      wanted.change(key, { before, after });
      if (servicePort) services.set(key, servicePort);
      else services.delete(key);
      for (const each of [before, after]) if (each) contributions.push(each);
    }
    // Whatever happens until the end, only the kernel knows.
    this.#applied = undefined;
    const touched = touchedBy(contributions);
    const hasOutRules = contributions.some(({ outRules }) => outRules.length > 0);
    const hands = await this.#write(applied, { touched, hasOutRules, signal });
    for (const name of hands.foreign) foreign.add(name);
    if (hands.isSurprised) return;
    this.#applied = applied;
    return this.#outcome(hands, faults, []);
  }

  /** Reads the kernel, compares everything, writes the difference. */
  async #reconcile(snapshot: Snapshot, { foreign, signal }: Way): Promise<Outcome> {
    this.#applied = undefined;
    const faults = new Map<ServicePortKey, string>();
    let written = 0;
    for (let attempt = 1;; attempt++) {
      const { services, wanted } = await this.#want(snapshot, faults);
      signal.throwIfAborted();
      const held = this.#read(wanted);
      await this.#chains.read(this.#skeleton(wanted, held));
      const applied = { services, wanted, held };
      const hands = await this.#write(applied, { hasOutRules: true, signal });
      written += hands.written;
      for (const name of [...held.takenOver, ...hands.foreign]) foreign.add(name);
      if (hands.isSurprised && attempt < attempts) continue;
      if (!hands.isSurprised) this.#applied = applied;
      const outcome = this.#outcome(hands, faults, this.#remarks(applied, foreign));
      return { ...outcome, written };
    }
  }

  /** What a snapshot asks for. */
  async #want(
    snapshot: Snapshot,
    faults: Map<ServicePortKey, string>,
  ): Promise<Pick<Applied, "services" | "wanted">> {
    const wanted = new Wanted(this.#contextOf(snapshot));
    const services = new Map<ServicePortKey, ServicePort>();
    for (const [key, each] of snapshot.services) {
      const servicePort = this.#sound(each, faults);
      if (!servicePort) continue;
      services.set(key, servicePort);
      const after = contributionOf(servicePort, wanted.context);
      wanted.change(key, { before: undefined, after });
      if (services.size % servicesPerTurn === 0) await turnOfTheEventLoop();
    }
    return { services, wanted };
  }

  /** First what is needed, from the inside out; then what is not, the other way round. */
  async #write(
    { held, wanted }: Applied,
    { hasOutRules, signal, touched }: {
      readonly touched?: Touched;
      readonly hasOutRules: boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<Hands> {
    const { kernel } = this.#options;
    const plan = planOf({ wanted, held, ...(touched && { touched }) });
    const hands = new Hands(kernel, { wanted, held, signal });
    const writeRules = (isLast: boolean) =>
      this.#writeRules({ held, wanted }, { hands, hasOutRules, isLast, signal });
    this.#last = held;
    await hands.changeSets(plan.sets);
    await writeRules(false);
    await hands.changeServers(plan.servers);
    await hands.addAddresses(plan.addressesToAdd);
    await hands.removeAddresses(plan.addressesToRemove);
    await hands.changeServers(plan.serversToRemove);
    await this.#retire(plan, held, hands);
    await hands.removeMembers(plan.membersToRemove, plan.serversToRemove);
    await writeRules(true);
    return hands;
  }

  async #writeRules(
    { held, wanted }: Pick<Applied, "wanted" | "held">,
    { hands, hasOutRules, isLast, signal }: {
      readonly hands: Hands;
      readonly hasOutRules: boolean;
      readonly isLast: boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const skeleton = this.#skeleton(wanted, held);
    for (let attempt = 1;; attempt++) {
      // Until the addresses are there only the rules of iptables mode lead anywhere.
      const chains = skeleton.filter((each) => isLast || !this.#chains.isAnothers(each));
      // Once they were read anew, all of them count.
      const isWhole = hasOutRules || attempt > 1;
      const changes = this.#chains.changes({
        chains,
        ...(isWhole && { outRules: wanted.outRules }),
      });
      if (changes.length === 0) return;
      try {
        await this.#chains.commit(changes, signal);
        hands.written += changes.length;
        return;
      } catch (error) {
        if (attempt === attempts || !mayPass(error)) throw error;
        await this.#chains.read(skeleton);
      }
    }
  }

  /** Those without connections go at once. */
  async #retire({ retiring }: Plan, held: Held, hands: Hands): Promise<void> {
    if (retiring.length === 0) return;
    this.#retirement.add(retiring);
    const { ipvs } = this.#options.kernel;
    await hands.changeServers(this.#retirement.due(ipvs, { held, of: retiring }));
  }

  #read(wanted: Wanted): Held {
    const { kernel, settings: { excludeCIDRs } } = this.#options;
    return readHeld(kernel, {
      family: this.family,
      excluded: excludeCIDRs,
      isKnown: (name) => wanted.servers.has(name) || (this.#last?.servers.has(name) ?? false),
    });
  }

  /** Rules that name a set without members are left out, as long as it has none. Mostly the same as the last. */
  #skeleton({ context }: Wanted, { sets }: Held): readonly StaticChain[] {
    const hasMembers = (role: SetRole) => Boolean(sets.get(role)?.size);
    const filled = setRoles.filter(hasMembers).join();
    const last = this.#lastSkeleton;
    if (last?.context === context && last.filled === filled) return last.chains;
    const chains = skeleton({ context, hasMembers });
    this.#lastSkeleton = { context, filled, chains };
    return chains;
  }

  #contextOf({ settings }: Snapshot): IpvsContext {
    const { kernel, settings: { masqueradeBit, scheduler } } = this.#options;
    return {
      family: this.family,
      settings,
      mark: (1 << masqueradeBit) >>> 0,
      scheduler,
      nodePortAddresses: nodePortAddressesOf(settings),
      otherLinksHave: readAddresses(kernel, this.family).others,
    };
  }

  #contributionOf(
    servicePort: ServicePort | undefined,
    context: IpvsContext,
  ): Contribution | undefined {
    return servicePort && contributionOf(servicePort, context);
  }

  /** Undefined where it cannot be written. */
  #sound(
    servicePort: ServicePort | undefined,
    faults: Map<ServicePortKey, string>,
  ): ServicePort | undefined {
    const fault = servicePort && faultOf(servicePort, this.family);
    if (servicePort === undefined || fault === undefined) return servicePort;
    faults.set(servicePort.key, fault);
    return undefined;
  }

  #remarks({ held: { link }, wanted }: Applied, foreign: ReadonlySet<string>): readonly Notice[] {
    return [
      ...link && link.kind !== "dummy"
        ? [{
          message: `Using the link "${linkName}", although it is ${
            link.kind || "hardware"
          } and no dummy`,
        }]
        : [],
      ...[...foreign].map((name): Notice => {
        const service = wanted.servers.ownerOf(name);
        return {
          ...(service !== undefined && { service }),
          message: `Took over the virtual server "${name}", which somebody else had made`,
        };
      }),
    ];
  }

  /** What was said in the sync before is not said again. */
  #outcome(
    { complaints, refused, written }: Hands,
    faults: ReadonlyMap<ServicePortKey, string>,
    remarks: readonly Notice[],
  ): Outcome {
    const notices: readonly Notice[] = [
      ...remarks,
      ...skipNotices(new Map([...faults, ...refused])),
      ...complaints.map((message): Notice => ({ message })),
    ];
    const fresh = notices.filter(({ message }) => !this.#said.has(message));
    this.#said = new Set(notices.map(({ message }) => message));
    return { written, notices: fresh };
  }
}

/** Somebody else wrote between reading and writing, or held the lock. */
function mayPass(error: unknown): boolean {
  const passing: readonly XtRefusal[] = ["stale", "busy", "not-found", "exists", "locked"];
  return passing.some((refusal) => isRefusal(error, refusal));
}

/** Chains, and what they depend on. */
interface Skeleton {
  readonly context: IpvsContext;
  /** The sets that have members. */
  readonly filled: string;
  readonly chains: readonly StaticChain[];
}

/** Who is to be told of, and when to stop. */
interface Way {
  /** Servers that somebody else had made, by their text. */
  readonly foreign: Set<string>;
  readonly signal: AbortSignal;
}

/** What a sync did, but for how. */
type Outcome = Pick<SyncReport, "written" | "notices">;
