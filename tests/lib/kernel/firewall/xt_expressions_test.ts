/** Matches and targets of xtables as steps, from the bytes of their C structures. */
import assert from "node:assert/strict";
import type { FirewallExpression } from "../../../../lib/kernel/firewall/firewall.ts";
import {
  commentOf,
  matchExpressions,
  targetExpressions,
} from "../../../../lib/kernel/firewall/xt_expressions.ts";
import { makeStructure, type XtStructure } from "../../../../lib/kernel/xtables/structure.ts";

/** Numbers of a structure: where they stand, how many bytes they have, and what they are. */
type Fields = readonly (readonly [at: number, bytes: 1 | 2 | 4, value: number])[];

function structure(
  name: string,
  revision: number,
  bytes: number,
  fields: Fields = [],
): XtStructure {
  return makeStructure({ name, revision, bytes }, (view) => {
    for (const [at, size, value] of fields) {
      if (size === 1) view.setUint8(at, value);
      else if (size === 2) view.setUint16(at, value, true);
      else view.setUint32(at, value, true);
    }
  });
}

const load = (base: "network" | "transport", offset: number, length: number) => ({
  kind: "payload",
  base,
  offset,
  length,
  into: 1,
} as const);
const port = (number: number) => Uint8Array.of(number >> 8, number & 255);
const host = (number: number) => Uint8Array.of(number, 0, 0, 0);
const range = (first: number, last: number, not = false) =>
  ({ kind: "range", from: 1, not, first: port(first), last: port(last) }) as const;
const cmp = (value: Uint8Array, op: number) => ({ kind: "cmp", from: 1, op, value }) as const;
const [eq, neq] = [0, 1];

/** Any source port, and these destinations. */
const destination = (first: number, last: number): Fields => [
  [2, 2, 0xffff],
  [4, 2, first],
  [6, 2, last],
];
const allPorts = destination(0, 0xffff);

function lookup(
  ranges: readonly (readonly [first: Uint8Array, last: Uint8Array])[],
  not: boolean,
): readonly FirewallExpression[] {
  const elements = ranges.map(([first, last]) => ({ first, last }));
  const set = { name: "", fieldBytes: [ranges[0][0].length], elements };
  return [{ kind: "lookup", set, setName: "", from: 1, not }];
}

const stateMask = (bits: number) =>
  ({ kind: "bitwise", from: 1, into: 1, mask: host(bits), xor: new Uint8Array(4) }) as const;
const state = { kind: "ct", key: 0, into: 1 } as const;

