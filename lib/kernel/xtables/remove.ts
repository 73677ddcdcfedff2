/**
 * Removes chains that have one owner, and the jumps that lead to them. What the owner has is data; the
 * walk is the same in both engines. The owner's own chains are not read one by one, however many there
 * are: the others are, since somebody else's rule may lead to ours.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { XtablesError } from "./errors.ts";
import type { XtChange, XtRule, XtTable } from "./rules.ts";
import type { Xtables, XtListedRule, XtReading, XtRefusal } from "./xtables.ts";

/** What an owner has in one table. */
export interface XtOwned {
  readonly table: XtTable;
  readonly chains: readonly string[];
  /** All names that it matches as a whole belong to the owner; none where it is absent. */
  readonly pattern?: RegExp;
  /** The owner's only beside others of its chains: alone in the table, somebody else made them. */
  readonly companions?: readonly string[];
  /** Chains whose every rule has a comment and leads to no stranger, where the owner wrote it. */
  readonly plain?: readonly string[];
  /** Comments of the owner's jumps in chains that the kernel calls itself. */
  readonly jumpComments: readonly string[];
  /** Those of them that nobody else writes: such a jump is the owner's also where its chain stays. */
  readonly soleJumpComments?: readonly string[];
}

/** One thing that goes, in iptables' words. */
export interface XtRemovalStep {
  readonly action: "delete" | "empty";
  /** `rule` is one of somebody else's that is inside an owner's chain. */
  readonly kind: "jump" | "rule" | "chain";
  readonly table: XtTable;
  /** The chain that holds the rule; undefined for a chain. */
  readonly chain?: string;
  readonly name: string;
}

/** A chain that cannot go: somebody else's rule leads to it. */
export interface XtHeldChain {
  readonly table: XtTable;
  readonly chain: string;
  /** The chain of that rule, and the rule. */
  readonly by: { readonly chain: string; readonly rule: string };
}

/** What a removal would do to one family. */
export interface XtRemovalPlan {
  readonly steps: readonly XtRemovalStep[];
  readonly held: readonly XtHeldChain[];
  /**
   * First what takes every packet out of the chains, then what empties them, then what deletes them: those
   * by whose names the owner is known come last.
   */
  readonly changes: readonly XtChange[];
}

/** What a removal did. */
export interface XtRemovalReport {
  readonly steps: readonly XtRemovalStep[];
  /** What could not be done, and is still there. */
  readonly left: readonly XtRemovalStep[];
  /** Why. */
  readonly error?: unknown;
}

/** Whose chains of which family. */
export interface XtRemovalOptions {
  readonly family: IpFamily;
  readonly owned: readonly XtOwned[];
}

/** A removal, where its plan is there already. */
export interface XtPlannedRemovalOptions extends XtRemovalOptions {
  /**
   * Made before, and tried first without reading again. Where it is outdated the commit is refused, or
   * leaves what came since, which the reading behind it finds: a chain that is led to cannot go.
   */
  readonly planned?: XtRemovalPlan;
}

/** Between reading and writing somebody else may write: so often it is read again. */
const tries = 3;
/**
 * The kernel does one commit at a time, and one of 200,000 changes keeps everybody else waiting for a second and
 * more. So few are done in some twenty milliseconds.
 */
const changesAtOnce = 4_000;

/** Which of these chains of a table are the owner's. */
export function ownedChains(
  names: readonly string[],
  { chains, companions = [], pattern }: XtOwned,
): readonly string[] {
  const certain = names.filter((name) => chains.includes(name) || pattern?.test(name));
  if (certain.length === 0) return [];
  return [...certain, ...names.filter((name) => companions.includes(name))].sort();
}

