/** Changes as one nf_tables batch, in the form of iptables-nft. */
import { assertNever } from "../../base/assert_never.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { MessageFlag } from "../netlink/messages.ts";
import { BatchWriter, type FramedBatch } from "../nf_tables/batch_writer.ts";
import {
  ChainAttr,
  CompatAttr,
  genmsg,
  HookAttr,
  HOOKS,
  Msg,
  RuleAttr,
  TableAttr,
} from "../nf_tables/wire.ts";
import { writeExpressions } from "./encode_rule.ts";
import { xtFamilyFacts } from "./family.ts";
import {
  builtInChains,
  type XtChange,
  xtProtocolNumbers,
  type XtRule,
  type XtTable,
} from "./rules.ts";
import type { XtSets } from "./sets.ts";

/** Bytes of a usual rule: its comment is most of it. */
const TYPICAL_RULE = 640;
/** Bytes of a change that has no rule: its chain's name is most of it. */
const TYPICAL_CHANGE = 96;

/** Type and priority of a table's built-in chains, as iptables makes them. */
const priorities: Readonly<Record<XtTable, number>> = {
  raw: -300,
  mangle: -150,
  nat: -100,
  filter: 0,
  security: 150,
};
/** Behind connection tracking's confirmation there is no other place for these. */
const LATE_NAT_PRIORITY = 100;

/** What the batch needs besides the changes, by their index. */
export interface EncodeOptions {
  readonly family: IpFamily;
  /** The handle of the rule that a `delete-rule` deletes. */
  readonly handleOf: (change: number) => bigint;
  /** Whether the kernel shall tell the handle of the rule that this change adds. */
  readonly wantsEcho: (change: number) => boolean;
  /** Those that rules may look into. */
  readonly sets: XtSets;
}

/** The batch. Throws `TypeError` for a rule that cannot be said. */
export function encodeChanges(changes: readonly XtChange[], options: EncodeOptions): FramedBatch {
  const capacity = changes.reduce(
    (sum, change) => sum + ("rule" in change ? TYPICAL_RULE : TYPICAL_CHANGE),
    // A table and its chains.
    1024,
  );
  const encoder = new ChangeEncoder(capacity, options);
  for (const [index, change] of changes.entries()) encoder.add(change, index);
  return encoder.finish();
}

/** Encodes changes one by one, none of which it keeps. Throws `TypeError` for a rule that cannot be said. */
export class ChangeEncoder {
  readonly #batch: BatchWriter;
  readonly #options: EncodeOptions;
  readonly #genmsg: Uint8Array;

  constructor(capacity: number, options: EncodeOptions) {
    this.#batch = new BatchWriter({ capacity });
    this.#options = options;
    this.#genmsg = genmsg(xtFamilyFacts(options.family).nfproto);
  }

  finish(): FramedBatch {
    return this.#batch.finish();
  }

  add(change: XtChange, index: number): void {
    const { writer } = this.#batch;
    switch (change.kind) {
      case "add-table":
        return this.#addTable(change, index);
      case "add-chain":
        this.#begin(Msg.newChain, MessageFlag.create | MessageFlag.exclusive, index);
        writer.string(ChainAttr.table, change.table);
        writer.string(ChainAttr.name, change.chain);
        return this.#batch.end();
      case "delete-chain":
        this.#begin(Msg.delChain, 0, index);
        writer.string(ChainAttr.table, change.table);
        writer.string(ChainAttr.name, change.chain);
        return this.#batch.end();
      case "flush-chain":
        this.#begin(Msg.delRule, 0, index);
        writer.string(RuleAttr.table, change.table);
        writer.string(RuleAttr.chain, change.chain);
        return this.#batch.end();
      case "delete-rule":
        this.#begin(Msg.delRule, 0, index);
        writer.string(RuleAttr.table, change.table);
        writer.string(RuleAttr.chain, change.chain);
        writer.u64be(RuleAttr.handle, this.#options.handleOf(index));
        return this.#batch.end();
      case "append-rule":
        this.#begin(
          Msg.newRule,
          MessageFlag.create | MessageFlag.append | this.#echo(index),
          index,
        );
        return this.#rule(change);
      case "insert-rule":
        this.#begin(Msg.newRule, MessageFlag.create | this.#echo(index), index);
        return this.#rule(change);
      default:
        return assertNever(change);
    }
  }

  #begin(type: number, flags: number, operation: number): void {
    this.#batch.begin({ type, flags, genmsg: this.#genmsg, operation });
  }

  #echo(index: number): number {
    return this.#options.wantsEcho(index) ? MessageFlag.echo : 0;
  }

  #rule({ chain, rule, table }: {
    readonly table: XtTable;
    readonly chain: string;
    readonly rule: XtRule;
  }): void {
    const { writer } = this.#batch;
    writer.string(RuleAttr.table, table);
    writer.string(RuleAttr.chain, chain);
    const list = writer.beginNested(RuleAttr.expressions);
    const { family, sets } = this.#options;
    writeExpressions(writer, { rule, family, sets });
    writer.endNested(list);
    if (rule.protocol) {
      // Structures that belong to a protocol are refused without it.
      const compat = writer.beginNested(RuleAttr.compat);
      writer.u32be(CompatAttr.protocol, xtProtocolNumbers[rule.protocol]);
      writer.u32be(CompatAttr.flags, 0);
      writer.endNested(compat);
    }
    this.#batch.end();
  }

  /** Without a policy, so that a chain that is there keeps its own. */
  #addTable(
    { table, chains = builtInChains[table] }: {
      readonly table: XtTable;
      readonly chains?: readonly string[];
    },
    index: number,
  ): void {
    const { writer } = this.#batch;
    this.#begin(Msg.newTable, MessageFlag.create, index);
    writer.string(TableAttr.name, table);
    writer.u32be(TableAttr.flags, 0);
    this.#batch.end();
    for (const name of chains) {
      this.#begin(Msg.newChain, MessageFlag.create, index);
      writer.string(ChainAttr.table, table);
      writer.string(ChainAttr.name, name);
      const hook = writer.beginNested(ChainAttr.hook);
      writer.u32be(HookAttr.number, HOOKS.findIndex((each) => each.toUpperCase() === name));
      writer.u32be(HookAttr.priority, priorityOf(table, name));
      writer.endNested(hook);
      writer.string(ChainAttr.type, typeOf(table, name));
      this.#batch.end();
    }
  }
}

function priorityOf(table: XtTable, chain: string): number {
  const isLate = table === "nat" && (chain === "INPUT" || chain === "POSTROUTING");
  return isLate ? LATE_NAT_PRIORITY : priorities[table];
}

function typeOf(table: XtTable, chain: string): string {
  if (table === "nat") return "nat";
  return table === "mangle" && chain === "OUTPUT" ? "route" : "filter";
}
