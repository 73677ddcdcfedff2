/** What this mode leaves on a node is one table a family, and nothing else. */
import { describeError } from "../../base/errors.ts";
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { isNotFound, lacksNfTables, mayPass } from "../../kernel/nf_tables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftTable } from "../../kernel/nftables/operations.ts";
import type {
  Kept,
  Leftover,
  ModeLeftovers,
  RemovalPlan,
  RemovalReport,
  RemovalStep,
  StandAsideOptions,
} from "../leftovers.ts";
import { tableOf } from "./names.ts";
import { served } from "./served.ts";

/** Others' commits may be in the way. */
const tries = 3;

/** The door of this mode to whoever looks for rules that were left, and removes them. */
export const leftovers: ModeLeftovers = { find, removal: { plan, apply }, served, standAside };

async function find(kernel: Kernel, signal: AbortSignal): Promise<readonly Leftover[]> {
  signal.throwIfAborted();
  return (await familiesWithTable(kernel)).map((family) => ({
    mode: "nftables",
    backend: "nftables",
    family,
    objects: [describe(tableOf(family))],
  }));
}

async function plan(kernel: Kernel, signal: AbortSignal): Promise<RemovalPlan> {
  signal.throwIfAborted();
  let families: readonly IpFamily[];
  try {
    families = await familiesWithTable(kernel);
  } catch (error) {
    if (!lacksNfTables(error)) throw error;
    const remark = "this kernel has no nf_tables, or its module is not loaded";
    return { steps: [], kept: [], remaining: [], remarks: [remark] };
  }
  const steps = families.map((family): RemovalStep => ({
    action: "delete",
    backend: "nftables",
    family,
    kind: "table",
    place: "",
    name: tableOf(family).name,
  }));
  return { steps, kept: [], remaining: [] };
}

/** Each table goes at once with everything in it. */
async function apply(
  kernel: Kernel,
  { steps }: RemovalPlan,
  signal: AbortSignal,
): Promise<RemovalReport> {
  const nftables = await kernel.nftables();
  const reasons = new Map<IpFamily, string>();
  for (const { family } of steps) {
    try {
      signal.throwIfAborted();
      await removeTable(nftables, family);
    } catch (error) {
      const stopped = "stopped before it was removed";
      reasons.set(family, signal.aborted ? stopped : describeError(error));
    }
  }
  // Whoever stopped it wants to know what was done all the same.
  const left = await familiesWithTable(kernel);
  return {
    removed: steps.filter(({ family }) => !left.includes(family)),
    remaining: left.map((family): Kept => ({
      what: describe(tableOf(family)),
      reason: reasons.get(family) ?? "it was made again",
    })),
  };
}

async function removeTable(nftables: Nftables, family: IpFamily): Promise<void> {
  for (let left = tries; left > 0; left--) {
    try {
      return void await nftables.commit(tableOf(family), [{ kind: "delete-table" }]);
    } catch (error) {
      // Somebody else was faster.
      if (isNotFound(error)) return;
      if (left === 1 || !mayPass(error)) throw error;
    }
  }
}

/**
 * Our chains are called before those of iptables, whose priority everybody knows, so that they would win
 * for ever. Asleep they are not called; a proxy of this mode wakes them. A table with an owner
 * belongs to a proxy that lives.
 */
async function standAside(
  kernel: Kernel,
  { found, signal }: StandAsideOptions,
): Promise<readonly string[]> {
  const nftables = await kernel.nftables();
  const asleep: string[] = [];
  for (const family of await familiesWithTable(kernel)) {
    signal.throwIfAborted();
    if (!found.some((each) => each.family === family)) continue;
    const table = tableOf(family);
    const listing = await nftables.listTable(table);
    if (!listing || listing.isDormant || listing.ownerPort !== undefined) continue;
    await nftables.commit(table, [{ kind: "add-table", dormant: true }], { signal });
    asleep.push(`${describe(table)} (flags dormant)`);
  }
  return asleep;
}

async function familiesWithTable(kernel: Kernel): Promise<readonly IpFamily[]> {
  const found = await (await kernel.nftables()).listTables();
  return ipFamilies.filter((family) => {
    const ours = tableOf(family);
    return found.some(({ family, name }) => family === ours.family && name === ours.name);
  });
}

function describe({ family, name }: NftTable): string {
  return `table ${family} ${name}`;
}
