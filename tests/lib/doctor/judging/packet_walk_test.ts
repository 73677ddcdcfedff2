/** Small rulesets by hand; random ones against packets are in tests/kernel/doctor. */
import assert from "node:assert/strict";
import { type PacketFate, walkInput } from "../../../../lib/doctor/judging/packet_walk.ts";
import type {
  FirewallChain,
  FirewallElement,
  FirewallExpression,
  FirewallTable,
} from "../../../../lib/kernel/firewall/firewall.ts";
import { chain, nftTable, rule, toPort, verdict } from "../cases/node_facts.ts";

const accept = verdict("accept");
const drop = verdict("drop");
const maybe: FirewallExpression = { kind: "match-unknown", what: "luck" };
const mark = (value: number): FirewallExpression => ({ kind: "set-mark", value, mask: 0xffffffff });
const isMarked = (value: number, not = false): FirewallExpression => ({
  kind: "match-mark",
  value,
  mask: 0xffffffff,
  not,
});
const port = (value: number) => Uint8Array.of(value >> 8, value & 0xff);
const loadPort: FirewallExpression = {
  kind: "payload",
  base: "transport",
  offset: 2,
  length: 2,
  into: 1,
};
function lookup(
  elements: readonly FirewallElement[],
  rest: { readonly into?: number; readonly not?: boolean; readonly fieldBytes?: number[] } = {},
): FirewallExpression {
  const { fieldBytes = [2], into, not = false } = rest;
  return {
    kind: "lookup",
    set: { name: "s", fieldBytes, elements },
    setName: "s",
    from: 1,
    not,
    ...(into !== undefined && { into }),
  };
}
const one = (value: number, rest: Partial<FirewallElement> = {}): FirewallElement => ({
  first: port(value),
  last: port(value),
  ...rest,
});
const cmp = (value: readonly number[], op = 0): FirewallExpression => ({
  kind: "cmp",
  from: 1,
  op,
  value: Uint8Array.from(value),
});
const meta = (key: number): FirewallExpression => ({ kind: "meta", key, into: 1 });
const ct = (key: number): FirewallExpression => ({ kind: "ct", key, into: 1 });
const network = (offset: number, length: number): FirewallExpression => ({
  kind: "payload",
  base: "network",
  offset,
  length,
  into: 1,
});

type Rules = readonly (readonly FirewallExpression[])[];
const input = (rules: Rules, policy: "accept" | "drop" = "accept", priority = 0) =>
  chain(`in${priority}`, rules.map((each) => rule(...each)), { policy, priority });
const jumped = (name: string, rules: Rules) => chain(name, rules.map((each) => rule(...each)));

function walk(
  chains: readonly FirewallChain[],
  rest: { readonly family?: "IPv4" | "IPv6"; readonly table?: Partial<FirewallTable> } = {},
): PacketFate {
  const { family = "IPv4", table } = rest;
  const isIPv4 = family === "IPv4";
  return walkInput([nftTable("inet t", chains, table)], {
    family,
    source: isIPv4 ? "203.0.113.77" : "2001:db8::77",
    destination: isIPv4 ? "192.168.1.1" : "fd00::1",
    protocol: "tcp",
    destinationPort: 30080,
    inInterface: "eth0",
  }, { ignores: (name) => name === "ignored", ignoresTable: () => false });
}

