/** iptables' rules in nf_tables, by netlink, as iptables-nft holds them. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { FramedBatch } from "../nf_tables/batch_writer.ts";
import { commitBatch, type Committed } from "../nf_tables/commit.ts";
import { ChainAttr, Msg } from "../nf_tables/wire.ts";
import type { NfTransport } from "../nf_tables/transport.ts";
import { decodeListedRule } from "./decode_listing.ts";
import { cutChanges } from "./cut_changes.ts";
import { encodeChanges } from "./encode.ts";
import { describeChange, XtablesError } from "./errors.ts";
import { NftComposition } from "./nft_composition.ts";
import { chainsQuery } from "./nft_queries.ts";
import { NftRules, type NftRulesOptions, openReading, readRules } from "./nft_reading.ts";
import { xtFamilyFacts } from "./family.ts";
import { joinReceipts, receiptOf } from "./nft_receipt.ts";
import { refusedChanges } from "./nft_refusals.ts";
import { RuleHandles } from "./rule_handles.ts";
import { toolOf, type XtChange, type XtPlace, type XtTable, xtTables } from "./rules.ts";
import { noSets, rememberSets, type XtSets } from "./sets.ts";
import { ruleText } from "./text.ts";
import type {
  Xtables,
  XtCommitOptions,
  XtComposition,
  XtFailure,
  XtHearing,
  XtReading,
  XtReceipt,
  XtRules,
  XtStamp,
} from "./xtables.ts";

/** More rules than this at once are not worth their echoes: their chain is read when that is needed. */
const MAX_ECHOES = 1_000;

interface CommitPartsOptions {
  readonly sets: XtSets;
  readonly signal: AbortSignal | undefined;
}

