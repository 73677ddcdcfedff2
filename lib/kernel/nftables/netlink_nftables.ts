/** nf_tables by netlink: the real `Nftables`. */
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { commitBatch } from "../nf_tables/commit.ts";
import { readChains } from "./read_chains.ts";
import { decodeElements } from "./decode_elements.ts";
import {
  anonymousSet,
  decodeRule,
  decodeSet,
  decodeTable,
  decodeTableState,
} from "./decode_table.ts";
import { DirectTransport } from "../nf_tables/direct_transport.ts";
import { joinElementLists } from "../nf_tables/join_element_lists.ts";
import { differenceOf } from "./element_identity.ts";
import { encodeBatch } from "./encode.ts";
import { ElementEncoder } from "./encode_elements.ts";
import { ElementList } from "./element_list.ts";
import { describeOperation } from "./describe_operation.ts";
import { failureText, NfTablesError } from "../nf_tables/errors.ts";
import type { AnonymousSet } from "./expressions.ts";
import { familyFacts } from "./family.ts";
import type { CommitOptions, Nftables, NftElementDifference, NftTableListing } from "./nftables.ts";
import type { CommitReceipt } from "../nf_tables/transport.ts";
import type { BatchFailure } from "../nf_tables/errors.ts";
import type { NftElement, NftOperation, NftSet, NftTable } from "./operations.ts";
import { SetDefinitions } from "./set_definitions.ts";
import type { LookUpResult, NfQuery, NfTransport } from "../nf_tables/transport.ts";
import { ChainAttr, ElemListAttr, Msg, RuleAttr, SetAttr } from "../nf_tables/wire.ts";
import { WorkerTransport } from "../nf_tables/worker_transport.ts";

/** Busy neighbours move the generation all the time; after so many readings the last one has to do. */
const MAX_READINGS = 5;

/**
 * nf_tables with its socket in a worker of its own. For tests: a program has one worker for all, see
 * `LinuxKernel`. Throws `NetlinkError` where the kernel refuses.
 */
export async function openNftables(): Promise<NetlinkNftables> {
  return new NetlinkNftables(await WorkerTransport.open());
}

/** nf_tables with its socket in this thread. For tests: the socket is in a namespace of theirs. */
export function openNftablesInThread(): NetlinkNftables {
  return new NetlinkNftables(new DirectTransport());
}

/** Speaks to the kernel through a transport, which it owns. Calls may overlap; the kernel sees them in order. */
export class NetlinkNftables implements Nftables, Disposable {
  readonly #transport: NfTransport;
  readonly #sets = new SetDefinitions();

  constructor(transport: NfTransport) {
    this.#transport = transport;
  }

  get largestBatch(): number {
    return this.#transport.largestBatch;
  }

  async generation(): Promise<number> {
    return await this.#transport.generation();
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
    const describe = describer({ table, operations, setOf });
    try {
      const options = { describe, ...(series && { series }) };
      return (await commitBatch(this.#transport, batch, options)).receipt;
    } catch (error) {
      this.#sets.forget(table);
      throw error;
    }
  }

  async listTable(
    table: NftTable,
    expectedChains: readonly string[] = [],
  ): Promise<NftTableListing | undefined> {
    for (let reading = 1;; reading++) {
      const before = await this.generation();
      const listing = await this.#readTable(table, expectedChains);
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
    desired: ElementList | Promise<ElementList>,
  ): Promise<NftElementDifference> {
    const decode = (list: Uint8Array) => decodeElements(list, set, table.family);
    const bytes = async () => (await desired).bytes();
    if (set.interval && set.key.length === 1) {
      const [listed, wanted] = await Promise.all([this.listElements(table, set), bytes()]);
      return differenceOf(listed, decode(wanted));
    }
    const query = elementQuery(table, set.name);
    const { missing, extra } = await this.#transport.compare(query, bytes());
    return { missing: decode(missing), extra: decode(extra) };
  }

  async holdsElements(
    table: NftTable,
    set: NftSet,
    elements: readonly NftElement[],
  ): Promise<boolean> {
    if (elements.length === 0) return true;
    const list = ElementList.of(set, table.family, elements).bytes();
    return await this.#lookUp(table, set, list) === "same";
  }

  async hasCatchAll(table: NftTable, set: NftSet): Promise<boolean> {
    try {
      const encoder = new ElementEncoder(set, table.family);
      const writer = new MessageWriter();
      encoder.remove(writer, { key: [] });
      return await this.#lookUp(table, set, writer.bytes()) !== "missing";
    } catch (error) {
      // Before Linux 5.13 every element has a key.
      if (hasErrno(error, Errno.EINVAL)) return false;
      throw error;
    }
  }

  async listTables(): Promise<readonly NftTable[]> {
    const payloads = await this.#transport.query({
      op: "list nf_tables tables",
      type: Msg.getTable,
      nfproto: 0,
      names: [],
      dump: true,
      isSmall: true,
    });
    return payloads.map(decodeTable).filter((table) => table !== undefined);
  }

  async findChains(table: NftTable, names: readonly string[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (const name of names) {
      const answers = await this.#unlessMissing({
        op: `look for chain "${name}" in table "${table.family} ${table.name}"`,
        type: Msg.getChain,
        nfproto: familyFacts(table.family).nfproto,
        names: [[ChainAttr.table, table.name], [ChainAttr.name, name]],
        dump: false,
        isSmall: true,
      });
      if (answers.length > 0) found.push(name);
    }
    return found;
  }

