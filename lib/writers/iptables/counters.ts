/** The kernel's counters that rules count into. A kernel without them has the rules all the same. */
import type { Logger } from "../../base/log.ts";
import { describeError } from "../../base/errors.ts";
import type { Nfacct } from "../../kernel/nfacct/nfacct.ts";
import { invalidCounter, localhostCounter } from "./names.ts";
import type { RuleContext } from "./rules/context.ts";

export class Counters {
  readonly #nfacct: Nfacct;
  readonly #logger: Logger | undefined;
  #usable: RuleContext["counters"] = { invalid: false, localhost: false };

  constructor(nfacct: Nfacct, logger?: Logger) {
    this.#nfacct = nfacct;
    this.#logger = logger;
  }

  /** Those that were there, or could be made, the last time somebody asked. */
  get usable(): RuleContext["counters"] {
    return this.#usable;
  }

  /** Makes those that are missing. */
  ensure(): void {
    this.#usable = {
      invalid: this.#make(invalidCounter),
      localhost: this.#make(localhostCounter),
    };
  }

  /** How many packets each counted so far; absent where it is not to be had. */
  packets(name: string): number | undefined {
    try {
      const value = this.#nfacct.read(name);
      return value && Number(value.packets);
    } catch {
      // A kernel without counters has none to show.
      return undefined;
    }
  }

  #make(name: string): boolean {
    try {
      this.#nfacct.ensure(name);
      return true;
    } catch (error) {
      this.#logger?.verbose(2, "Packets are not counted", { name, error: describeError(error) });
      return false;
    }
  }
}