export class NftXtables implements Xtables {
  readonly backend = "nft";
  readonly #transport: NfTransport;
  readonly #sets: XtSets;
  readonly #handles: Readonly<Record<IpFamily, RuleHandles>> = {
    IPv4: new RuleHandles(),
    IPv6: new RuleHandles(),
  };

  /** The transport may have other users; rules may look into the sets. */
  constructor(transport: NfTransport, sets: XtSets = noSets) {
    this.#transport = transport;
    this.#sets = sets;
  }

  async stamp(): Promise<XtStamp> {
    return String(await this.#transport.generation());
  }

  async read(family: IpFamily, tables: readonly XtTable[]): Promise<XtReading> {
    return await openReading(this.#readingOptions(family), tables);
  }

  live(family: IpFamily): XtRules {
    return new NftRules(this.#readingOptions(family));
  }

  async hear(family: IpFamily): Promise<XtHearing> {
    const { notices } = this.#transport;
    await notices?.read(() => this.#transport.generation());
    const { nfproto } = xtFamilyFacts(family);
    return {
      of: (before) => {
        const after = Number(before) + 1;
        const touched = notices?.of(after) ?? "lost";
        if (typeof touched === "string") return touched;
        const chains = touched.flatMap(({ chain, isListed, nfproto: proto, table: name }) => {
          const table = xtTables.find((each) => each === name);
          return table && proto === nfproto ? [{ table, chain, isListed }] : [];
        });
        return { after: String(after), chains };
      },
    };
  }

  async digest(
    family: IpFamily,
    tables: readonly XtTable[],
    expected?: number,
  ): Promise<number> {
    const [digest] = await this.#transport.digests({
      ...(expected !== undefined && { expected }),
      asked: chainsQuery(family),
      options: {
        attributes: [ChainAttr.table, ChainAttr.name, ChainAttr.handle, ChainAttr.use],
        only: { attribute: ChainAttr.table, texts: tables },
      },
    });
    return digest;
  }

  async commit(
    family: IpFamily,
    changes: readonly XtChange[],
    { signal }: XtCommitOptions = {},
  ): Promise<XtReceipt | undefined> {
    signal?.throwIfAborted();
    if (changes.length === 0) return undefined;
    const sets = rememberSets(this.#sets);
    this.#expectSets(family, changes, sets);
    return await this.#commitParts(family, changes, { sets, signal });
  }

  /** Absent where the socket is small: a batch goes through it in parts, which are parts of its changes. */
  get compose(): ((family: IpFamily) => XtComposition) | undefined {
    const transport = this.#transport;
    if (transport.largestBatch !== Infinity) return undefined;
    return (family) => {
      const sets = rememberSets(this.#sets);
      return new NftComposition({ transport, family, sets, handles: this.#handles[family] });
    };
  }

  /** All of it at once, where the socket takes that; else its parts, one after the other. */
  async #commitParts(
    family: IpFamily,
    changes: readonly XtChange[],
    options: CommitPartsOptions,
  ): Promise<XtReceipt> {
    const { sets, signal } = options;
    signal?.throwIfAborted();
    try {
      const handles = await this.#handlesFor(family, changes);
      signal?.throwIfAborted();
      const echoed = this.#echoed(family, changes);
      const batch = encodeChanges(changes, {
        family,
        handleOf: (change) => handles.get(change) ?? 0n,
        wantsEcho: (change) => echoed.has(change),
        sets,
      });
      const isTooLarge = batch.bytes.length > this.#transport.largestBatch;
      const cut = isTooLarge ? cutChanges(changes) : undefined;
      if (cut !== undefined) return await this.#commitCut(family, changes, { ...options, cut });
      return await this.#commitBatch(family, changes, { batch, echoed });
    } catch (error) {
      // The rules whose handles were taken for this may still be there.
      this.#forget(family, changes);
      throw error;
    }
  }

  async #commitCut(
    family: IpFamily,
    changes: readonly XtChange[],
    { cut, ...options }: CommitPartsOptions & { readonly cut: number },
  ): Promise<XtReceipt> {
    // Each part asks for its handles again.
    this.#forget(family, changes);
    const first = await this.#commitParts(family, changes.slice(0, cut), options);
    try {
      return joinReceipts(first, await this.#commitParts(family, changes.slice(cut), options));
    } catch (error) {
      throw behind(cut, error, { changes, family });
    }
  }

  async #commitBatch(
    family: IpFamily,
    changes: readonly XtChange[],
    { batch, echoed }: { readonly batch: FramedBatch; readonly echoed: ReadonlySet<number> },
  ): Promise<XtReceipt> {
    this.#forgetChanged(family, changes, echoed);
    try {
      const committed = await commitBatch(this.#transport, batch, {
        describe: ({ operation }) => {
          const change = changes[operation];
          return change ? describeChange(change, family) : `change rules of ${toolOf(family)}`;
        },
      });
      this.#learn(family, changes, committed);
      return receiptOf(committed);
    } catch (error) {
      throw refusedChanges(error, { changes, family });
    }
  }

  /** A rule is written with the numbers of its sets, so one that is not there is refused here. */
  #expectSets(family: IpFamily, changes: readonly XtChange[], sets: XtSets): void {
    const failures = changes.flatMap((change, index): readonly XtFailure[] => {
      if (change.kind !== "append-rule" && change.kind !== "insert-rule") return [];
      const missing = change.rule.matches.find((match) =>
        match.kind === "set" && sets.indexOf(match.name) === undefined
      );
      if (missing?.kind !== "set") return [];
      return [{ change: index, refusal: "not-found", message: `no set "${missing.name}"` }];
    });
    if (failures.length > 0) throw new XtablesError({ family, changes, failures });
  }

  /** The handle for each change that deletes a rule; a rule that is not there is refused here. */
  async #handlesFor(
    family: IpFamily,
    changes: readonly XtChange[],
  ): Promise<ReadonlyMap<number, bigint>> {
    const known = this.#handles[family];
    const found = new Map<number, bigint>();
    for (const [index, change] of changes.entries()) {
      if (change.kind !== "delete-rule") continue;
      if (!known.knows(change)) await this.#learnChain(family, change);
      const handle = known.take(change, ruleText(change.rule, family));
      if (handle === undefined) {
        const message = "no such object";
        const failures = [{ change: index, refusal: "not-found" as const, message }];
        throw new XtablesError({ family, changes, failures });
      }
      found.set(index, handle);
    }
    return found;
  }

  #readingOptions(family: IpFamily): NftRulesOptions {
    const learn: NftRulesOptions["learn"] = (place, rules) =>
      this.#handles[family].learn(place, rules);
    return { transport: this.#transport, family, sets: rememberSets(this.#sets), learn };
  }

  async #learnChain(family: IpFamily, place: XtPlace): Promise<void> {
    const options = { family, transport: this.#transport, sets: rememberSets(this.#sets) };
    for await (const [, rules] of readRules(options, place.table, [place.chain])) {
      this.#handles[family].learn(place, rules);
    }
  }

  /** The rules whose handles are to be told: those put at the head of chains whose rules are known. */
  #echoed(family: IpFamily, changes: readonly XtChange[]): ReadonlySet<number> {
    const known = this.#handles[family];
    const echoed = changes.flatMap((change, index) =>
      change.kind === "insert-rule" && known.knows(change) ? [index] : []
    );
    return new Set(echoed.length > MAX_ECHOES ? [] : echoed);
  }

  #forget(family: IpFamily, changes: readonly XtChange[]): void {
    for (const change of changes) if ("chain" in change) this.#handles[family].forget(change);
  }

  /** Before the batch is handed over: what it changes without telling is known no more. */
  #forgetChanged(
    family: IpFamily,
    changes: readonly XtChange[],
    echoed: ReadonlySet<number>,
  ): void {
    for (const [index, change] of changes.entries()) {
      if (change.kind === "add-table" || change.kind === "delete-rule") continue;
      if (!echoed.has(index)) this.#handles[family].forget(change);
    }
  }

  #learn(family: IpFamily, changes: readonly XtChange[], { echoes }: Committed): void {
    const sets = rememberSets(this.#sets);
    for (const { operation, payload, type } of echoes) {
      const change = changes[operation];
      if (type !== Msg.newRule || change?.kind !== "insert-rule") continue;
      const listed = decodeListedRule(payload, family, { sets });
      this.#handles[family].inserted(change, listed);
    }
  }
}

/** The error of a part, told of the whole. */
function behind(
  cut: number,
  error: unknown,
  { changes, family }: { readonly changes: readonly XtChange[]; readonly family: IpFamily },
): unknown {
  if (!(error instanceof XtablesError)) return error;
  const failures = error.failures.map((failure) => ({
    ...failure,
    change: failure.change < 0 ? failure.change : failure.change + cut,
  }));
  return new XtablesError({ family, changes, failures, cause: error });
}
