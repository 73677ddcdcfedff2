/**
 * Rules that another proxy mode left in this kernel. They are looked for before the first sync, since
 * beside them more rules are needed; while some remain, they are looked for again, so that what is
 * there only because of them goes when they are gone. Nothing of them is removed here.
 */
import type { Clock } from "../../lib/base/clock.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { EventSink } from "../../lib/base/event_sink.ts";
import type { Logger } from "../../lib/base/log.ts";
import type { MetricsRegistry } from "../../lib/base/metrics.ts";
import { RepeatedFailureLog } from "../../lib/base/repeated_failure.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { ClusterState } from "../../lib/trackers/cluster_state.ts";
import type { Leftover, ModeLeftovers } from "../../lib/writers/leftovers.ts";
import { leftoversByMode } from "../../lib/writers/registry.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import type { Proxy } from "./proxy.ts";

/** While some remain: how often a move of the ruleset is looked for, which one removing them makes. */
const moveCheckMs = 5_000;
/** How often they are looked for although nothing seems to have moved. */
const longestMs = 60_000;

/** Loads what looks for rules. Where that begins while a start waits for something else, looking is short. */
export function openDoors(
  modes: LeftoverWatchOptions["modes"] = leftoversByMode,
): ReadonlyMap<string, Promise<ModeLeftovers>> {
  const doors = new Map([...modes].map(([mode, load]) => [mode, load()]));
  // Whoever looks is told.
  for (const door of doors.values()) door.catch(() => undefined);
  return doors;
}

/** The watch of a proxy that is put together. */
export function leftoverWatch(proxy: Proxy): LeftoverWatch {
  return new LeftoverWatch({
    ...proxy,
    modes: leftoversByMode,
    runningMode: proxy.options.configuration.mode,
    logger: proxy.context.logger,
  });
}

/** What looking needs. */
export interface LeftoverWatchOptions {
  /** By the name of the mode. */
  readonly modes: ReadonlyMap<string, () => Promise<ModeLeftovers>>;
  /** The mode that runs, whose own rules are none. */
  readonly runtime: Pick<
    ModeRuntime,
    "owns" | "outranks" | "servesBeside" | "differsBeside"
  >;
  /** Its name. */
  readonly runningMode: string;
  readonly kernel: Kernel;
  readonly state: Pick<ClusterState, "setLeftovers">;
  readonly events: EventSink;
  readonly metrics: MetricsRegistry;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Looks, and tells the state of the cluster, the log, the Node and the metrics what there is. For
 * tests: of itself, without a whole proxy and its real time.
 */
export class LeftoverWatch {
  readonly #options: LeftoverWatchOptions;
  readonly #doors: ReadonlyMap<string, Promise<ModeLeftovers>>;
  readonly #failures: RepeatedFailureLog;
  /** What every mode that could be asked has, by its name. */
  readonly #found = new Map<string, readonly Leftover[]>();
  /** Of each mode, what was looked into last, and what of it is the mode's. */
  readonly #confirmed = new Map<
    string,
    { readonly key: string; readonly left: readonly Leftover[] }
  >();
  /** What was said to be there, so that it is said once. */
  readonly #said = new Set<string>();

  /** Opens the doors at once: a watch that is made early has them when it looks. */
  constructor(options: LeftoverWatchOptions) {
    this.#options = options;
    this.#doors = openDoors(options.modes);
    this.#failures = new RepeatedFailureLog(options.logger, options.clock);
    options.metrics.scraped({
      name: "kubeproxy_leftovers",
      help: "Address families with rules of another proxy mode, by that mode and where they are.",
      type: "gauge",
      labels: ["mode", "backend"],
      read: () => this.#samples(),
    });
  }

  /** Looks once. A mode that cannot be asked is said to be so, and keeps what was known of it. */
  async look(signal: AbortSignal): Promise<void> {
    const { clock, logger, state } = this.#options;
    const startedAt = clock.monotonic();
    const hadSome = this.hasFound;
    await Promise.all(
      [...this.#doors].map(([mode, door]) => this.#lookFor(mode, { door, signal })),
    );
    if (signal.aborted) return;
    const milliseconds = Math.round(clock.monotonic() - startedAt);
    logger.verbose(2, "Looked for rules that another proxy mode left", { milliseconds });
    state.setLeftovers(this.hasFound);
    this.#tell(hadSome);
  }

  /** Whether anything was there when it was last looked for. */
  get hasFound(): boolean {
    return this.#all.length > 0;
  }

  /**
   * Looks again while some remain; ends when none do, or with the signal. What takes long to look into waits
   * until Services are served.
   */
  async follow(signal: AbortSignal, isServing: () => boolean): Promise<void> {
    const { clock } = this.#options;
    let lookedAt = clock.monotonic();
    let generation = await this.#generation();
    while (this.hasFound && !signal.aborted) {
      await clock.sleep(moveCheckMs, signal);
      const now = await this.#generation();
      if (now !== generation || clock.monotonic() - lookedAt >= longestMs) {
        generation = now;
        lookedAt = clock.monotonic();
        await this.look(signal);
      }
      if (isServing()) await this.#confirm(signal);
    }
  }

  /** Looks into what is too large for a start; once, as long as it is the same. */
  async #confirm(signal: AbortSignal): Promise<void> {
    const { kernel, logger, state } = this.#options;
    for (const [mode, door] of this.#doors) {
      const found = this.#found.get(mode) ?? [];
      const key = JSON.stringify(found);
      if (found.length === 0 || signal.aborted || this.#confirmed.get(mode)?.key === key) continue;
      try {
        const left = await (await door).confirm?.(kernel, { found, signal }) ?? found;
        this.#confirmed.set(mode, { key, left });
        if (left.length === found.length) continue;
        logger.info("What was taken for rules of another proxy mode is somebody else's", { mode });
        state.setLeftovers(this.hasFound);
      } catch (error) {
        this.#failed(mode, error, signal);
      }
    }
    if (!this.hasFound) this.#said.clear();
  }

  /**
   * Once the rules of these families are in force: rules that packets would still meet beside them are
   * disabled, where their mode can do that. Nothing is removed.
   */
  async standAside(families: readonly IpFamily[], signal: AbortSignal): Promise<void> {
    const { kernel, logger, runtime } = this.#options;
    for (const [mode, door] of this.#doors) {
      const found = this.#leftBy(mode).filter((each) =>
        families.includes(each.family) && !runtime.outranks?.(each)
      );
      if (found.length === 0 || signal.aborted) continue;
      try {
        const aside = await (await door).standAside?.(kernel, { found, signal }) ?? [];
        if (aside.length === 0) continue;
        logger.info("Disabled the rules of another proxy mode, since packets met them too", {
          mode,
          objects: aside.join(", "),
        });
      } catch (error) {
        if (signal.aborted) return;
        logger.error(
          "Cannot disable the rules of another proxy mode: packets meet them too, and may go to " +
            `endpoints that are gone. To remove them: ${this.#remedy(found)}`,
          error,
        );
      }
    }
  }