  close(): void {
    this.#transport.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #lookUp(
    table: NftTable,
    set: NftSet,
    elements: Uint8Array<ArrayBuffer>,
  ): Promise<LookUpResult> {
    const query = {
      ...elementQuery(table, set.name),
      op: `look for elements of "${set.name}" in table "${table.family} ${table.name}"`,
      dump: false,
    };
    return this.#transport.lookUp(query, elements);
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
        throw new NfTablesError(failures, describer({ table, operations, setOf }));
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

  async #readTable(
    table: NftTable,
    expected: readonly string[],
  ): Promise<NftTableListing | undefined> {
    const { nfproto } = familyFacts(table.family);
    const about = (what: string) => `list ${what} of table "${table.family} ${table.name}"`;
    const found = await this.#transport.query({
      op: about("objects"),
      type: Msg.getTable,
      nfproto,
      names: [],
      dump: true,
    });
    const tables = found.map(decodeTableState);
    const own = tables.find(({ name }) => name === table.name);
    if (!own) return undefined;
    const { name: _, objects, ...state } = own;
    const others = tables.reduce((sum, each) => sum + each.objects, -objects);
    const ask = (what: string, type: number, attribute: number) =>
      this.#transport.query({
        op: about(what),
        type,
        nfproto,
        names: [[attribute, table.name]],
        dump: true,
      });
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
    const named = sets.flatMap((each) => each.kind === "named" ? [each] : []);
    const definitions = named.map(({ set }) => set);
    // Sets of single rules are not counted; whatever else somebody put into the table looks like a chain.
    const count = objects - named.length;
    const chains = await readChains(this.#transport, table, { expected, count, others });
    this.#sets.forget(table);
    this.#sets.learn(table, definitions);
    const counts = new Map(
      named.flatMap(({ count, set }) => count === undefined ? [] : [[set.name, count] as const]),
    );
    return { ...state, chains, sets: definitions, counts, rules };
  }

  async #unlessMissing(query: NfQuery): Promise<readonly Uint8Array[]> {
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

/** Says what an operation of a batch, or for -1 the whole batch, does to which table. */
function describer({ table, operations, setOf }: {
  readonly table: NftTable;
  readonly operations: readonly NftOperation[];
  readonly setOf: SetLookup;
}): (failure: BatchFailure) => string {
  const place = `table "${table.family} ${table.name}"`;
  return (failure) => {
    const operation = operations[failure.operation];
    if (!operation) return `change ${place}`;
    const description = describeOperation(operation, { ...failure, setOf });
    return operation.kind === "add-table" || operation.kind === "delete-table"
      ? `${description} "${table.family} ${table.name}"`
      : `${description} in ${place}`;
  };
}

function elementQuery(table: NftTable, set: string): NfQuery {
  return {
    op: `list elements of "${set}" in table "${table.family} ${table.name}"`,
    type: Msg.getSetElem,
    nfproto: familyFacts(table.family).nfproto,
    names: [[ElemListAttr.table, table.name], [ElemListAttr.set, set]],
    dump: true,
  };
}
