/** nf_tables by netlink: the real `Nftables`. */
import { Errno } from "../errno.ts";
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import type { NetlinkAnswer } from "../netlink/messages.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { blame } from "./blame.ts";
import { decodeElements } from "./decode_elements.ts";
import { anonymousSet, decodeChain, decodeRule, decodeSet, decodeTable } from "./decode_table.ts";
import { DirectTransport } from "./direct_transport.ts";
import { joinElementLists } from "./element_cursor.ts";
import { differenceOf } from "./elements.ts";
import { encodeBatch, type EncodedBatch } from "./encode.ts";
import { ElementEncoder } from "./encode_elements.ts";
import { describeOperation, failureText, NftablesError } from "./errors.ts";
import type { AnonymousSet } from "./expressions.ts";
import { familyFacts } from "./family.ts";
import { generationQuery, readGeneration } from "./generation.ts";
import type {
  CommitOptions,
  CommitReceipt,
  CommitSeries,
  Nftables,
  NftElementDifference,
  NftFailure,
  NftTableListing,
} from "./nftables.ts";
import type { NftElement, NftOperation, NftSet, NftTable } from "./operations.ts";
import { SetDefinitions } from "./set_definitions.ts";
import type { NftQuery, NftTransport } from "./transport.ts";
import { ElemListAttr, Msg, RuleAttr, SetAttr, TableAttr } from "./wire.ts";
import { WorkerTransport } from "./worker_transport.ts";

/** Busy neighbours move the generation all the time; after so many readings the last one has to do. */
const MAX_READINGS = 5;

/** nf_tables with its socket in a worker: for the program. Throws `NetlinkError` where the kernel refuses. */
export async function openNftables(): Promise<NetlinkNftables> {
  return new NetlinkNftables(await WorkerTransport.open());
}

/** nf_tables with its socket in this thread: for tools and tests. */
export function openNftablesInThread(): NetlinkNftables {
  return new NetlinkNftables(new DirectTransport());
}

/** Speaks to the kernel through a transport, which it owns. Calls may overlap; the kernel sees them in order. */
export class NetlinkNftables implements Nftables, Disposable {
  readonly #transport: NftTransport;
  readonly #sets = new SetDefinitions();
  readonly #series = new WeakMap<CommitSeries, number>();
  #lastSeries = 0;

  constructor(transport: NftTransport) {
    this.#transport = transport;
  }

  async generation(): Promise<number> {
    return readGeneration(await this.#queryGeneration(generationQuery));
  }

  async commit(
    table: NftTable,
    operations: readonly NftOperation[],
    options: CommitOptions = {},
  ): Promise<CommitReceipt | undefined> {
    options.signal?.throwIfAborted();
    if (operations.length === 0) return undefined;
    const { generation, series } = options;
    // Without waiting where all is known: the next batch may be handed over already.
    if (!this.#knowsSets(table, operations)) await this.#learnSets(table, operations);
    options.signal?.throwIfAborted();
    const setOf = this.#setLookup(table);
    const batch = encodeBatch(table, operations, {
      setOf,
      ...(generation !== undefined && { generation }),
    });
    // At once, since the next batch may be encoded before this one is acknowledged.
    this.#sets.committed(table, operations);
    try {
      const result = await this.#transport.commit(batch.bytes, series && this.#numberOf(series));
      if (result.kind === "applied") return result.receipt;
      if (result.kind === "skipped") throw skipped(table);
      const { bytes, refusals } = result;
      const failures = refusals.map((refusal) => failureOf(refusal, { ...batch, bytes }));
      throw refused({ table, operations, failures, setOf });
    } catch (error) {
      this.#sets.forget(table);
      if (!hasErrno(error, Errno.EMSGSIZE)) throw error;
      // The socket did not take the batch: as good as a refusal, and a smaller one may pass.
      const { errno } = error;
      const failures = [{ operation: -1, errno, message: failureText(errno, {}) }];
      throw refused({ table, operations, failures, setOf });
    }
  }

  async listTable(table: NftTable): Promise<NftTableListing | undefined> {
    for (let reading = 1;; reading++) {
      const before = await this.generation();
      const listing = await this.#readTable(table);
      if (reading === MAX_READINGS || await this.generation() === before) return listing;
    }
  }

  async listElements(table: NftTable, set: NftSet): Promise<readonly NftElement[]> {
    const payloads = await this.#transport.query(elementQuery(table, set.name));
    return decodeElements(joinElementLists(payloads), set, table.family);
  }

  async compareElements(
    table: NftTable,
    set: NftSet,
    desired: readonly NftElement[] | Promise<readonly NftElement[]>,
  ): Promise<NftElementDifference> {
    if (set.interval && set.key.length === 1) {
      const [listed, wanted] = await Promise.all([this.listElements(table, set), desired]);
      return differenceOf(listed, wanted);
    }
    const encoded = async () => encodeElementList(table, set, await desired);
    const query = elementQuery(table, set.name);
    const { missing, extra } = await this.#transport.compare(query, encoded());
    const wanted = missing.length > 0 ? await desired : [];
    return {
      missing: Array.from(missing, (index) => wanted[index]),
      extra: decodeElements(extra, set, table.family),
    };
  }

  async listTables(): Promise<readonly NftTable[]> {
    const payloads = await this.#transport.query({
      op: "list nf_tables tables",
      type: Msg.getTable,
      nfproto: 0,
      names: [],
      dump: true,
    });
    return payloads.map(decodeTable).filter((table) => table !== undefined);
  }