  async #lookFor(
    mode: string,
    { door, signal }: {
      readonly door: Promise<ModeLeftovers>;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const { kernel, runtime } = this.#options;
    try {
      const found = await (await door).find(kernel, signal);
      this.#found.set(mode, found.filter((each) => !runtime.owns(each)));
      this.#failures.clear(mode);
    } catch (error) {
      this.#failed(mode, error, signal);
    }
  }

  #failed(mode: string, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const message = "Cannot look for rules that another proxy mode left";
    this.#failures.report({ key: mode, message, error, values: { mode } });
  }

  get #all(): readonly Leftover[] {
    return [...this.#options.modes.keys()].flatMap((mode) => this.#leftBy(mode));
  }

  /** What was looked into since it was found counts as that says. */
  #leftBy(mode: string): readonly Leftover[] {
    const found = this.#found.get(mode) ?? [];
    const confirmed = this.#confirmed.get(mode);
    return confirmed?.key === JSON.stringify(found) ? confirmed.left : found;
  }

  /** Undefined where the kernel does not tell; then time alone decides. */
  async #generation(): Promise<number | undefined> {
    try {
      return await (await this.#options.kernel.nftables()).generation();
    } catch {
      return undefined;
    }
  }

  #tell(hadSome: boolean): void {
    const { events, logger, nodeName, runtime } = this.#options;
    const texts = this.#all.map(describe);
    if (hadSome && texts.length === 0) {
      logger.info("The rules that another proxy mode left are gone");
      this.#said.clear();
    }
    const fresh = texts.filter((text) => !this.#said.has(text));
    if (fresh.length === 0) return;
    for (const text of fresh) this.#said.add(text);
    const news = this.#all.filter((each) => fresh.includes(describe(each)));
    const note = `Another proxy mode left rules in this kernel: ${fresh.join("; ")}. ` +
      `${meaningOf(news, runtime)} To remove them: ${this.#remedy(news)}`;
    logger.warning(note);
    const about = { kind: "Node", namespace: "", name: nodeName } as const;
    events.emit({
      about,
      type: "Warning",
      reason: "LeftoverRules",
      action: "StartKubeProxy",
      note,
    });
  }

  /** The command for this proxy's own mode would take its rules too, and refuses while it runs. */
  #remedy(found: readonly Leftover[]): string {
    const modes = [...new Set(found.map(({ mode }) => mode))];
    const commands = modes.map((mode) => `kube-proxy cleanup --mode ${mode}`).join("; ");
    return modes.includes(this.#options.runningMode)
      ? `stop this proxy, ${commands}, and start it again; in between no Service answers`
      : commands;
  }

  #samples() {
    const counts = new Map<string, { mode: string; backend: string; value: number }>();
    for (const { mode, backend } of this.#all) {
      const key = `${mode} ${backend}`;
      const value = (counts.get(key)?.value ?? 0) + 1;
      counts.set(key, { mode, backend, value });
    }
    return [...counts.values()].map(({ value, ...labels }) => ({ value, labels }));
  }
}

/** What they mean for those who use Services now. */
function meaningOf(
  found: readonly Leftover[],
  runtime: LeftoverWatchOptions["runtime"],
): string {
  const unsafe = found.filter((each) => !(runtime.servesBeside?.(each) ?? true));
  if (unsafe.length === 0) return "Services are served as they should be all the same.";
  const differences = unsafe.map((each) => runtime.differsBeside?.(each) ?? []);
  const isKnown = differences.every(({ length }) => length > 0);
  const told = isKnown
    ? `until they are removed, ${[...new Set(differences.flat())].join("; ")}`
    : "connections may go to endpoints that are gone";
  return `Packets meet them beside this proxy's rules: ${told}.`;
}

/** `iptables mode (nft, IPv4): chain ip nat KUBE-SERVICES`. */
function describe({ mode, backend, family, objects }: Leftover): string {
  const place = backend === mode ? family : `${backend}, ${family}`;
  return `${mode} mode (${place}): ${objects.join(", ")}`;
}
