/** The removal of chains that a mode left in iptables' tables: both engines, both families. */
import { describeError } from "../../base/errors.ts";
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { lacksNfTables } from "../../kernel/nf_tables/errors.ts";
import {
  ownedChains,
  planXtRemoval,
  removeOwned,
  type XtHeldChain,
  type XtOwned,
  type XtRemovalPlan,
  type XtRemovalStep,
} from "../../kernel/xtables/remove.ts";
import { toolOf } from "../../kernel/xtables/rules.ts";
import type { XtBackend } from "../../kernel/xtables/xtables.ts";
import type { Kept, Removal, RemovalPlan, RemovalReport, RemovalStep } from "../leftovers.ts";
import { mostBytesRead } from "./find_chains.ts";
import { sharedChains } from "./owned_chains.ts";

/** Whose chains they are. */
export interface ChainRemovalOptions {
  readonly owned: readonly XtOwned[];
  /** Whether another mode needs the chains that both have, in one of the places; never where it is absent. */
  readonly sharing?: ChainSharing;
}

/** The other mode that has some of the same chains. */
export interface ChainSharing {
  /** Completes "shared with ". */
  readonly reason: string;
  isThere(kernel: Kernel, place: Place): Promise<boolean>;
}

/** A plan with what it was made of, so that the rules of a large node are not read twice. */
interface ChainRemovalPlan extends RemovalPlan {
  readonly prepared?: readonly PreparedPlace[];
}

interface PreparedPlace {
  readonly place: Place;
  /** Another mode needed some of the chains. */
  readonly isShared: boolean;
  readonly plan: XtRemovalPlan;
}

const stopped = "stopped before it was removed";

/** One of the places where a mode can have rules. */
export interface Place {
  readonly backend: XtBackend;
  readonly family: IpFamily;
}

const places: readonly Place[] = (["nft", "legacy"] as const).flatMap((backend) =>
  ipFamilies.map((family) => ({ backend, family }))
);

/** The removal of a mode that has these chains. */
export function chainRemoval(options: ChainRemovalOptions): Removal {
  return {
    plan: (kernel, signal) => plan(kernel, signal, options),
    apply: (kernel, planned, signal) => apply(kernel, { planned, signal }, options),
  };
}

async function plan(
  kernel: Kernel,
  signal: AbortSignal,
  options: ChainRemovalOptions,
): Promise<ChainRemovalPlan> {
  const prepared: PreparedPlace[] = [];
  const kept: Kept[] = [];
  const remaining: Kept[] = [];
  const remarks: string[] = [];
  let isShared = false;
  for (const place of places) {
    signal.throwIfAborted();
    try {
      const mine = await mineIn(place, kernel, options);
      const way = wayTo(place, kernel, mine);
      if (way === "nothing") continue;
      if (way !== "open") {
        remaining.push(way);
        continue;
      }
      const { backend, family } = place;
      const found = await planXtRemoval(await kernel.xtables(backend), { family, owned: mine });
      if (found.steps.length > 0) {
        prepared.push({ place, isShared: mine !== options.owned, plan: found });
      }
      kept.push(...found.held.map((held) => keptOf(held, place)));
      isShared ||= mine !== options.owned && found.steps.length > 0;
    } catch (error) {
      if (place.backend === "nft" && lacksNfTables(error)) {
        if (place.family === "IPv4") {
          remarks.push("this kernel has no nf_tables, or its module is not loaded");
        }
      } else {
        remaining.push({ what: whatOf(place), reason: describeError(error) });
      }
    }
  }
  if (isShared && options.sharing) {
    const names = [...sharedChains.nat, ...sharedChains.filter].join(", ");
    kept.push({ what: `chains ${names}`, reason: `shared with ${options.sharing.reason}` });
  }
  const steps = prepared.flatMap((each) => each.plan.steps.map((step) => stepOf(step, each.place)));
  return { steps, kept, remaining, remarks, ...(prepared.length > 0 && { prepared }) };
}

/** Whoever hands it on may have changed its steps, and keeps the rest. */
function preparedIn(planned: RemovalPlan): readonly PreparedPlace[] {
  const { prepared = [] }: ChainRemovalPlan = planned;
  return prepared;
}

