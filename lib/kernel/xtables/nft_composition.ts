/**
 * Changes that become bytes as they come. The rules of a large cluster are tens of megabytes of values; those
 * that wait together for their commit are taken for old by the engine, and its heap grows with what is
 * garbage a moment later.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { commitBatch } from "../nf_tables/commit.ts";
import type { NfTransport } from "../nf_tables/transport.ts";
import { ChangeEncoder } from "./encode.ts";
import { receiptOf } from "./nft_receipt.ts";
import { refusedChanges } from "./nft_refusals.ts";
import type { RuleHandles } from "./rule_handles.ts";
import { toolOf, type XtChange } from "./rules.ts";
import type { XtSets } from "./sets.ts";
import type { XtComposition, XtReceipt } from "./xtables.ts";

/** A load's usual commit has room in this. */
const CAPACITY = 3 << 20;

/** What changes are put together with. */
export interface NftCompositionOptions {
  readonly transport: NfTransport;
  readonly family: IpFamily;
  /** Those that rules may look into. */
  readonly sets: XtSets;
  /** What is changed is known no more. */
  readonly handles: Pick<RuleHandles, "forget">;
}

export class NftComposition implements XtComposition {
  readonly #options: NftCompositionOptions;
  readonly #encoder: ChangeEncoder;
  #count = 0;

  constructor(options: NftCompositionOptions) {
    const { family, sets } = options;
    this.#options = options;
    this.#encoder = new ChangeEncoder(CAPACITY, {
      family,
      handleOf: () => 0n,
      wantsEcho: () => false,
      sets,
    });
  }

  get count(): number {
    return this.#count;
  }

  takes(changes: readonly XtChange[]): boolean {
    return changes.every(({ kind }) => kind !== "delete-rule");
  }

  add(changes: readonly XtChange[]): void {
    const { handles } = this.#options;
    for (const change of changes) {
      if ("chain" in change) handles.forget(change);
      this.#encoder.add(change, this.#count++);
    }
  }

  async commit(): Promise<XtReceipt> {
    const { family, transport } = this.#options;
    try {
      const describe = () => `change rules of ${toolOf(family)}`;
      return receiptOf(await commitBatch(transport, this.#encoder.finish(), { describe }));
    } catch (error) {
      throw refusedChanges(error, { changes: [], family });
    }
  }

  /** It is bytes in memory so far. */
  abandon(): Promise<void> {
    return Promise.resolve();
  }
}