  close(): void {
    this.#transport.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #numberOf(series: CommitSeries): number {
    const known = this.#series.get(series) ?? ++this.#lastSeries;
    this.#series.set(series, known);
    return known;
  }

  #setLookup(table: NftTable): SetLookup {
    return (name) => this.#sets.get(table, name);
  }

  #knowsSets(table: NftTable, operations: readonly NftOperation[]): boolean {
    return unknownSets(operations, this.#setLookup(table)).length === 0;
  }

  /** Reads the sets whose elements the operations change. One that does not exist is refused here already. */
  async #learnSets(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    const setOf = this.#setLookup(table);
    for (const [operation, name] of unknownSets(operations, setOf)) {
      const set = await this.#readSet(table, name);
      if (!set) {
        const message = failureText(Errno.ENOENT, {});
        const failures = [{ operation, errno: Errno.ENOENT, message }];
        throw refused({ table, operations, failures, setOf });
      }
      this.#sets.learn(table, [set]);
    }
  }

  async #readSet(table: NftTable, name: string): Promise<NftSet | undefined> {
    const [payload] = await this.#unlessMissing({
      op: `read set "${name}" of table "${table.family} ${table.name}"`,
      type: Msg.getSet,
      nfproto: familyFacts(table.family).nfproto,
      names: [[SetAttr.table, table.name], [SetAttr.name, name]],
      dump: false,
    });
    const listed = payload && decodeSet(payload, table.family);
    return listed?.kind === "named" ? listed.set : undefined;
  }

  async #readTable(table: NftTable): Promise<NftTableListing | undefined> {
    const { nfproto } = familyFacts(table.family);
    const about = (what: string) => `list ${what} of table "${table.family} ${table.name}"`;
    const found = await this.#unlessMissing({
      op: about("objects"),
      type: Msg.getTable,
      nfproto,
      names: [[TableAttr.name, table.name]],
      dump: false,
    });
    if (found.length === 0) return undefined;
    const ask = (what: string, type: number, attribute: number) =>
      this.#transport.query({
        op: about(what),
        type,
        nfproto,
        names: [[attribute, table.name]],
        dump: true,
      });
    // The kernel does not filter chains by their table.
    const chains = (await ask("chains", Msg.getChain, TableAttr.name)).map(decodeChain)
      .filter((each) => each.table === table.name).map(({ chain }) => chain);
    const sets = (await ask("sets", Msg.getSet, SetAttr.table))
      .map((payload) => decodeSet(payload, table.family));
    const anonymous = new Map<string, AnonymousSet>();
    for (const each of sets) {
      if (each.kind !== "anonymous") continue;
      const payloads = await this.#transport.query(elementQuery(table, each.name));
      anonymous.set(each.name, anonymousSet(each.shape, joinElementLists(payloads)));
    }
    const rules = (await ask("rules", Msg.getRule, RuleAttr.table))
      .map((payload) => decodeRule(payload, table.family, anonymous));
    const named = sets.flatMap((each) => each.kind === "named" ? [each.set] : []);
    this.#sets.forget(table);
    this.#sets.learn(table, named);
    return { chains, sets: named, rules };
  }

  /** Without nf_tables the kernel calls the question invalid, which no other answer to it is. */
  async #queryGeneration(query: NftQuery): Promise<readonly Uint8Array[]> {
    try {
      return await this.#transport.query(query);
    } catch (error) {
      if (!hasErrno(error, Errno.EINVAL)) throw error;
      throw new NetlinkError({
        op: query.op,
        errno: Errno.EOPNOTSUPP,
        hint: "this kernel lacks nf_tables or its module is not loaded",
      });
    }
  }

  async #unlessMissing(query: NftQuery): Promise<readonly Uint8Array[]> {
    try {
      return await this.#transport.query(query);
    } catch (error) {
      if (hasErrno(error, Errno.ENOENT)) return [];
      throw error;
    }
  }
}

