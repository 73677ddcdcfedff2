/** The table as `nft` text: for `--dry-run`, for people, and as the oracle of the tests. */
import type { NftOperation, NftTable } from "../../kernel/nftables/operations.ts";
import { elementText, operationText } from "../../kernel/nftables/text.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { Batch } from "./batch.ts";
import { groupServicePorts } from "./desired.ts";
import { tableOf } from "./names.ts";
import { FullPlan } from "./full_plan.ts";

/** What the text depends on beside the snapshot. */
export interface RenderOptions {
  /** The bit of the packet mark that asks for masquerading. */
  readonly masqueradeBit: number;
}

/**
 * What a first `sync` writes, for `nft -f -`: loading it into a kernel without the table makes the
 * same table. Equal snapshots give equal text.
 */
export function renderText(snapshot: Snapshot, options: RenderOptions): string {
  const table = tableOf(snapshot.family);
  return [...firstLoad(snapshot, options)]
    .flatMap(({ operations }) => operations)
    .map((operation) => `${lines(table, operation)}\n`)
    .join("");
}

/** The batches that make the table where there is none. */
export function firstLoad(snapshot: Snapshot, { masqueradeBit }: RenderOptions): Iterable<Batch> {
  const { family, services, settings } = snapshot;
  const context = { family, mark: (1 << masqueradeBit) >>> 0, settings };
  const desired = { context, groups: groupServicePorts(services, settings) };
  return new FullPlan(desired, { content: undefined, retired: new Set() }).batches();
}

/** One element a line; everything else fits on one. */
function lines(table: NftTable, operation: NftOperation): string {
  if (operation.kind !== "add-elements") return operationText(table, operation);
  const elements = operation.elements.map((element) => `  ${elementText(element)}`).join(",\n");
  return `add element ${table.family} ${table.name} ${operation.set} {\n${elements}\n}`;
}
