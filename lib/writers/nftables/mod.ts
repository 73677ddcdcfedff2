/** The nftables mode's rules: everything that the rest of the program may ask of it. */
import type { ModeRuntime, Pace } from "../writer.ts";
import { systemClock } from "../../base/clock.ts";
import { LookBudget } from "./look_budget.ts";
import type { NftablesSettings } from "./config.ts";
import { OwnCommits } from "../../kernel/nf_tables/own_commits.ts";
import { type NftablesMetrics, registerMetrics } from "./metrics.ts";
import { probe } from "./probe.ts";
import { renderText } from "./render.ts";
import { NftablesWriter } from "./writer.ts";

/**
 * A commit holds up nobody and costs what changed, so that it is worth waiting only for what comes at
 * the same moment. Asking whether somebody else wrote is one message.
 */
const pace: Pace = {
  minSyncPeriodMs: 0,
  gathering: { quietMs: 1, mostMs: 10 },
  fullSyncMs: 60 * 60_000,
  partialSyncs: true,
  driftCheckMs: 2_000,
  maintainMs: 2_000,
};

/** The addresses of Services stay on the link of that mode, and its virtual servers behind them. */
const besideIpvs = [
  "ports of external and load balancer addresses that no Service has reach this node's own programs",
  "what this node itself sends to a Service whose internalTrafficPolicy is Local goes to other nodes " +
  "where it has no endpoint here",
];

/** The mode with its settings, as the registry returns it. */
export function createRuntime({ masqueradeBit }: NftablesSettings): ModeRuntime {
  const ownCommits = new OwnCommits();
  const budget = new LookBudget(systemClock);
  let metrics: NftablesMetrics | undefined;
  return {
    // A rule asks the kernel whether an address is local.
    listsAllAddresses: false,
    probe: async (kernel, family) => await probe(await kernel.nftables(), family),
    // The table is all that this mode needs.
    prepare: () => Promise.resolve(),
    pace: () => Promise.resolve(pace),
    createWriter: async ({ family, kernel, logger }) =>
      new NftablesWriter({
        family,
        nftables: await kernel.nftables(),
        masqueradeBit,
        logger,
        ownCommits,
        budget,
        ...(metrics ? { metrics } : {}),
      }),
    renderText: (snapshot) => renderText(snapshot, { masqueradeBit }),
    registerMetrics: (registry) => {
      metrics = registerMetrics(registry);
    },
    owns: ({ mode }) => mode === "nftables",
    // Its chains come before those of iptables, and what they decided stays.
    outranks: () => true,
    // What the node itself sends to an address on the link of that mode is taken by its virtual server.
    servesBeside: ({ mode }) => mode !== "ipvs",
    differsBeside: ({ mode }) => mode === "ipvs" ? besideIpvs : [],
  };
}