const matches: readonly (readonly [
  name: string,
  structure: XtStructure,
  steps: readonly FirewallExpression[],
])[] = [
  ["a comment", structure("comment", 0, 256), [{ kind: "passive", what: "comment" }]],
  ["any port of TCP", structure("tcp", 0, 12, allPorts), []],
  [
    "destination ports of TCP",
    structure("tcp", 0, 12, destination(80, 90)),
    [load("transport", 2, 2), range(80, 90)],
  ],
  [
    "one port and all above it",
    structure("tcp", 0, 12, destination(80, 0xffff)),
    [load("transport", 2, 2), range(80, 0xffff)],
  ],
  [
    "not a source port, nor a destination port",
    structure("tcp", 0, 12, [[0, 2, 22], [2, 2, 22], [4, 2, 53], [6, 2, 53], [11, 1, 3]]),
    [load("transport", 0, 2), range(22, 22, true), load("transport", 2, 2), range(53, 53, true)],
  ],
  [
    "no destination port at all",
    structure("tcp", 0, 12, [...allPorts, [11, 1, 2]]),
    [load("transport", 2, 2), range(0, 0xffff, true)],
  ],
  [
    "flags of TCP",
    structure("tcp", 0, 12, [...allPorts, [9, 1, 0x17], [10, 1, 0x02]]),
    [
      load("transport", 13, 1),
      { kind: "bitwise", from: 1, into: 1, mask: Uint8Array.of(0x17), xor: Uint8Array.of(0) },
      cmp(Uint8Array.of(0x02), eq),
    ],
  ],
  [
    "other flags, and an option",
    structure("tcp", 0, 12, [...allPorts, [8, 1, 2], [9, 1, 0x17], [10, 1, 0x02], [11, 1, 4]]),
    [
      load("transport", 13, 1),
      { kind: "bitwise", from: 1, into: 1, mask: Uint8Array.of(0x17), xor: Uint8Array.of(0) },
      cmp(Uint8Array.of(0x02), neq),
      { kind: "match-unknown", what: "a TCP option" },
    ],
  ],
  [
    "a port of UDP, turned round",
    structure("udp", 0, 10, [...destination(53, 53), [8, 1, 2]]),
    [load("transport", 2, 2), range(53, 53, true)],
  ],
  [
    "a port of UDP-Lite",
    structure("udplite", 0, 10, destination(53, 53)),
    [load("transport", 2, 2), range(53, 53)],
  ],
  [
    "several ports, one a range",
    structure("multiport", 1, 48, [
      [0, 1, 1],
      [1, 1, 3],
      [2, 2, 80],
      [4, 2, 100],
      [6, 2, 200],
      [33, 1, 1],
    ]),
    [load("transport", 2, 2), ...lookup([[port(80), port(80)], [port(100), port(200)]], false)],
  ],
  [
    "source ports, turned round",
    structure("multiport", 1, 48, [[0, 1, 0], [1, 1, 1], [2, 2, 80], [47, 1, 1]]),
    [load("transport", 0, 2), ...lookup([[port(80), port(80)]], true)],
  ],
  [
    "more ports than there is room for, the last with a mark of a range",
    structure("multiport", 1, 48, [[0, 1, 1], [1, 1, 99], [30, 2, 7], [46, 1, 1]]),
    [
      load("transport", 2, 2),
      ...lookup([
        ...Array.from({ length: 14 }, () => [port(0), port(0)] as const),
        [port(7), port(7)],
      ], false),
    ],
  ],
  [
    "no port at all",
    structure("multiport", 1, 48, [[0, 1, 1]]),
    [load("transport", 2, 2), {
      kind: "lookup",
      set: { name: "", fieldBytes: [1], elements: [] },
      setName: "",
      from: 1,
      not: false,
    }],
  ],
  [
    "ports of either side",
    structure("multiport", 1, 48, [[0, 1, 2]]),
    [{ kind: "match-unknown", what: "ports of either side" }],
  ],
  [
    "established and related",
    structure("conntrack", 3, 164, [[146, 2, 0x2001], [150, 2, 6]]),
    [state, stateMask(6), cmp(new Uint8Array(4), neq)],
  ],
  ...["ah", "dst", "frag", "hbh", "mh", "rt"].map((name) =>
    [`a header between that is not there: ${name}`, structure(name, 0, 40, [[0, 4, 1]]), [{
      kind: "lookup",
      set: { name: "", fieldBytes: [1], elements: [] },
      setName: "",
      from: 1,
      not: false,
    }]] as const
  ),
  [
    "not new, in the first form",
    structure("conntrack", 1, 154, [[146, 2, 1], [148, 2, 1], [150, 1, 8], [151, 1, 0xff]]),
    [state, stateMask(8), cmp(new Uint8Array(4), eq)],
  ],
  [
    "untracked, and what was translated",
    structure("conntrack", 2, 156, [[146, 2, 1], [150, 2, 0x1c0]]),
    [state, stateMask(64), cmp(new Uint8Array(4), neq)],
  ],
  [
    "something else of a connection",
    structure("conntrack", 3, 164, [[146, 2, 3]]),
    [{ kind: "match-unknown", what: 'match "conntrack"' }],
  ],
  [
    "the older match of states",
    structure("state", 0, 4, [[0, 4, 8]]),
    [state, stateMask(8), cmp(new Uint8Array(4), neq)],
  ],
  [
    "a destination that is the node's",
    structure("addrtype", 1, 8, [[2, 2, 1 << 2]]),
    [{ kind: "fib", result: 3, flags: 2, into: 1 }, ...lookup([[host(2), host(2)]], false)],
  ],
  [
    "both addresses, the source turned round",
    structure("addrtype", 1, 8, [[0, 2, 1 << 1], [2, 2, 1 << 2 | 1 << 3], [4, 4, 1]]),
    [
      { kind: "fib", result: 3, flags: 1, into: 1 },
      ...lookup([[host(1), host(1)]], true),
      { kind: "fib", result: 3, flags: 2, into: 1 },
      ...lookup([[host(2), host(2)], [host(3), host(3)]], false),
    ],
  ],
  [
    "both addresses, the destination turned round",
    structure("addrtype", 1, 8, [[0, 2, 1 << 1], [2, 2, 1 << 2], [4, 4, 2]]),
    [
      { kind: "fib", result: 3, flags: 1, into: 1 },
      ...lookup([[host(1), host(1)]], false),
      { kind: "fib", result: 3, flags: 2, into: 1 },
      ...lookup([[host(2), host(2)]], true),
    ],
  ],
  [
    "the destination turned round",
    structure("addrtype", 1, 8, [[2, 2, 1 << 15], [4, 4, 2]]),
    [{ kind: "fib", result: 3, flags: 2, into: 1 }, ...lookup([[host(15), host(15)]], true)],
  ],
  [
    "an address on an interface",
    structure("addrtype", 1, 8, [[2, 2, 4], [4, 4, 4]]),
    [{ kind: "match-unknown", what: 'match "addrtype"' }],
  ],
  [
    "the elder form, the source turned round",
    structure("addrtype", 0, 12, [[0, 2, 4], [4, 4, 1]]),
    [{ kind: "fib", result: 3, flags: 1, into: 1 }, ...lookup([[host(2), host(2)]], true)],
  ],
  [
    "the elder form, the destination turned round",
    structure("addrtype", 0, 12, [[2, 2, 4], [8, 4, 1]]),
    [{ kind: "fib", result: 3, flags: 2, into: 1 }, ...lookup([[host(2), host(2)]], true)],
  ],
  [
    "a mark",
    structure("mark", 1, 12, [[0, 4, 0x4000], [4, 4, 0xff00]]),
    [{ kind: "match-mark", value: 0x4000, mask: 0xff00, not: false }],
  ],
  [
    "another mark",
    structure("mark", 1, 12, [[0, 4, 1], [4, 4, 1], [8, 1, 1]]),
    [{ kind: "match-mark", value: 1, mask: 1, not: true }],
  ],
  [
    "broadcasts",
    structure("pkttype", 0, 8, [[0, 4, 1]]),
    [{ kind: "meta", key: 19, into: 1 }, cmp(Uint8Array.of(1), eq)],
  ],
  [
    "no broadcasts",
    structure("pkttype", 0, 8, [[0, 4, 1], [4, 4, 1]]),
    [{ kind: "meta", key: 19, into: 1 }, cmp(Uint8Array.of(1), neq)],
  ],
  [
    "a range of destinations, turned round",
    structure("iprange", 1, 68, [[32, 1, 10], [35, 1, 1], [48, 1, 10], [51, 1, 9], [64, 1, 0x22]]),
    [load("network", 16, 4), {
      kind: "range",
      from: 1,
      not: true,
      first: Uint8Array.of(10, 0, 0, 1),
      last: Uint8Array.of(10, 0, 0, 9),
    }],
  ],
  [
    "an unknown match",
    structure("recent", 0, 240),
    [{ kind: "match-unknown", what: 'match "recent"' }],
  ],
  [
    "an unknown revision",
    structure("tcp", 1, 12),
    [{ kind: "match-unknown", what: 'match "tcp"' }],
  ],
];