type SetLookup = (name: string) => NftSet | undefined;

/** Sets that the operations neither make nor can be encoded without, with the first operation for each. */
function unknownSets(
  operations: readonly NftOperation[],
  setOf: SetLookup,
): readonly (readonly [operation: number, name: string])[] {
  const seen = new Set<string>();
  const unknown: (readonly [number, string])[] = [];
  for (const [index, operation] of operations.entries()) {
    if (operation.kind === "add-set") seen.add(operation.set.name);
    if (operation.kind !== "add-elements" && operation.kind !== "delete-elements") continue;
    const { set } = operation;
    if (seen.has(set) || setOf(set)) continue;
    seen.add(set);
    unknown.push([index, set]);
  }
  return unknown;
}

function skipped({ family, name }: NftTable): Error {
  return new Error(
    `Cannot change table "${family} ${name}": a batch that this one builds on was refused`,
  );
}

function refused({ table, operations, failures, setOf }: {
  readonly table: NftTable;
  readonly operations: readonly NftOperation[];
  readonly failures: readonly NftFailure[];
  readonly setOf: SetLookup;
}): NftablesError {
  const place = `table "${table.family} ${table.name}"`;
  return new NftablesError(failures, (failure) => {
    const operation = operations[failure.operation];
    if (!operation) return `change ${place}`;
    const description = describeOperation(operation, { ...failure, setOf });
    return operation.kind === "add-table" || operation.kind === "delete-table"
      ? `${description} "${table.family} ${table.name}"`
      : `${description} in ${place}`;
  });
}

function elementQuery(table: NftTable, set: string): NftQuery {
  return {
    op: `list elements of "${set}" in table "${table.family} ${table.name}"`,
    type: Msg.getSetElem,
    nfproto: familyFacts(table.family).nfproto,
    names: [[ElemListAttr.table, table.name], [ElemListAttr.set, set]],
    dump: true,
  };
}

/** The elements as they stand in an element list, which may be longer here than in a message. */
function encodeElementList(
  table: NftTable,
  set: NftSet,
  elements: readonly NftElement[],
): Uint8Array<ArrayBuffer> {
  const encoder = new ElementEncoder(set, table.family);
  const writer = new MessageWriter(1024 + elements.length * encoder.typicalBytes);
  for (const element of elements) encoder.add(writer, element);
  return writer.bytes();
}

function failureOf(refusal: NetlinkAnswer, batch: EncodedBatch): NftFailure {
  const { errno, kernelMessage, offset, sequence } = refusal;
  const message = batch.messages[sequence];
  const { element, expression } = message ? blame(batch.bytes, message, offset) : {};
  return {
    operation: message?.operation ?? -1,
    ...(element !== undefined && { element }),
    errno,
    message: failureText(errno, {
      ...(kernelMessage !== undefined && { kernelMessage }),
      ...(expression !== undefined && { expression }),
    }),
  };
}
