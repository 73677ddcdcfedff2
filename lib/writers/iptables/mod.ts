/** The iptables mode's rules: everything that the rest of the program may ask of it. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { XtBackend } from "../../kernel/xtables/xtables.ts";
import type { ModeRuntime, Pace } from "../writer.ts";
import { type BackendChoice, BackendWatch, chooseBackend } from "../kube_chains/backend.ts";
import { hasIpvsLink } from "../kube_chains/ipvs_link.ts";
import type { IptablesSettings } from "./config.ts";
import { Counters } from "./counters.ts";
import { type IptablesMetrics, registerMetrics } from "./metrics.ts";
import { contextOf, isLargeCluster, type NodeFacts } from "./node_facts.ts";
import { OwnStamps } from "./own_stamps.ts";
import { prepare } from "./prepare.ts";
import { probe } from "./probe.ts";
import { renderText } from "./render.ts";
import { IptablesWriter } from "./writer.ts";

/**
 * The kernel checks a whole table for every commit that adds a rule, whoever commits, and everybody
 * else waits: others get more than twice the time that ours took, and a storm of changes costs less than a
 * third of a core. The older engine also hands over whole tables.
 */
const paces: Readonly<Record<XtBackend, Pace>> = {
  nft: {
    minSyncPeriodMs: 0,
    gathering: { quietMs: 1, mostMs: 10 },
    rest: { times: 2.4, leastMs: 10, mostMs: 1_000 },
    fullSyncMs: 60 * 60_000,
    partialSyncs: true,
    driftCheckMs: 2_000,
    maintainMs: 30_000,
  },
  legacy: {
    minSyncPeriodMs: 1_000,
    gathering: { quietMs: 10, mostMs: 100 },
    fullSyncMs: 60 * 60_000,
    partialSyncs: true,
    driftCheckMs: 2_000,
    maintainMs: 30_000,
  },
};

/** All of it decided by where a packet is routed to, or by IPVS, before a rule of this mode sees it. */
const besideIpvs = [
  "ports of Services' addresses that no Service has are refused by this node",
  "what this node itself sends to a Service that would drop or not take it goes to the virtual server",
  "cluster IPs without endpoints that this node has on another link as well do not reach its programs",
];

const liberal = "net/netfilter/nf_conntrack_tcp_be_liberal";

/** The mode with its settings, as the registry returns it. */
export function createRuntime(settings: IptablesSettings): ModeRuntime {
  return new IptablesRuntime(settings);
}

class IptablesRuntime implements ModeRuntime {
  // A rule asks the kernel whether an address is local.
  readonly listsAllAddresses = false;
  readonly #settings: IptablesSettings;
  readonly #ownStamps = new OwnStamps();
  #choice: Promise<BackendChoice> | undefined;
  #backendWatch: BackendWatch | undefined;
  #counters: Counters | undefined;
  #metrics: IptablesMetrics | undefined;
  #chosen: XtBackend | undefined;

  constructor(settings: IptablesSettings) {
    this.#settings = settings;
  }

  async probe(kernel: Kernel, family: IpFamily) {
    const { backend } = await this.#backend(kernel);
    return await probe(kernel, await kernel.xtables(backend), family);
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async prepare(context: Parameters<ModeRuntime["prepare"]>[0]): Promise<void> {
    prepare(this.#settings, context);
  }

  async backend(kernel: Kernel): Promise<string> {
    return (await this.#backend(kernel)).backend;
  }

  async pace({ kernel }: Parameters<ModeRuntime["pace"]>[0]): Promise<Pace> {
    return paces[(await this.#backend(kernel)).backend];
  }

  async createWriter({ family, kernel, logger }: Parameters<ModeRuntime["createWriter"]>[0]) {
    const choice = await this.#backend(kernel);
    if (!this.#backendWatch) {
      const { backend, reason } = choice;
      const setting = this.#settings.backend;
      this.#backendWatch = new BackendWatch(kernel, { setting, chosen: backend, logger });
      logger.info(`Writing iptables' rules to its ${backend} backend, since ${reason}`, {
        backend,
      });
    }
    const writer = new IptablesWriter({
      family,
      xtables: await kernel.xtables(choice.backend),
      facts: this.#facts(kernel),
      counters: this.#countersOf(kernel),
      logger,
      ownStamps: this.#ownStamps,
      backendWatch: this.#backendWatch,
      ...(this.#metrics ? { metrics: this.#metrics } : {}),
    });
    writer.readAhead();
    return writer;
  }

  renderText({ family, services, settings }: Parameters<ModeRuntime["renderText"]>[0]) {
    let endpoints = 0;
    for (const { endpointCount } of services.values()) endpoints += endpointCount;
    const context = contextOf({ ...this.#settings, isLiberal: false, hasIpvsLink: () => false }, {
      family,
      settings,
      counters: { invalid: true, localhost: true },
      isLarge: isLargeCluster(endpoints),
    });
    return renderText({ context, services: services.values() });
  }

  registerMetrics(registry: Parameters<ModeRuntime["registerMetrics"]>[0]): void {
    this.#metrics = registerMetrics(registry, () => this.#counters);
  }

  owns({ backend, mode }: Parameters<ModeRuntime["owns"]>[0]): boolean {
    return mode === "iptables" && (this.#chosen === undefined || backend === this.#chosen);
  }

  /** The addresses of ipvs mode are this machine's, and its virtual servers are asked before most rules. */
  servesBeside({ mode }: Parameters<ModeRuntime["owns"]>[0]): boolean {
    return mode !== "ipvs";
  }

  differsBeside({ mode }: Parameters<ModeRuntime["owns"]>[0]): readonly string[] {
    return mode === "ipvs" ? besideIpvs : [];
  }

  async #backend(kernel: Kernel): Promise<BackendChoice> {
    this.#choice ??= chooseBackend(kernel, this.#settings.backend);
    const choice = await this.#choice;
    this.#chosen = choice.backend;
    return choice;
  }

  #countersOf(kernel: Kernel): Counters {
    return this.#counters ??= new Counters(kernel.nfacct);
  }

  #facts(kernel: Kernel): NodeFacts {
    const value = kernel.sysctl.read(liberal);
    return {
      ...this.#settings,
      isLiberal: value !== undefined && value !== "0",
      hasIpvsLink: () => hasIpvsLink(kernel),
    };
  }
}
