/** The ipvs mode's rules: everything that the rest of the program may ask of it. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { type BackendChoice, chooseBackend, missingTool } from "../kube_chains/backend.ts";
import type { Leftover } from "../leftovers.ts";
import type { ModeRuntime, Pace, Probe } from "../writer.ts";
import type { IpvsSettings } from "./config.ts";
import { nodePortAddressesOf } from "./contribution.ts";
import { linkName } from "./names.ts";
import { defaultScheduler, prepare } from "./prepare.ts";
import { renderText } from "./render.ts";
import { IpvsWriter } from "./writer.ts";

/**
 * Reading everything costs little here, and nothing tells that somebody else wrote: it is done each sync
 * period, as upstream does, and in between as time allows.
 */
const pace: Omit<Pace, "fullSyncMs"> = {
  minSyncPeriodMs: 0,
  gathering: { quietMs: 1, mostMs: 10 },
  partialSyncs: false,
  driftCheckMs: 10_000,
  maintainMs: 5_000,
};

/** The mode with its settings, as the registry returns it. */
export function createRuntime(settings: IpvsSettings): ModeRuntime {
  return new IpvsRuntime(settings);
}

class IpvsRuntime implements ModeRuntime {
  // A virtual server has one address.
  readonly listsAllAddresses = true;
  readonly ownLink = linkName;
  readonly #settings: IpvsSettings;
  #choice: Promise<BackendChoice> | undefined;
  #isSaid = false;

  constructor(settings: IpvsSettings) {
    this.#settings = settings;
  }

  /** Modules are loaded, and judged, before the first sync: asking must change nothing. */
  async probe(kernel: Kernel, family: IpFamily): Promise<Probe> {
    const { backend } = await this.#backend(kernel);
    const missing = missingTool(kernel, { backend, family });
    return missing === undefined ? { kind: "supported" } : { kind: "unsupported", reason: missing };
  }

  prepare(context: Parameters<ModeRuntime["prepare"]>[0]): Promise<void> {
    return prepare(this.#settings, context);
  }

  async backend(kernel: Kernel): Promise<string> {
    return (await this.#backend(kernel)).backend;
  }

  pace({ syncPeriodMs }: Parameters<ModeRuntime["pace"]>[0]): Promise<Pace> {
    return Promise.resolve({ ...pace, fullSyncMs: syncPeriodMs });
  }

  async createWriter({ family, kernel, logger }: Parameters<ModeRuntime["createWriter"]>[0]) {
    const { backend, reason } = await this.#backend(kernel);
    if (!this.#isSaid) {
      this.#isSaid = true;
      logger.info(`Writing iptables' rules to its ${backend} backend, since ${reason}`, {
        backend,
      });
    }
    return new IpvsWriter({
      family,
      kernel,
      xtables: await kernel.xtables(backend),
      settings: this.#writerSettings,
      logger,
    });
  }

  renderText({ family, services, settings }: Parameters<ModeRuntime["renderText"]>[0]) {
    const { masqueradeBit, scheduler } = this.#writerSettings;
    return renderText({
      family,
      settings,
      mark: (1 << masqueradeBit) >>> 0,
      scheduler,
      nodePortAddresses: nodePortAddressesOf(settings),
      otherLinksHave: new Set(),
    }, services.values());
  }

  /** Upstream has none for this mode either. */
  registerMetrics(): void {}

  owns({ mode }: Leftover): boolean {
    return mode === "ipvs";
  }

  get #writerSettings() {
    const { excludeCIDRs, masqueradeBit, scheduler } = this.#settings;
    return { excludeCIDRs, masqueradeBit, scheduler: scheduler || defaultScheduler };
  }

  #backend(kernel: Kernel): Promise<BackendChoice> {
    return this.#choice ??= chooseBackend(kernel, "auto");
  }
}
