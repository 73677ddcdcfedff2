/** What nf_tables accepts and refuses. The same rows run on the fake and on the real kernel. */
import { Errno } from "../../../../lib/kernel/errno.ts";
import type {
  NftElement,
  NftOperation,
  NftSet,
  NftTable,
  NftVerdict,
} from "../../../../lib/kernel/nftables/operations.ts";

export const table: NftTable = { family: "ip", name: "kube-proxy" };

/** A refusal that a row expects. */
export interface ExpectedFailure {
  readonly operation: number;
  readonly errno: number;
  readonly element?: number;
}

export interface BehaviourCase {
  readonly name: string;
  /** Applied first, in one batch of its own. */
  readonly before: readonly NftOperation[];
  readonly change: readonly NftOperation[];
  /** Empty: the change is applied. */
  readonly failures: readonly ExpectedFailure[];
}

const addTable: NftOperation = { kind: "add-table" };
const chain = (name: string): NftOperation => ({ kind: "add-chain", chain: { name } });
const addSet = (set: NftSet): NftOperation => ({ kind: "add-set", set });
const add = (set: string, ...elements: NftElement[]): NftOperation => ({
  kind: "add-elements",
  set,
  elements,
});
const remove = (set: string, ...elements: NftElement[]): NftOperation => ({
  kind: "delete-elements",
  set,
  elements,
});
const goto = (to: string): NftVerdict => ({ kind: "goto", chain: to });
const rule = (on: string, verdict: NftVerdict): NftOperation => ({
  kind: "add-rule",
  rule: { chain: on, statements: [{ kind: "verdict", verdict }] },
});
const lookup = (on: string, set: string): NftOperation => ({
  kind: "add-rule",
  rule: { chain: on, statements: [{ kind: "match", select: ["daddr"], in: { set } }] },
});

const ips: NftSet = { name: "ips", key: ["addr"] };
const services: NftSet = {
  name: "services",
  key: ["addr", "inet_proto", "inet_service"],
  value: "verdict",
};
const endpoints: NftSet = {
  name: "endpoints",
  key: ["addr", "index"],
  value: ["addr", "inet_service"],
};
const ranges: NftSet = {
  name: "ranges",
  key: ["addr", "inet_service", "addr"],
  interval: true,
};
const trees: NftSet = { name: "trees", key: ["addr"], interval: true };

const one: NftElement = { key: ["172.30.0.1"] };
const two: NftElement = { key: ["172.30.0.2"] };
const service: NftElement = { key: ["172.30.0.1", "tcp", 80], value: goto("a") };
const endpoint: NftElement = { key: ["172.30.0.1", 0], value: ["10.128.0.1", 80] };
const range = (cidr: string): NftElement => ({ key: ["203.0.113.1", 80, cidr] });

