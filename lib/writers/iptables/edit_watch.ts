/** What a writer asks of whoever finds edits of others, in either engine. */
import type { Clock } from "../../base/clock.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { XtChange } from "../../kernel/xtables/rules.ts";
import type {
  Xtables,
  XtChain,
  XtReading,
  XtReceipt,
  XtStamp,
} from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import type { OwnStamps } from "./own_stamps.ts";

/** What a watch works with. */
export interface WatchOptions {
  readonly family: IpFamily;
  readonly xtables: Xtables;
  readonly clock: Clock;
  /** Shared by all writers of the program. */
  readonly ownStamps: OwnStamps;
}

/** Tables as they were in a state. */
export interface Read {
  readonly reading: XtReading;
  readonly stamp: XtStamp;
}

/** Finds edits of others, and knows what is right without being read again. */
export interface EditWatch {
  /** Reads the tables; `agree` takes what it gives once all of it turns out to be right. */
  read(): Promise<Read>;
  /**
   * Reads them for a `read` that comes soon, while others are still finding out what is wanted. Absent where a
   * reading is no more than a list of chains.
   */
  readAhead?(): void;
  /** What these chains held at that state is right, or is about to be made right by our own commits. */
  agree(stamp: XtStamp, chains: readonly XtChain[]): void;
  /** All that was to be made right has been. */
  settled(): void;
  /**
   * The reading, which does not read own chains again that hold what is known to be right; `isSame`
   * says of which the same rules are wanted as then.
   */
  over(reading: XtReading, isSame: (chain: string) => boolean): XtReading;
  /** Takes note of a commit of ours. */
  committed(receipt: XtReceipt): void;
  /** Takes note of what we change: also the chains that rules lead to are counted differently then. */
  changing(changes: readonly XtChange[]): void;
  /** Nothing is known any more. */
  forget(): void;
  /** Whether anything of ours is not as it was written. */
  drifted(applied: Applied, signal: AbortSignal): Promise<boolean>;
}

/** The reading, but that it compares those of the wanted own chains alone that are not known to be right. */
export function readingOver(
  reading: XtReading,
  isRight: (chain: string) => boolean,
): XtReading {
  const differing: XtReading["differing"] = async (table, wanted) => {
    if (table !== "nat") return await reading.differing(table, wanted);
    const rest = new Map([...wanted].filter(([chain]) => !isRight(chain)));
    return rest.size === 0 ? [] : await reading.differing(table, rest);
  };
  return {
    chains: reading.chains,
    rules: (table, chains) => reading.rules(table, chains),
    differing,
    ...(reading.holds && { holds: reading.holds.bind(reading) }),
  };
}