const rows: readonly (readonly [string, readonly FirewallChain[], PacketFate["kind"]])[] = [
  ["no chain", [], "accepted"],
  ["a policy", [input([], "drop")], "stopped"],
  ["a rule before the policy", [input([[accept]], "drop")], "accepted"],
  ["the first verdict counts", [input([[drop], [accept]])], "stopped"],
  ["a rule for the port", [input([[...toPort(30080), drop]])], "stopped"],
  ["a rule for another port", [input([[...toPort(30081), drop]])], "accepted"],
  ["reject", [input([[{ kind: "reject" }]])], "stopped"],
  ["a translation accepts", [input([[{ kind: "translate", what: "SNAT" }], [drop]])], "accepted"],
  [
    "what counts decides nothing",
    [input([[{ kind: "passive", what: "counter" }], [drop]])],
    "stopped",
  ],
  ["a later chain stops", [input([[accept]]), input([[drop]], "accept", 5)], "stopped"],
  ["a drop is final", [input([[drop]], "accept", -5), input([[accept]])], "stopped"],
  ["a jump comes back", [input([[verdict("b")], [drop]]), jumped("b", [])], "stopped"],
  ["a jump may decide", [input([[verdict("b")], [drop]]), jumped("b", [[accept]])], "accepted"],
  [
    "return goes back to the jump",
    [input([[verdict("b")], [accept]], "drop"), jumped("b", [[verdict("return")], [drop]])],
    "accepted",
  ],
  [
    "a packet that went back has the mark that it had there",
    [
      input([[verdict("b")], [isMarked(1), accept]], "drop"),
      jumped("b", [[maybe, verdict("return")], [mark(1)], [drop]]),
    ],
    "stopped",
  ],
  [
    "one that may have gone back with either mark may be let in",
    [
      input([[verdict("b")], [isMarked(1), accept]], "drop"),
      jumped("b", [[maybe, verdict("return")], [mark(1)]]),
    ],
    "untold",
  ],
  [
    "return in the first chain is its policy",
    [input([[verdict("return")], [accept]], "drop")],
    "stopped",
  ],
  [
    "goto does not come back",
    [
      input([[{ kind: "verdict", verdict: { kind: "goto", chain: "b" } }], [accept]], "drop"),
      jumped("b", []),
    ],
    "stopped",
  ],
  ["continue goes on", [input([[verdict("continue")], [drop]])], "stopped"],
  [
    "an ignored chain is empty",
    [input([[verdict("ignored")]]), jumped("ignored", [[drop]])],
    "accepted",
  ],
  ["a chain that is not there", [input([[verdict("gone")], [drop]])], "stopped"],
  ["a rule that may drop", [input([[maybe, drop]])], "untold"],
  ["a rule that may accept before a drop", [input([[maybe, accept], [drop]])], "untold"],
  ["a rule that may accept before an accept", [input([[maybe, accept]])], "accepted"],
  ["a rule that may drop before a drop", [input([[maybe, drop], [drop]])], "stopped"],
  [
    "a doubt, and then a certain drop",
    [input([[maybe, drop]]), input([[drop]], "accept", 5)],
    "stopped",
  ],
  [
    "a rule that decides we know not how",
    [input([[{ kind: "decide-unknown", what: "queue" }]])],
    "untold",
  ],
  ["a doubt that fails otherwise", [input([[...toPort(1), maybe, drop]])], "accepted"],
  ["the mark is 0", [input([[isMarked(0), drop]])], "stopped"],
  ["a mark", [input([[mark(5)], [isMarked(5), drop]])], "stopped"],
  ["another mark", [input([[mark(5)], [isMarked(4), drop]])], "accepted"],
  ["not a mark", [input([[mark(5)], [isMarked(4, true), drop]])], "stopped"],
  ["a mark that may be", [input([[maybe, mark(5)], [isMarked(5), drop]])], "untold"],
  [
    "a mark in the next chain",
    [input([[mark(5)]]), input([[isMarked(5), drop]], "accept", 5)],
    "stopped",
  ],
  [
    "chains in the order of their priorities",
    [input([[isMarked(5), drop]], "accept", 5), input([[mark(5)]])],
    "stopped",
  ],
  [
    "a mark after one of two ways",
    [
      input([[verdict("b")], [isMarked(5), drop]]),
      jumped("b", [[maybe, verdict("return")], [mark(5)]]),
    ],
    "untold",
  ],
  [
    "a mark at which it was accepted",
    [input([[mark(5)], [maybe, accept], [mark(6)]]), input([[isMarked(6), drop]], "accept", 5)],
    "untold",
  ],
  [
    "a mark that was set from a register",
    [input([
      [{ kind: "immediate", into: 1, value: Uint8Array.of(5, 0, 0, 0) }, {
        kind: "set-meta",
        key: 3,
        from: 1,
      }],
      [meta(3), cmp([5, 0, 0, 0]), drop],
    ])],
    "stopped",
  ],
  ["protocol", [input([[meta(16), cmp([6]), drop]])], "stopped"],
  ["another protocol", [input([[meta(16), cmp([17]), drop]])], "accepted"],
  ["family", [input([[meta(15), cmp([2]), drop]])], "stopped"],
  ["ethertype", [input([[meta(1), cmp([8, 0]), drop]])], "stopped"],
  ["interface", [input([[meta(6), cmp([101, 116, 104, 48, 0]), drop]])], "stopped"],
  ["beginning of the interface", [input([[meta(6), cmp([101, 116, 104]), drop]])], "stopped"],
  ["another interface", [input([[meta(6), cmp([108, 111, 0]), drop]])], "accepted"],
  ["who sends it", [input([[meta(10), cmp([0, 0, 0, 0]), drop]])], "untold"],
  ["a packet for this host", [input([[meta(19), cmp([0]), drop]])], "stopped"],
  ["source", [input([[network(12, 4), cmp([203, 0, 113, 77]), drop]])], "stopped"],
  [
    "both addresses",
    [input([[network(12, 8), cmp([203, 0, 113, 77, 192, 168, 1, 1]), drop]])],
    "stopped",
  ],
  ["time to live", [input([[network(8, 1), cmp([64]), drop]])], "untold"],
  ["a fragment", [input([[
    network(6, 2),
    {
      kind: "bitwise",
      from: 1,
      into: 1,
      mask: Uint8Array.of(0x1f, 0xff),
      xor: Uint8Array.of(0, 0),
    },
    cmp([0, 0], 1),
    drop,
  ]])], "accepted"],
  ["flags of TCP", [input([[
    { ...loadPort, offset: 13, length: 1 } as FirewallExpression,
    { kind: "bitwise", from: 1, into: 1, mask: Uint8Array.of(0x17), xor: Uint8Array.of(0) },
    cmp([2]),
    drop,
  ]])], "stopped"],
  [
    "source port",
    [input([[{ ...loadPort, offset: 0 } as FirewallExpression, cmp([0, 80]), drop]])],
    "untold",
  ],
  [
    "behind the header",
    [input([[{ ...loadPort, offset: 40 } as FirewallExpression, drop]])],
    "accepted",
  ],
  ["another header", [
    input([[{ ...loadPort, base: "other" } as FirewallExpression, cmp([1]), drop]]),
  ], "untold"],
  ["a port below", [input([[loadPort, cmp([0x75, 0x81], 2), drop]])], "stopped"],
  ["a port not below", [input([[loadPort, cmp([0x75, 0x80], 2), drop]])], "accepted"],
  ["a port at most", [input([[loadPort, cmp([0x75, 0x80], 3), drop]])], "stopped"],
  ["a port above", [input([[loadPort, cmp([0x75, 0x80], 4), drop]])], "accepted"],
  ["a port at least", [input([[loadPort, cmp([0x75, 0x80], 5), drop]])], "stopped"],
  ["a new connection", [input([[ct(0), cmp([8, 0, 0, 0]), drop]])], "stopped"],
  ["an established one", [input([[ct(0), cmp([2, 0, 0, 0]), drop]])], "accepted"],
  ["translated", [input([[
    ct(2),
    {
      kind: "bitwise",
      from: 1,
      into: 1,
      mask: Uint8Array.of(0x20, 0, 0, 0),
      xor: new Uint8Array(4),
    },
    cmp([0, 0, 0, 0], 1),
    drop,
  ]])], "accepted"],
  ["its port by conntrack", [input([[ct(12), cmp([0x75, 0x80]), drop]])], "stopped"],
  ["its mark by conntrack", [input([[ct(3), cmp([1, 0, 0, 0]), drop]])], "untold"],
  [
    "local",
    [input([[{ kind: "fib", result: 3, flags: 2, into: 1 }, cmp([2, 0, 0, 0]), drop]])],
    "stopped",
  ],
  ["its way back", [
    input([[{ kind: "fib", result: 1, flags: 9, into: 1 }, cmp([0, 0, 0, 0]), drop]]),
  ], "untold"],
  [
    "at random",
    [input([[{ kind: "load-unknown", what: "numgen", into: 1 }, cmp([1]), drop]])],
    "untold",
  ],
  ["a range of ports", [input([[loadPort, {
    kind: "range",
    from: 1,
    not: false,
    first: port(30000),
    last: port(32767),
  }, drop]])], "stopped"],
  ["not a range of ports", [input([[loadPort, {
    kind: "range",
    from: 1,
    not: true,
    first: port(30000),
    last: port(32767),
  }, drop]])], "accepted"],
  ["in a set", [input([[loadPort, lookup([one(22), one(30080)]), drop]])], "stopped"],
  ["not in a set", [input([[loadPort, lookup([one(22)]), drop]])], "accepted"],
  [
    "not in a set, as is asked",
    [input([[loadPort, lookup([one(22)], { not: true }), drop]])],
    "stopped",
  ],
  ["in a range of a set", [
    input([[loadPort, lookup([{ first: port(30000), last: port(31000) }]), drop]]),
  ], "stopped"],
  ["a verdict of a map", [input([[
    loadPort,
    lookup([
      one(22, { verdict: { kind: "accept" } }),
      one(30080, { verdict: { kind: "drop" } }),
    ], { into: 0 }),
  ]])], "stopped"],
  ["none of a map", [
    input([[loadPort, lookup([one(22, { verdict: { kind: "drop" } })], { into: 0 })]]),
  ], "accepted"],
  ["the rest of a map", [input([[
    loadPort,
    lookup([
      one(22, { verdict: { kind: "accept" } }),
      { ...one(0), isCatchAll: true, verdict: { kind: "drop" } },
    ], { into: 0 }),
  ]])], "stopped"],
  ["one of a map's", [input([[
    { kind: "load-unknown", what: "numgen", into: 1 },
    lookup([one(1, { verdict: { kind: "drop" } }), one(2, { verdict: { kind: "accept" } })], {
      into: 0,
    }),
  ]])], "untold"],
  ["a value of a map", [input([[
    loadPort,
    lookup([
      one(30080, { value: Uint8Array.of(5, 0, 0, 0) }),
    ], { into: 2 }),
    { kind: "set-meta", key: 3, from: 2 },
  ], [isMarked(5), drop]])], "stopped"],
  ["two fields, both right", [input([[
    meta(16),
    { ...loadPort, into: 9 },
    lookup([{
      first: Uint8Array.of(6, 0, 0, 0, 0x75, 0x80, 0, 0),
      last: Uint8Array.of(6, 0, 0, 0, 0x75, 0x80, 0, 0),
    }], { fieldBytes: [4, 4] }),
    drop,
  ]])], "stopped"],
  ["two fields, one wrong", [input([[
    meta(16),
    { ...loadPort, into: 9 },
    lookup([{
      first: Uint8Array.of(17, 0, 0, 0, 0x75, 0x80, 0, 0),
      last: Uint8Array.of(17, 0, 0, 0, 0x75, 0x80, 0, 0),
    }], { fieldBytes: [4, 4] }),
    drop,
  ]])], "accepted"],
  ["a set that was not read", [input([[loadPort, {
    kind: "lookup",
    set: undefined,
    setName: "big",
    from: 1,
    not: false,
  }, drop]])], "untold"],
  [
    "rules that were not read",
    [input([[verdict("b")]]), { ...chain("b"), rules: undefined }],
    "untold",
  ],
];