for (const [name, of, steps] of matches) {
  Deno.test(`matchExpressions(): ${name}`, () => {
    assert.deepEqual(matchExpressions(of, "IPv4"), steps);
  });
}

Deno.test("matchExpressions(): a range of sources in IPv6", () => {
  const bytes = Uint8Array.from({ length: 65 }, (_, at) => at);
  bytes[64] = 1;
  assert.deepEqual(matchExpressions({ name: "iprange", revision: 1, info: bytes }, "IPv6"), [
    load("network", 8, 16),
    { kind: "range", from: 1, not: false, first: bytes.slice(0, 16), last: bytes.slice(16, 32) },
  ]);
});

/** The least bytes of each structure that is read. */
const sizes: Readonly<Record<string, number>> = {
  "tcp 0": 12,
  "udp 0": 9,
  "multiport 1": 48,
  "conntrack 1": 154,
  "conntrack 2": 154,
  "conntrack 3": 154,
  "state 0": 4,
  "addrtype 0": 12,
  "addrtype 1": 8,
  "mark 1": 9,
  "pkttype 0": 8,
  "iprange 1": 65,
};

for (const [key, bytes] of Object.entries(sizes)) {
  Deno.test(`matchExpressions() calls a cut structure "${key}" unknown`, () => {
    const [name, revision] = key.split(" ");
    const asked: Fields = name === "conntrack" ? [[146, 2, 1]] : [];
    const stepsOf = (size: number) =>
      matchExpressions(structure(name, Number(revision), size, size < 148 ? [] : asked), "IPv4");
    const unknown = [{ kind: "match-unknown", what: `match "${name}"` }];
    assert.deepEqual(stepsOf(bytes - 1), unknown);
    assert.deepEqual(stepsOf(0), unknown);
    assert.notDeepEqual(stepsOf(bytes), unknown);
  });
}