const tables: readonly BehaviourCase[] = [
  { name: "a table twice", before: [addTable], change: [addTable], failures: [] },
  {
    name: "delete a missing table",
    before: [],
    change: [{ kind: "delete-table" }],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "add and delete before add: start anew",
    before: [addTable, chain("a"), addSet(ips), add("ips", one)],
    change: [addTable, { kind: "delete-table" }, addTable, chain("b")],
    failures: [],
  },
  {
    name: "a chain of a missing table",
    before: [],
    change: [chain("a")],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
];

const chains: readonly BehaviourCase[] = [
  { name: "a chain twice", before: [addTable, chain("a")], change: [chain("a")], failures: [] },
  {
    name: "a base chain at another priority",
    before: [addTable, {
      kind: "add-chain",
      chain: { name: "a", base: { type: "filter", hook: "input", priority: 0 } },
    }],
    change: [{
      kind: "add-chain",
      chain: { name: "a", base: { type: "filter", hook: "input", priority: 1 } },
    }],
    failures: [{ operation: 0, errno: Errno.EOPNOTSUPP }],
  },
  {
    name: "a chain becomes a base chain",
    before: [addTable, chain("a")],
    change: [{
      kind: "add-chain",
      chain: { name: "a", base: { type: "filter", hook: "input", priority: 0 } },
    }],
    failures: [{ operation: 0, errno: Errno.EOPNOTSUPP }],
  },
  {
    name: "a base chain's policy is put right",
    before: [addTable, {
      kind: "add-chain",
      chain: { name: "a", base: { type: "filter", hook: "input", priority: 0, policy: "drop" } },
    }],
    change: [{
      kind: "add-chain",
      chain: { name: "a", base: { type: "filter", hook: "input", priority: 0 } },
    }],
    failures: [],
  },
  {
    name: "flush a chain without rules",
    before: [addTable, chain("a")],
    change: [{ kind: "flush-chain", chain: "a" }],
    failures: [],
  },
  {
    name: "flush a missing chain",
    before: [addTable],
    change: [{ kind: "flush-chain", chain: "a" }],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "delete a missing chain",
    before: [addTable],
    change: [{ kind: "delete-chain", chain: "a" }],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "delete a chain with rules",
    before: [addTable, chain("a"), rule("a", { kind: "drop" })],
    change: [{ kind: "delete-chain", chain: "a" }],
    failures: [],
  },
  {
    name: "delete a chain that a rule leads to",
    before: [addTable, chain("a"), chain("b"), rule("b", goto("a"))],
    change: [{ kind: "delete-chain", chain: "a" }],
    failures: [{ operation: 0, errno: Errno.EBUSY }],
  },
  {
    name: "delete a chain that an element leads to",
    before: [addTable, chain("a"), addSet(services), add("services", service)],
    change: [{ kind: "delete-chain", chain: "a" }],
    failures: [{ operation: 0, errno: Errno.EBUSY }],
  },
  {
    name: "delete a chain behind the rule that led to it",
    before: [addTable, chain("a"), chain("b"), rule("b", goto("a"))],
    change: [{ kind: "flush-chain", chain: "b" }, { kind: "delete-chain", chain: "a" }],
    failures: [],
  },
  {
    name: "delete a chain behind the random verdict that led to it",
    before: [addTable, chain("a"), chain("b"), {
      kind: "add-rule",
      rule: { chain: "b", statements: [{ kind: "random-verdict", verdicts: [goto("a")] }] },
    }],
    change: [{ kind: "flush-chain", chain: "b" }, { kind: "delete-chain", chain: "a" }],
    failures: [],
  },
];

const rules: readonly BehaviourCase[] = [
  {
    name: "a rule of a missing chain",
    before: [addTable],
    change: [rule("a", { kind: "drop" })],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "a jump to a missing chain",
    before: [addTable, chain("a")],
    change: [rule("a", goto("b"))],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "a lookup in a missing set",
    before: [addTable, chain("a")],
    change: [lookup("a", "ips")],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "the same rule twice",
    before: [addTable, chain("a"), rule("a", { kind: "drop" })],
    change: [rule("a", { kind: "drop" })],
    failures: [],
  },
  {
    name: "several failures are all told",
    before: [addTable, chain("a")],
    change: [chain("b"), rule("a", goto("x")), rule("a", goto("b")), lookup("a", "ips")],
    failures: [{ operation: 1, errno: Errno.ENOENT }, { operation: 3, errno: Errno.ENOENT }],
  },
  {
    name: "a set asked for a verdict",
    before: [addTable, chain("a"), addSet(ips)],
    change: [{
      kind: "add-rule",
      rule: { chain: "a", statements: [{ kind: "vmap", select: ["daddr"], map: "ips" }] },
    }],
    failures: [{ operation: 0, errno: Errno.EINVAL }],
  },
];

const sets: readonly BehaviourCase[] = [
  { name: "a set twice", before: [addTable, addSet(ips)], change: [addSet(ips)], failures: [] },
  {
    name: "a set of another type",
    before: [addTable, addSet(ips)],
    change: [addSet({ ...ips, key: ["inet_service"] })],
    failures: [{ operation: 0, errno: Errno.EEXIST }],
  },
  {
    name: "delete a missing set",
    before: [addTable],
    change: [{ kind: "delete-set", set: "ips" }],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "delete a set that a rule uses",
    before: [addTable, chain("a"), addSet(ips), lookup("a", "ips")],
    change: [{ kind: "delete-set", set: "ips" }],
    failures: [{ operation: 0, errno: Errno.EBUSY }],
  },
  {
    name: "delete a set with elements",
    before: [addTable, addSet(ips), add("ips", one)],
    change: [{ kind: "delete-set", set: "ips" }],
    failures: [],
  },
  {
    name: "replace a set by one of another type",
    before: [addTable, addSet(ips), add("ips", one)],
    change: [
      { kind: "delete-set", set: "ips" },
      addSet({ name: "ips", key: ["inet_service"] }),
      add("ips", { key: [80] }),
    ],
    failures: [],
  },
  {
    name: "flush a set",
    before: [addTable, addSet(ips), add("ips", one, two)],
    change: [{ kind: "flush-set", set: "ips" }],
    failures: [],
  },
  {
    name: "flush a missing set",
    before: [addTable],
    change: [{ kind: "flush-set", set: "ips" }],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
];

const elements: readonly BehaviourCase[] = [
  {
    name: "an element of a missing set",
    before: [addTable],
    change: [add("ips", one)],
    failures: [{ operation: 0, errno: Errno.ENOENT }],
  },
  {
    name: "an element twice",
    before: [addTable, addSet(ips), add("ips", one)],
    change: [add("ips", one, two)],
    failures: [],
  },
  {
    name: "an existing element with another verdict",
    before: [addTable, chain("a"), chain("b"), addSet(services), add("services", service)],
    change: [
      add("services", { key: ["172.30.0.1", "tcp", 81], value: goto("b") }, {
        ...service,
        value: goto("b"),
      }),
    ],
    failures: [{ operation: 0, errno: Errno.EEXIST, element: 1 }],
  },
  {
    name: "an existing element with other data",
    before: [addTable, addSet(endpoints), add("endpoints", endpoint)],
    change: [add("endpoints", { ...endpoint, value: ["10.128.0.2", 80] })],
    failures: [{ operation: 0, errno: Errno.EEXIST, element: 0 }],
  },
  {
    name: "an element deleted and added with other data",
    before: [addTable, addSet(endpoints), add("endpoints", endpoint)],
    change: [
      remove("endpoints", endpoint),
      add("endpoints", { ...endpoint, value: ["10.128.0.2", 80] }),
    ],
    failures: [],
  },
  {
    name: "delete a missing element",
    before: [addTable, addSet(ips), add("ips", one)],
    change: [remove("ips", one, two)],
    failures: [{ operation: 0, errno: Errno.ENOENT, element: 1 }],
  },
  {
    name: "an element that leads to a missing chain",
    before: [addTable, addSet(services)],
    change: [add("services", service)],
    failures: [{ operation: 0, errno: Errno.ENOENT, element: 0 }],
  },
  {
    name: "an element that leads to a chain of the same batch",
    before: [addTable, addSet(services)],
    change: [chain("a"), add("services", service)],
    failures: [],
  },
  {
    name: "an element and its chain go in one batch",
    before: [addTable, chain("a"), addSet(services), add("services", service)],
    change: [remove("services", service), { kind: "delete-chain", chain: "a" }],
    failures: [],
  },
  {
    name: "no elements",
    before: [addTable, addSet(ips)],
    change: [add("ips"), chain("a")],
    failures: [],
  },
];

const intervals: readonly BehaviourCase[] = [
  {
    name: "a range twice",
    before: [addTable, addSet(ranges), add("ranges", range("192.168.0.0/24"))],
    change: [add("ranges", range("192.168.0.0/24"))],
    failures: [],
  },
  {
    name: "a range within a wider one",
    before: [addTable, addSet(ranges), add("ranges", range("192.168.0.0/16"))],
    change: [add("ranges", range("192.168.1.0/24"))],
    failures: [{ operation: 0, errno: Errno.EEXIST, element: 0 }],
  },
  {
    name: "a range around a narrower one",
    before: [addTable, addSet(ranges), add("ranges", range("192.168.1.0/24"))],
    change: [add("ranges", range("192.168.0.0/16"))],
    failures: [],
  },
  {
    // The kernel looks for the element that holds the lowest corner and deletes what it finds.
    name: "delete a range by another length that starts within it",
    before: [addTable, addSet(ranges), add("ranges", range("192.168.0.0/16"))],
    change: [remove("ranges", range("192.168.0.0/24"))],
    failures: [],
  },
  {
    name: "delete a range that none holds",
    before: [addTable, addSet(ranges), add("ranges", range("192.168.0.0/16"))],
    change: [remove("ranges", range("192.169.0.0/24"))],
    failures: [{ operation: 0, errno: Errno.ENOENT, element: 0 }],
  },
  {
    name: "delete a single-field range by another length",
    before: [addTable, addSet(trees), add("trees", { key: ["192.168.0.0/16"] })],
    change: [remove("trees", { key: ["192.168.0.0/24"] })],
    failures: [{ operation: 0, errno: Errno.ENOENT, element: 0 }],
  },
  {
    name: "a single-field range within a wider one",
    before: [addTable, addSet(trees), add("trees", { key: ["192.168.0.0/16"] })],
    change: [add("trees", { key: ["10.0.0.0/8"] }, { key: ["192.168.1.0/24"] })],
    failures: [{ operation: 0, errno: Errno.EEXIST, element: 1 }],
  },
  {
    name: "single-field ranges side by side, one deleted",
    before: [
      addTable,
      addSet(trees),
      add("trees", { key: ["10.0.0.0/9"] }, { key: ["10.128.0.0/9"] }),
    ],
    change: [remove("trees", { key: ["10.0.0.0/9"] })],
    failures: [],
  },
];

const strangeHands: readonly BehaviourCase[] = [
  {
    name: "a table is sent to sleep",
    before: [addTable, hookedChain("a")],
    change: [{ kind: "add-table", dormant: true }],
    failures: [],
  },
  {
    name: "a sleeping table is woken",
    before: [{ kind: "add-table", dormant: true }, hookedChain("a")],
    change: [addTable],
    failures: [],
  },
  {
    name: "the catch-all element of a map, beside others",
    before: [addTable, chain("a"), addSet(services)],
    change: [
      add("services", { key: [], value: goto("a") }),
      add("services", { key: ["172.30.0.1", "tcp", 80], value: { kind: "drop" } }),
    ],
    failures: [],
  },
  {
    name: "the catch-all element is deleted, and is not there a second time",
    before: [
      addTable,
      addSet(services),
      add("services", { key: [], value: { kind: "drop" }, comment: "all" }),
    ],
    change: [remove("services", { key: [] }), remove("services", { key: [] })],
    failures: [{ operation: 1, errno: Errno.ENOENT, element: 0 }],
  },
  {
    name: "the catch-all element of a set of ranges",
    before: [addTable, addSet(ranges), add("ranges", range("192.168.0.0/16"), { key: [] })],
    change: [remove("ranges", { key: [] })],
    failures: [],
  },
  {
    name: "the catch-all element of a set of single-field ranges",
    before: [addTable, addSet(trees), add("trees", { key: ["10.0.0.0/8"] }, { key: [] })],
    change: [remove("trees", { key: ["10.0.0.0/8"] })],
    failures: [],
  },
];

/** A chain that the kernel calls. */
function hookedChain(name: string): NftOperation {
  return {
    kind: "add-chain",
    chain: { name, base: { type: "filter", hook: "input", priority: 0 } },
  };
}

export const behaviourCases: readonly BehaviourCase[] = [
  ...tables,
  ...chains,
  ...rules,
  ...sets,
  ...elements,
  ...intervals,
  ...strangeHands,
];
