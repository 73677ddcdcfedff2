/**
 * What changes do to the rules of iptables, and what is refused: the same cases run on the fake and,
 * in the kernel's tests, on both backends.
 */
import type { XtChange, XtRule, XtTable } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtRefusal } from "../../../../lib/kernel/xtables/xtables.ts";

export interface BehaviourCase {
  readonly name: string;
  /** Committed first, and taken. */
  readonly given?: readonly XtChange[];
  readonly changes: readonly XtChange[];
  /** The commit is refused; first the change, by its index. */
  readonly refused?: readonly [change: number, refusal: XtRefusal];
  /** What the chains of nat hold in the end, as text; undefined: there is no such chain. */
  readonly chains: Readonly<Record<string, readonly string[] | undefined>>;
  /** The backends behave otherwise here. */
  readonly only?: "nft";
}

const table: XtTable = "nat";
const addTable: XtChange = { kind: "add-table", table };

function addChain(chain: string): XtChange {
  return { kind: "add-chain", table, chain };
}

function flush(chain: string): XtChange {
  return { kind: "flush-chain", table, chain };
}

function remove(chain: string): XtChange {
  return { kind: "delete-chain", table, chain };
}

function append(chain: string, rule: XtRule): XtChange {
  return { kind: "append-rule", table, chain, rule };
}

function insert(chain: string, rule: XtRule): XtChange {
  return { kind: "insert-rule", table, chain, rule };
}

function drop(chain: string, rule: XtRule): XtChange {
  return { kind: "delete-rule", table, chain, rule };
}

/** A rule that leads to a chain, told from others by its comment. */
function jump(chain: string, text?: string): XtRule {
  return {
    matches: text === undefined ? [] : [{ kind: "comment", text }],
    target: { kind: "jump", chain },
  };
}

const one = jump("B", "one");
const two = jump("B", "two");
const oneText = "-m comment --comment one -j B";
const twoText = "-m comment --comment two -j B";
/** Two chains, and two rules in the first. */
const given = [addTable, addChain("A"), addChain("B"), append("A", one), append("A", two)];

export const behaviourCases: readonly BehaviourCase[] = [
  {
    name: "a rule goes to the end of its chain, or to the head",
    given,
    changes: [append("A", jump("B", "last")), insert("A", jump("B", "first"))],
    chains: {
      A: ["-m comment --comment first -j B", oneText, twoText, "-m comment --comment last -j B"],
    },
  },
  {
    name: "rules put at the head stand in turned order",
    given,
    changes: [
      insert("B", { matches: [] }),
      insert("B", { matches: [], target: { kind: "return" } }),
    ],
    chains: { B: ["-j RETURN", ""] },
  },
  {
    name: "one rule is deleted by what it says",
    given,
    changes: [drop("A", one)],
    chains: { A: [twoText] },
  },
  {
    name: "of two equal rules one is deleted",
    given: [...given, append("A", one)],
    changes: [drop("A", one)],
    chains: { A: [twoText, oneText] },
  },
  {
    name: "a rule is replaced within one batch",
    given,
    changes: [insert("A", jump("B", "new")), drop("A", two)],
    chains: { A: ["-m comment --comment new -j B", oneText] },
  },
  {
    name: "a chain is flushed and refilled within one batch",
    given,
    changes: [flush("A"), append("A", two)],
    chains: { A: [twoText] },
  },
  {
    name: "a chain that nothing leads to any more is deleted",
    given,
    changes: [flush("A"), remove("A"), remove("B")],
    chains: { A: undefined, B: undefined },
  },
  {
    name: "a table that is there is added again without loss",
    given,
    changes: [addTable],
    chains: { A: [oneText, twoText], PREROUTING: [] },
  },
  {
    name: "a built-in chain takes rules",
    given,
    changes: [insert("PREROUTING", jump("A"))],
    chains: { PREROUTING: ["-j A"] },
  },
  {
    name: "a chain that is there is not added",
    given,
    changes: [addChain("A")],
    refused: [0, "exists"],
    chains: { A: [oneText, twoText] },
    only: "nft",
  },
  {
    name: "a chain that is not there is not deleted",
    given,
    changes: [append("A", one), remove("C")],
    refused: [1, "not-found"],
    chains: { A: [oneText, twoText] },
  },
  {
    name: "a chain with a rule that leads to it is not deleted",
    given,
    changes: [remove("B")],
    refused: [0, "busy"],
    chains: { A: [oneText, twoText], B: [] },
  },
  {
    name: "a rule that leads nowhere is not added",
    given,
    changes: [flush("A"), append("A", jump("C"))],
    refused: [1, "not-found"],
    chains: { A: [oneText, twoText] },
  },
  {
    name: "a rule is not added to a chain that is not there",
    given,
    changes: [append("C", one)],
    refused: [0, "not-found"],
    chains: { C: undefined },
  },
  {
    name: "a rule that is not there is not deleted",
    given,
    changes: [drop("A", one), drop("A", jump("B", "three"))],
    refused: [1, "not-found"],
    chains: { A: [oneText, twoText] },
  },
  {
    name: "a port is not asked for without a protocol",
    given,
    changes: [append("A", { ...one, matches: [{ kind: "ports", protocol: "sctp" }] })],
    refused: [0, "other"],
    chains: { A: [oneText, twoText] },
  },
  {
    name: "a counter that is not there is not used",
    given,
    changes: [append("A", { ...one, matches: [{ kind: "nfacct", name: "nobodys_counter" }] })],
    refused: [0, "not-found"],
    chains: { A: [oneText, twoText] },
  },
];
