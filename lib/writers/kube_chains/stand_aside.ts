/**
 * Has chains that a mode left decide nothing, so that another mode's rules do: their first rule gives every
 * packet back. Nothing is removed, and whoever writes such a chain anew takes the rule along.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { isRefusal } from "../../kernel/xtables/errors.ts";
import { type XtChange, type XtPlace, type XtRule, xtTables } from "../../kernel/xtables/rules.ts";
import { ruleText } from "../../kernel/xtables/text.ts";
import type { Xtables, XtListedRule, XtRefusal, XtRules } from "../../kernel/xtables/xtables.ts";
import type { Leftover } from "../leftovers.ts";
import type { Place } from "./removal.ts";
import { comment } from "./rules.ts";

/** What is to decide nothing. */
export interface AsideOptions {
  /** Where the mode has chains, of the families that another mode serves by now. */
  readonly found: readonly Leftover[];
  /** Those of them in which packets meet a decision: the rest is reached through these. */
  deciding(place: Place): readonly XtPlace[] | Promise<readonly XtPlace[]>;
  readonly signal: AbortSignal;
}

const giveBack: XtRule = {
  matches: [comment("another proxy mode serves, and kube-proxy cleanup removes this chain")],
  target: { kind: "return" },
};

/** Somebody else may write between reading and writing. */
const attempts = 3;
const passing: readonly XtRefusal[] = ["stale", "busy", "locked", "not-found"];

/** Tells the chains that it changed: none when repeated. */
export async function chainsAside(
  kernel: Kernel,
  { deciding, found, signal }: AsideOptions,
): Promise<readonly string[]> {
  const aside: string[] = [];
  for (const { backend, family } of found) {
    if (backend !== "nft" && backend !== "legacy") continue;
    const place: Place = { backend, family };
    const chains = await deciding(place);
    const changed = await giveBackIn(kernel, { place, chains, signal });
    const where = `${backend}, ${family}`;
    aside.push(...changed.map(({ chain, table }) => `chain ${chain} of table ${table} (${where})`));
  }
  return aside;
}

async function giveBackIn(
  kernel: Kernel,
  { chains, place, signal }: {
    readonly place: Place;
    readonly chains: readonly XtPlace[];
    readonly signal: AbortSignal;
  },
): Promise<readonly XtPlace[]> {
  const { backend, family } = place;
  const xtables = await kernel.xtables(backend);
  for (let attempt = 1;; attempt++) {
    signal.throwIfAborted();
    const rules = await rulesIn(kernel, xtables, place);
    const awake: XtPlace[] = [];
    for (const each of chains) if (await decides(each, rules, place)) awake.push(each);
    const changes = awake.map((each): XtChange => ({
      kind: "insert-rule",
      ...each,
      rule: giveBack,
    }));
    try {
      await xtables.commit(family, changes, { signal });
      return awake;
    } catch (error) {
      const mayPass = passing.some((refusal) => isRefusal(error, refusal));
      if (attempt === attempts || !mayPass) throw error;
    }
  }
}

/** A table of the older engine that is not there would come by being read. */
async function rulesIn(
  { legacyTables }: Kernel,
  xtables: Xtables,
  { family }: Place,
): Promise<XtRules> {
  const live = xtables.live?.(family);
  if (live) return live;
  const loaded = legacyTables.loaded(family);
  return await xtables.read(family, xtTables.filter((table) => loaded.includes(table)));
}

/** A chain that is not there decides no more than an empty one. */
async function decides(
  { chain, table }: XtPlace,
  rules: XtRules,
  { family }: Place,
): Promise<boolean> {
  const there = (await rules.rules(table, [chain])).get(chain) ?? [];
  return there.length > 0 && !standsAside(there, family);
}

/** Whether a chain with these rules was made to decide nothing. */
export function standsAside([first]: readonly XtListedRule[], family: IpFamily): boolean {
  return first?.key === ruleText(giveBack, family);
}