/** Reads and plans; changes nothing. */
export async function planXtRemoval(
  xtables: Xtables,
  { family, owned }: XtRemovalOptions,
): Promise<XtRemovalPlan> {
  const reading = await xtables.read(family, owned.map(({ table }) => table));
  const plans: TableRemovalPlan[] = [];
  for (const each of owned) plans.push(await planTable(reading, each));
  return {
    steps: plans.flatMap(({ steps }) => steps),
    held: plans.flatMap(({ held }) => held),
    changes: (["unlink", "empty", "remove", "removeLast"] as const)
      .flatMap((stage) => plans.flatMap((plan) => plan[stage])),
  };
}

/**
 * Reads, removes, and reads again. Connections meet all of the chains or none: what leads to them goes in the
 * first commit. A refusal of a state that was outdated is tried anew. Where it is stopped on the way, it says
 * what was done by then; before, it throws.
 */
export async function removeOwned(
  xtables: Xtables,
  { planned, ...options }: XtPlannedRemovalOptions,
  signal: AbortSignal,
): Promise<XtRemovalReport> {
  signal.throwIfAborted();
  let done: readonly XtRemovalStep[] = [];
  let begun: readonly XtRemovalStep[] = [];
  let left: readonly XtRemovalStep[] | undefined;
  let error: unknown;
  for (let attempt = 0; attempt < tries && !left && !signal.aborted; attempt++) {
    const isPlanned = attempt === 0 && planned !== undefined;
    const { changes, steps } = isPlanned ? planned : await planXtRemoval(xtables, options);
    if (changes.length === 0) left = [];
    let commits = 0;
    try {
      for (const part of partsOf(changes, xtables)) {
        await xtables.commit(options.family, part, { signal });
        commits++;
      }
      done = done.concat(steps);
    } catch (refusal) {
      error = refusal;
      // Nobody knows whether a commit that was stopped was made, until it is read.
      if (commits > 0 || signal.aborted) begun = begun.concat(steps);
      if (signal.aborted) break;
      if (!(refusal instanceof XtablesError)) throw refusal;
      if (!mayPass(refusal)) break;
    }
  }
  left ??= (await planXtRemoval(xtables, options)).steps;
  const gone = new Map(begun.map((each) => [JSON.stringify(each), each]));
  for (const each of [...done, ...left]) gone.delete(JSON.stringify(each));
  return {
    steps: [...done, ...gone.values()],
    left,
    ...(left.length > 0 && error !== undefined && { error }),
  };
}

/** The older tables are written as a whole, whatever changes in them. */
function partsOf(
  changes: readonly XtChange[],
  { backend }: Xtables,
): readonly (readonly XtChange[])[] {
  const most = backend === "nft" ? changesAtOnce : Infinity;
  const parts: (readonly XtChange[])[] = [];
  for (let at = 0; at < changes.length; at += most) parts.push(changes.slice(at, at + most));
  return parts;
}

/** The first refusal tells: others may follow from it. */
function mayPass({ failures: [first] }: XtablesError): boolean {
  const passing: readonly XtRefusal[] = ["stale", "busy", "not-found", "locked"];
  return passing.includes(first.refusal);
}

/** What is found in the chains that are not the owner's. */
interface Surroundings {
  readonly jumps: readonly {
    readonly chain: string;
    readonly rule: XtRule;
    readonly key: string;
  }[];
  /** By the chain that is led to: the first rule that does. */
  readonly holders: ReadonlyMap<string, XtHeldChain["by"]>;
}

/** The changes of one table, by when they are made. */
interface TableRemovalPlan extends Pick<XtRemovalPlan, "steps" | "held"> {
  readonly unlink: readonly XtChange[];
  readonly empty: readonly XtChange[];
  readonly remove: readonly XtChange[];
  readonly removeLast: readonly XtChange[];
}