for (const [name, chains, kind] of rows) {
  Deno.test(`walkInput(): ${name}`, () => {
    const fate = walk(chains);
    assert.equal(fate.kind, kind, JSON.stringify(fate));
  });
}

Deno.test("walkInput() leaves tables of others and dormant ones out", () => {
  const dropping = [input([], "drop")];
  assert.equal(walk(dropping, { table: { isDormant: true } }).kind, "accepted");
  assert.equal(walk(dropping, { table: { family: "ip6" } }).kind, "accepted");
  assert.equal(walk(dropping, { table: { family: "ip6" }, family: "IPv6" }).kind, "stopped");
  assert.equal(walk(dropping, { family: "IPv6" }).kind, "stopped");
  assert.equal(walk([chain("f", [], { hook: "forward", policy: "drop" })]).kind, "accepted");
});

Deno.test("walkInput() reads the header of IPv6", () => {
  const source = [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 0x77];
  const chains = [input([[network(8, 16), cmp(source), drop]])];
  assert.equal(walk(chains, { family: "IPv6" }).kind, "stopped");
  assert.equal(
    walk([input([[network(6, 1), cmp([6]), drop]])], { family: "IPv6" }).kind,
    "stopped",
  );
});

Deno.test("walkInput() names where a packet is stopped, and what was not understood", () => {
  const place = "table inet t, chain in0, handle 4";
  assert.deepEqual(walk([input([], "drop")]), {
    kind: "stopped",
    by: "table inet t, chain in0, policy drop",
    at: { table: nftTable("inet t", [input([], "drop")]), chain: "in0" },
  });
  const stopped = walk([input([[drop]])]);
  assert.equal(stopped.kind === "stopped" && stopped.by, place);
  assert.deepEqual(walk([input([[maybe, drop]])]), { kind: "untold", because: `${place}: luck` });
});

Deno.test("walkInput() gives up where chains lead to each other in circles", () => {
  const circle = [input([[verdict("b")]]), jumped("b", [[verdict("b")]])];
  assert.equal(walk(circle).kind, "untold");
});