async function apply(
  kernel: Kernel,
  { planned, signal }: { readonly planned: RemovalPlan; readonly signal: AbortSignal },
  options: ChainRemovalOptions,
): Promise<RemovalReport> {
  let removed: readonly RemovalStep[] = [];
  const remaining: Kept[] = [];
  for (const place of places) {
    const { backend, family } = place;
    if (!planned.steps.some((step) => step.backend === backend && step.family === family)) continue;
    try {
      const xtables = await kernel.xtables(backend);
      const mine = await mineIn(place, kernel, options);
      const isShared = mine !== options.owned;
      const prepared = preparedIn(planned).find((each) =>
        each.place === place && each.isShared === isShared
      );
      const report = await removeOwned(xtables, {
        family,
        owned: mine,
        ...(prepared && { planned: prepared.plan }),
      }, signal);
      removed = removed.concat(report.steps.map((step) => stepOf(step, place)));
      if (report.left.length === 0) continue;
      const reason = signal.aborted
        ? stopped
        : report.error === undefined
        ? "it was made again"
        : describeError(report.error);
      remaining.push({ what: whatOf(place, report.left.length), reason });
    } catch (error) {
      const reason = signal.aborted ? stopped : describeError(error);
      remaining.push({ what: whatOf(place), reason });
    }
  }
  return { removed, remaining };
}

/**
 * Whether there may be something, and whether it can be reached. The older tables are looked at
 * without their tools, since asking these for a table makes it.
 */
function wayTo(
  { backend, family }: Place,
  { commands, legacyTables }: Kernel,
  owned: readonly XtOwned[],
): "open" | "nothing" | Kept {
  if (backend === "nft") return "open";
  const loaded = legacyTables.loaded(family);
  const there = owned.filter(({ table }) => loaded.includes(table));
  const tool = `${toolOf(family)}-legacy-restore`;
  const hasTool = commands.lookPath(tool) !== undefined;
  // A large table is read once: the tool names its chains as well.
  const isLarge = there.some(({ table }) => legacyTables.info(family, table).bytes > mostBytesRead);
  if (isLarge && hasTool) return "open";
  const chains = there.flatMap((each) =>
    ownedChains(legacyTables.chains(family, each.table), each)
  );
  if (chains.length === 0) return "nothing";
  if (hasTool) return "open";
  return {
    what: whatOf({ backend, family }, chains.length),
    reason:
      `"${tool}" is not installed; install the package iptables, or run this in an image that has it`,
  };
}

/** What is to go in one place: without the chains that another mode needs there; the same where none does. */
async function mineIn(
  place: Place,
  kernel: Kernel,
  { owned, sharing }: ChainRemovalOptions,
): Promise<readonly XtOwned[]> {
  if (!sharing || !await sharing.isThere(kernel, place)) return owned;
  return owned.map((each): XtOwned => {
    const shared: readonly string[] = each.table === "nat" || each.table === "filter"
      ? sharedChains[each.table]
      : [];
    const rest = (names: readonly string[] = []) => names.filter((name) => !shared.includes(name));
    return { ...each, chains: rest(each.chains), companions: rest(each.companions) };
  });
}

function stepOf({ action, chain, kind, name, table }: XtRemovalStep, place: Place): RemovalStep {
  const where = chain === undefined ? "" : `chain ${chain} of `;
  return {
    action,
    ...place,
    kind: kind === "rule" ? "rule of another program" : kind,
    place: `${where}table ${table}`,
    name,
  };
}

function keptOf({ by, chain, table }: XtHeldChain, { backend, family }: Place): Kept {
  return {
    what: `chain ${chain} of table ${table} (${backend}, ${family}), empty`,
    reason: `a rule of chain ${by.chain} that is not kube-proxy's leads to it: ${by.rule}`,
  };
}

/** All that is in one place, or what is left of it. */
function whatOf({ backend, family }: Place, count?: number): string {
  const what = count === undefined ? "whatever it left" : `${count} chains and rules`;
  return `${what} in the ${backend} backend of ${toolOf(family)}`;
}
