/**
 * Which chains others touched since they were right, as the kernel told it commit by commit. Our own commits
 * are known, so that only others' count; what the kernel could not tell is said to be lost.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { Xtables, XtStamp, XtTouchedChain } from "../../kernel/xtables/xtables.ts";
import type { OwnStamps } from "./own_stamps.ts";
import { jumps, ownTables } from "./rules/static_chains.ts";
import { nameOf } from "./shared_chains.ts";

/** How the names of all our chains begin. */
const prefix = "KUBE-";
const jumpSources = new Set(jumps.map(({ chain, table }) => nameOf(table, chain)));

/** What is asked, and of what family. */
export interface ForeignTouchesOptions {
  readonly family: IpFamily;
  readonly xtables: Xtables;
  readonly ownStamps: OwnStamps;
}

/** How far commits were followed: `lost` where it will never be known what was touched behind that. */
export interface Followed {
  readonly latest: XtStamp;
  /** `reached`: at least to the state that was asked for. `later`: the kernel is still to tell of some. */
  readonly end: "reached" | "later" | "lost";
}

export class ForeignTouches {
  readonly #options: ForeignTouchesOptions;
  /** By names with tables. */
  readonly chains = new Set<string>();
  /** A chain came, went or got another name: `ours` one whose name looks like ours. */
  listed: "none" | "others" | "ours" = "none";

  constructor(options: ForeignTouchesOptions) {
    this.#options = options;
  }

  /** Goes on behind `from`, commit by commit, as far as the kernel told. */
  async follow(from: XtStamp, until: XtStamp): Promise<Followed> {
    const { family, ownStamps, xtables } = this.#options;
    const hearing = await xtables.hear?.(family);
    let latest = from;
    let isReached = false;
    for (;;) {
      isReached ||= latest === until;
      const own = ownStamps.next(latest);
      if (own !== undefined) {
        latest = own;
        continue;
      }
      const touched = hearing?.of(latest) ?? "lost";
      if (typeof touched === "string") {
        return { latest, end: isReached ? "reached" : touched };
      }
      for (const chain of touched.chains) this.#add(chain);
      latest = touched.after;
    }
  }

  /** All of it turned out to be right. */
  clear(): void {
    this.chains.clear();
    this.listed = "none";
  }

  #add({ chain, isListed, table }: XtTouchedChain): void {
    if (!ownTables.includes(table)) return;
    const name = nameOf(table, chain);
    const isOurs = chain.startsWith(prefix);
    if (isOurs || jumpSources.has(name)) this.chains.add(name);
    if (isListed && this.listed !== "ours") this.listed = isOurs ? "ours" : "others";
  }
}
