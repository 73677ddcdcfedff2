/**
 * Removes what nobody needs. Nothing that serves packets depends on it, so a refusal of the kernel
 * fails no sync: what cannot go stays, and keeps nothing else from going.
 */
import { Errno } from "../../kernel/errno.ts";
import { NetlinkError } from "../../kernel/netlink/errors.ts";
import { NfTablesError } from "../../kernel/nf_tables/errors.ts";
import { type Batch, BatchBuilder } from "./batch.ts";
import type { Committer } from "./committer.ts";
import { cutBatches } from "./cut_batch.ts";
import type { TableLedger } from "./table_ledger.ts";

/** What the removals go through. */
export interface TidyingOptions {
  readonly committer: Committer;
  readonly signal: AbortSignal;
}

/** What became of a list of names. */
export interface Tidied {
  /** Gone, by us or by somebody who was faster. */
  readonly gone: readonly string[];
  /** Still referred to somewhere in the kernel, or refused otherwise: another time. */
  readonly held: readonly string[];
}

/** Deletes what nobody needs since an earlier batch; older kernels may ask for patience. */
export function deleteUnneeded(
  ledger: TableLedger,
  names: readonly string[],
  options: TidyingOptions,
): Promise<Tidied> {
  return commitWhatGoes((rest) => ledger.deletions(rest), names, options);
}

/** Empties chains that nobody wants, so that a later batch can delete them and what they lead to. */
export function emptyChains(chains: readonly string[], options: TidyingOptions): Promise<Tidied> {
  return commitWhatGoes(
    (rest) => {
      const batch = new BatchBuilder();
      for (const chain of rest) batch.add({ kind: "flush-chain", chain }, chain);
      return batch.build();
    },
    chains,
    options,
  );
}

/** Each refusal takes at least one name out of the next batch, or ends it. */
async function commitWhatGoes(
  batchFor: (names: readonly string[]) => Batch,
  names: readonly string[],
  options: TidyingOptions,
): Promise<Tidied> {
  const left = new Set(names);
  const gone: string[] = [];
  const held: string[] = [];
  while (left.size > 0) {
    const refusals = await refusalsOf(batchFor([...left]), options);
    if (!refusals) return { gone: [...gone, ...left], held };
    const named = [...refusals].filter(([name]) => left.delete(name));
    if (named.length === 0) break;
    for (const [name, isGone] of named) (isGone ? gone : held).push(name);
  }
  return { gone, held: [...held, ...left] };
}

/** Whose operations were refused, and whether only because they are not there any more. */
async function refusalsOf(
  batch: Batch,
  { committer, signal }: TidyingOptions,
): Promise<ReadonlyMap<string, boolean> | undefined> {
  const refusals = new Map<string, boolean>();
  for (const part of cutBatches([batch], committer.limit)) {
    try {
      await committer.commit(part.operations, { signal });
    } catch (error) {
      // An answer that got lost names nobody.
      if (error instanceof NetlinkError) return refusals;
      if (!(error instanceof NfTablesError)) throw error;
      for (const failure of error.failures) {
        const name = part.ownerOf(failure);
        if (name === undefined) continue;
        refusals.set(name, refusals.get(name) !== false && failure.errno === Errno.ENOENT);
      }
      return refusals;
    }
  }
  return undefined;
}