const unknownMark = (what: string): readonly FirewallExpression[] => [
  { kind: "load-unknown", what, into: 1 },
  { kind: "set-meta", key: 3, from: 1 },
];

const targets: readonly (readonly [XtStructure, readonly FirewallExpression[]])[] = [
  [structure("REJECT", 0, 4), [{ kind: "reject" }]],
  [
    structure("MARK", 2, 8, [[0, 4, 0x4000], [4, 4, 0x4000]]),
    [{ kind: "set-mark", value: 0x4000, mask: 0x4000 }],
  ],
  [structure("MARK", 2, 7), unknownMark("MARK")],
  [structure("MARK", 1, 8), unknownMark("MARK")],
  [structure("CONNMARK", 1, 16, [[12, 1, 1]]), [{ kind: "passive", what: "CONNMARK" }]],
  [structure("CONNMARK", 1, 16, [[12, 1, 2]]), unknownMark("CONNMARK")],
  [structure("CONNMARK", 2, 16, [[12, 1, 2]]), [{ kind: "passive", what: "CONNMARK" }]],
  [structure("CONNMARK", 2, 16, [[14, 1, 2]]), unknownMark("CONNMARK")],
  [structure("CONNMARK", 1, 12), unknownMark("CONNMARK")],
  ...["DNAT", "MASQUERADE", "NETMAP", "REDIRECT", "SNAT"].map((what) =>
    [structure(what, 0, 4), [{ kind: "translate", what }]] as const
  ),
  [structure("LOG", 0, 4), [{ kind: "passive", what: "LOG" }]],
  [structure("TPROXY", 0, 4), [{ kind: "decide-unknown", what: "target TPROXY" }]],
];

for (const [of, steps] of targets) {
  Deno.test(`targetExpressions(): ${of.name} ${of.revision} of ${of.info.length} bytes`, () => {
    assert.deepEqual(targetExpressions(of, "IPv4"), steps);
  });
}

/** Where the addresses stand: 10.0.0.1 and 10.0.0.2 of IPv4, and fd…01 and fd…02 of IPv6. */
const first = (at: number): Fields => [[at, 1, 10], [at + 3, 1, 1]];
const last = (at: number): Fields => [[at, 1, 10], [at + 3, 1, 2]];
const long = (at: number, end: number): Fields => [[at, 1, 0xfd], [at + 15, 1, end]];
const from10 = { first: Uint8Array.of(10, 0, 0, 1), last: Uint8Array.of(10, 0, 0, 2) };
const fromFd = {
  first: Uint8Array.of(0xfd, ...Array<number>(14).fill(0), 1),
  last: Uint8Array.of(0xfd, ...Array<number>(14).fill(0), 2),
};
const mapsAddresses = 1;

const translations: readonly (readonly [string, XtStructure, "IPv4" | "IPv6", unknown])[] = [
  [
    "the first form, of IPv4 alone",
    structure("SNAT", 0, 20, [[0, 4, 1], [4, 4, mapsAddresses], ...first(8), ...last(12)]),
    "IPv4",
    from10,
  ],
  [
    "a later form with IPv4",
    structure("SNAT", 1, 40, [[0, 4, mapsAddresses], ...first(4), ...last(20)]),
    "IPv4",
    from10,
  ],
  [
    "a later form with IPv6",
    structure("DNAT", 2, 44, [[0, 4, mapsAddresses], ...long(4, 1), ...long(20, 2)]),
    "IPv6",
    fromFd,
  ],
  [
    "ports alone",
    structure("SNAT", 0, 20, [[0, 4, 1], [4, 4, 2], ...first(8), ...last(12)]),
    "IPv4",
    undefined,
  ],
  ["a torn one", structure("DNAT", 2, 30, [[0, 4, mapsAddresses]]), "IPv6", undefined],
];

for (const [name, of, family, to] of translations) {
  Deno.test(`targetExpressions() knows to which addresses it translates: ${name}`, () => {
    const step = { kind: "translate", what: of.name, ...(to ? { to } : {}) };
    assert.deepEqual(targetExpressions(of, family), [step]);
  });
}

Deno.test("commentOf() reads a comment, and nothing of another match", () => {
  const info = new TextEncoder().encode("why\0\0\0");
  assert.equal(commentOf({ name: "comment", revision: 0, info }), "why");
  assert.equal(commentOf({ name: "tcp", revision: 0, info }), undefined);
});