async function planTable(reading: XtReading, owned: XtOwned): Promise<TableRemovalPlan> {
  const { table } = owned;
  const there = reading.chains.filter((chain) => chain.table === table);
  const own = ownedChains(there.map(({ name }) => name), owned);
  if (own.length === 0) {
    return { steps: [], held: [], unlink: [], empty: [], remove: [], removeLast: [] };
  }
  const isOwn = new Set(own);
  const others = there.filter(({ name }) => !isOwn.has(name));
  const { holders, jumps } = await look(reading, { owned, isOwn, others });
  const strangers = await strangersIn(reading, owned, isOwn);
  const heldNames = own.filter((name) => holders.has(name));
  const full = [...(await reading.rules(table, heldNames))]
    .filter(([, rules]) => rules.length > 0).map(([chain]) => chain);
  const going = own.filter((name) => !holders.has(name));
  const flush = (chain: string): XtChange => ({ kind: "flush-chain", table, chain });
  const remove = (chain: string): XtChange => ({ kind: "delete-chain", table, chain });
  const isAmongMany = (name: string) => owned.pattern?.test(name) ?? false;
  return {
    held: heldNames.flatMap((chain) => {
      const by = holders.get(chain);
      return by ? [{ table, chain, by }] : [];
    }),
    steps: [
      ...jumps.map(({ chain, key }) => step("delete", "jump", { table, chain, name: key })),
      ...strangers.map(({ chain, key }) => step("delete", "rule", { table, chain, name: key })),
      ...full.map((name) => step("empty", "chain", { table, name })),
      ...going.map((name) => step("delete", "chain", { table, name })),
    ],
    unlink: [
      ...jumps.map(({ chain, rule }) => ({ kind: "delete-rule", table, chain, rule }) as const),
      ...full.map(flush),
    ],
    empty: going.map(flush),
    remove: going.filter(isAmongMany).map(remove),
    removeLast: going.filter((name) => !isAmongMany(name)).map(remove),
  };
}

function step(
  action: XtRemovalStep["action"],
  kind: XtRemovalStep["kind"],
  where: Pick<XtRemovalStep, "table" | "chain" | "name">,
): XtRemovalStep {
  return { action, kind, ...where };
}

async function look(
  reading: XtReading,
  { isOwn, others, owned: { jumpComments, soleJumpComments = [], table } }: {
    readonly owned: XtOwned;
    readonly isOwn: ReadonlySet<string>;
    readonly others: XtReading["chains"];
  },
): Promise<Surroundings> {
  const builtIn = new Set(others.filter((chain) => chain.isBuiltIn).map(({ name }) => name));
  const found = await reading.rules(table, others.map(({ name }) => name));
  const jumps: { chain: string; rule: XtRule; key: string }[] = [];
  const holders = new Map<string, XtHeldChain["by"]>();
  for (const [chain, rules] of found) {
    for (const listed of rules) {
      const { jump, key, rule } = listed;
      if (jump === undefined) continue;
      const comment = commentOf(listed) ?? "";
      const isOurs = isOwn.has(jump)
        ? jumpComments.includes(comment)
        : soleJumpComments.includes(comment);
      if (rule && isOurs && builtIn.has(chain)) jumps.push({ chain, rule, key });
      else if (isOwn.has(jump) && !holders.has(jump)) {
        holders.set(jump, { chain, rule: key.replace(/^\? /, "") });
      }
    }
  }
  return { jumps, holders };
}

/** Rules of others in chains where the owner's rules all look alike. */
async function strangersIn(
  reading: XtReading,
  { plain = [], table }: XtOwned,
  isOwn: ReadonlySet<string>,
): Promise<readonly { readonly chain: string; readonly key: string }[]> {
  const found = await reading.rules(table, plain.filter((name) => isOwn.has(name)));
  return [...found].flatMap(([chain, rules]) =>
    rules.filter((listed) =>
      commentOf(listed) === undefined ||
      (listed.jump !== undefined && !isOwn.has(listed.jump))
    ).map(({ key }) => ({ chain, key: key.replace(/^\? /, "") }))
  );
}

function commentOf({ rule }: XtListedRule): string | undefined {
  const match = rule?.matches.find(({ kind }) => kind === "comment");
  return match?.kind === "comment" ? match.text : undefined;
}
