/** Rules of nf_tables that iptables did not write, or wrote otherwise: what is one of iptables', and what is not. */
import assert from "node:assert/strict";
import {
  BitwiseAttr,
  CmpAttr,
  CtAttr,
  ImmediateAttr,
  MetaAttr,
  PayloadAttr,
  PayloadBase,
  XtAttr,
} from "../../../../lib/kernel/nf_tables/expression_wire.ts";
import { DataAttr, VerdictAttr, VerdictCode } from "../../../../lib/kernel/nf_tables/wire.ts";
import { decodeRule } from "../../../../lib/kernel/xtables/decode_rule.ts";
import { jumpOfExpressions } from "../../../../lib/kernel/xtables/expression_parts.ts";
import { ruleText } from "../../../../lib/kernel/xtables/text.ts";
import { type Attribute, expression, expressionList } from "../nf_tables/written_attributes.ts";

type Expressions = readonly (readonly Attribute[])[];

const plain = (...bytes: readonly number[]): readonly Attribute[] => [
  [DataAttr.value, Uint8Array.from(bytes)],
];
const payload = (base: number, offset: number, length: number) =>
  expression(
    "payload",
    [PayloadAttr.into, 1],
    [PayloadAttr.base, base],
    [PayloadAttr.offset, offset],
    [PayloadAttr.length, length],
  );
const meta = (key: number) => expression("meta", [MetaAttr.key, key], [MetaAttr.into, 1]);
const cmp = (op: number, ...bytes: readonly number[]) =>
  expression("cmp", [CmpAttr.from, 1], [CmpAttr.op, op], [CmpAttr.data, plain(...bytes)]);
const masked = (mask: readonly number[], xor: readonly number[] = mask.map(() => 0)) =>
  expression(
    "bitwise",
    [BitwiseAttr.from, 1],
    [BitwiseAttr.into, 1],
    [BitwiseAttr.mask, plain(...mask)],
    [BitwiseAttr.xor, plain(...xor)],
  );
const verdict = (code: number, ...more: readonly Attribute[]) =>
  expression("immediate", [ImmediateAttr.data, [[DataAttr.verdict, [
    [VerdictAttr.code, code],
    ...more,
  ]]]]);
const drop = verdict(VerdictCode.drop);
const jump = (chain: string) => verdict(VerdictCode.jump, [VerdictAttr.chain, chain]);
const name = (text: string) => [...new TextEncoder().encode(text)];

const [eq, neq, lt] = [0, 1, 2];
const { network, transport } = PayloadBase;
const [source, destination, protocol] = [12, 16, 9];
const [mark, inInterface, outInterface, l4proto] = [3, 6, 7, 16];
const tcp = [meta(l4proto), cmp(eq, 6)];
const address = [payload(network, source, 4), cmp(eq, 10, 128, 0, 1)];
const port = [payload(transport, 2, 2), cmp(eq, 0, 80)];
const comment = expression(
  "match",
  [XtAttr.name, "comment"],
  [XtAttr.revision, 0],
  [XtAttr.info, Uint8Array.from({ length: 256 }, (_, at) => name("why")[at] ?? 0)],
);

/** Rules of iptables, as `iptables-save` prints them. */
const said: readonly (readonly [why: string, Expressions, text: string])[] = [
  ["nothing at all", [], ""],
  ["a jump", [jump("A")], "-j A"],
  ["accept", [verdict(VerdictCode.accept)], "-j ACCEPT"],
  ["return", [verdict(VerdictCode.return)], "-j RETURN"],
  ["a goto", [verdict(VerdictCode.goto, [VerdictAttr.chain, "A"])], "-g A"],
  ["a counter before the target", [expression("counter"), drop], "-j DROP"],
  ["a whole address", [...address, drop], "-s 10.128.0.1/32 -j DROP"],
  [
    "another address",
    [payload(network, destination, 4), cmp(neq, 10, 128, 0, 1), drop],
    "! -d 10.128.0.1/32 -j DROP",
  ],
  ["the bytes of a short prefix", [payload(network, source, 1), cmp(eq, 10)], "-s 10.0.0.0/8"],
  [
    "a prefix by its mask",
    [payload(network, source, 4), masked([255, 240, 0, 0]), cmp(eq, 172, 16, 0, 0)],
    "-s 172.16.0.0/12",
  ],
  [
    "any address by its mask",
    [payload(network, source, 4), masked([0, 0, 0, 0]), cmp(eq, 0, 0, 0, 0), drop],
    "-s 0.0.0.0/0 -j DROP",
  ],
  ["the protocol by what the kernel knows", [...tcp, drop], "-p tcp -j DROP"],
  [
    "the protocol by the header",
    [payload(network, protocol, 1), cmp(eq, 17), drop],
    "-p udp -j DROP",
  ],
  ["a port", [...tcp, ...port], "-p tcp -m tcp --dport 80"],
  ["a port before its protocol", [...port, ...tcp], "-p tcp -m tcp --dport 80"],
  [
    "a port before a comment",
    [...tcp, ...port, comment, drop],
    '-p tcp -m tcp --dport 80 -m comment --comment "why" -j DROP',
  ],
  ["an interface", [meta(inInterface), cmp(eq, ...name("eth0"), 0), drop], "-i eth0 -j DROP"],
  ["the beginning of one", [meta(outInterface), cmp(neq, ...name("cali"))], "! -o cali+"],
  [
    "a mark",
    [meta(mark), masked([0, 0x40, 0, 0]), cmp(neq, 0, 0x40, 0, 0), drop],
    "-m mark ! --mark 0x4000/0x4000 -j DROP",
  ],
  ["a whole mark", [meta(mark), cmp(eq, 1, 0, 0, 0x80)], "-m mark --mark 0x80000001"],
];

for (const [why, expressions, text] of said) {
  Deno.test(`decodeRule() reads ${why}: ${text}`, () => {
    const rule = decodeRule(expressionList(...expressions), "IPv4");
    assert.ok(rule, "it cannot be said");
    assert.equal(ruleText(rule, "IPv4").replace(/ --comment why/, ' --comment "why"'), text);
  });
}

/** What only nft says. */
const unsaid: readonly (readonly [why: string, Expressions])[] = [
  ["something behind the target", [drop, expression("counter")]],
  ["a load that nobody compares", [...address, payload(network, source, 4)]],
  ["two loads", [meta(mark), ...address]],
  ["a match while something is loaded", [meta(mark), comment, cmp(eq, 0, 0, 0, 1)]],
  ["a counter while something is loaded", [meta(mark), expression("counter"), cmp(eq, 0, 0, 0, 1)]],
  ["a target while something is loaded", [meta(mark), drop]],
  ["a comparison of nothing", [cmp(eq, 6)]],
  ["a mask of nothing", [masked([255, 0, 0, 0]), cmp(eq, 10, 0, 0, 0)]],
  ["a mask of another length", [
    payload(network, source, 4),
    masked([255, 0]),
    cmp(eq, 10, 0, 0, 0),
  ]],
  ["two masks", [
    payload(network, source, 4),
    masked([255, 0, 0, 0]),
    masked([255, 0, 0, 0]),
    cmp(eq, 10, 0, 0, 0),
  ]],
  ["bits that are turned", [
    payload(network, source, 4),
    masked([255, 0, 0, 0], [1, 0, 0, 0]),
    cmp(eq, 10, 0, 0, 0),
  ]],
  ["a mask with a hole", [
    payload(network, source, 4),
    masked([255, 0, 255, 0]),
    cmp(eq, 10, 0, 0, 0),
  ]],
  ["a mask with a hole in a byte", [
    payload(network, source, 4),
    masked([0b1010_0000, 0, 0, 0]),
    cmp(eq, 0, 0, 0, 0),
  ]],
  ["less than an address", [payload(network, source, 4), cmp(lt, 10, 0, 0, 0)]],
  ["an address and less", [payload(network, source, 4), cmp(eq, 10, 0)]],
  ["two sources", [...address, ...address]],
  ["two destinations", [
    payload(network, destination, 4),
    cmp(eq, 1, 1, 1, 1),
    payload(network, destination, 4),
    cmp(eq, 2, 2, 2, 2),
  ]],
  ["both addresses at once", [payload(network, source, 8), cmp(eq, 1, 1, 1, 1, 2, 2, 2, 2)]],
  ["another field of the header", [payload(network, 8, 1), cmp(eq, 64)]],
  ["a field of the link", [payload(0, 0, 2), cmp(eq, 0, 0)]],
  ["a field that is written", [
    expression("payload", [PayloadAttr.base, network]),
    cmp(eq, 10, 0, 0, 0),
  ]],
  ["a source port", [...tcp, payload(transport, 0, 2), cmp(eq, 0, 80)]],
  ["both ports", [...tcp, payload(transport, 2, 4), cmp(eq, 0, 80, 0, 80)]],
  ["a masked port", [...tcp, payload(transport, 2, 2), masked([255, 0]), cmp(eq, 0, 0)]],
  ["another port than that", [...tcp, payload(transport, 2, 2), cmp(neq, 0, 80)]],
  ["two ports", [...tcp, ...port, ...port]],
  ["a port of no protocol", [...port]],
  ["two protocols", [...tcp, ...tcp]],
  ["another protocol", [meta(l4proto), cmp(neq, 6)]],
  ["a masked protocol", [meta(l4proto), masked([1, 0, 0, 0]), cmp(eq, 1)]],
  ["a protocol that nobody knows", [meta(l4proto), cmp(eq, 250)]],
  ["a protocol of two bytes", [meta(l4proto), cmp(eq, 6, 0)]],
  ["another protocol by the header", [payload(network, protocol, 1), cmp(neq, 6)]],
  ["a masked protocol of the header", [payload(network, protocol, 1), masked([1]), cmp(eq, 0)]],
  ["a mark of two bytes", [meta(mark), cmp(eq, 1, 0)]],
  ["two interfaces", [
    meta(inInterface),
    cmp(eq, ...name("a"), 0),
    meta(inInterface),
    cmp(eq, ...name("b"), 0),
  ]],
  ["two that it leaves by", [
    meta(outInterface),
    cmp(eq, ...name("a"), 0),
    meta(outInterface),
    cmp(eq, ...name("b"), 0),
  ]],
  ["a masked interface", [meta(inInterface), masked([1, 0, 0, 0]), cmp(eq, 1, 0, 0, 0)]],
  ["one that it leaves by, masked", [
    meta(outInterface),
    masked([1, 0, 0, 0]),
    cmp(eq, 1, 0, 0, 0),
  ]],
  ["another key", [meta(1), cmp(eq, 8, 0)]],
  ["something that is set", [expression("meta", [MetaAttr.key, mark], [MetaAttr.from, 1])]],
  ["an expression that iptables does not use", [expression("ct", [CtAttr.key, 0])]],
  ["an unknown verdict", [verdict(3)]],
  ["a jump to nowhere", [verdict(VerdictCode.jump)]],
  ["a goto to nowhere", [verdict(VerdictCode.goto)]],
  ["data in place of a verdict", [expression("immediate", [ImmediateAttr.data, plain(1)])]],
  ["an unknown match", [expression("match", [XtAttr.name, "quota"], [XtAttr.revision, 0])]],
  ["an unknown target", [expression("target", [XtAttr.name, "TRACE"], [XtAttr.revision, 0])]],
];

for (const [why, expressions] of unsaid) {
  Deno.test(`decodeRule() gives no rule for ${why}`, () => {
    assert.equal(decodeRule(expressionList(...expressions), "IPv4"), undefined);
  });
}

Deno.test("decodeRule() reads addresses of IPv6 where its header has them", () => {
  const bytes = [0xfd, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
  const list = expressionList(
    payload(network, 8, 16),
    cmp(eq, ...bytes),
    payload(network, 24, 8),
    cmp(neq, ...bytes.slice(0, 8)),
    drop,
  );
  const rule = decodeRule(list, "IPv6");
  assert.ok(rule);
  assert.equal(ruleText(rule, "IPv6"), "-s fd00:102::1/128 ! -d fd00:102::/64 -j DROP");
  const tooLong = expressionList(payload(network, 8, 20), cmp(eq, ...bytes, 0, 0, 0, 0));
  assert.equal(decodeRule(tooLong, "IPv6"), undefined);
});

Deno.test("jumpOfExpressions() tells where a rule leads, whatever else it says", () => {
  const of = (...expressions: Expressions) => jumpOfExpressions(expressionList(...expressions));
  assert.equal(of(expression("ct", [CtAttr.key, 0]), jump("KUBE-SERVICES")), "KUBE-SERVICES");
  assert.equal(of(verdict(VerdictCode.goto, [VerdictAttr.chain, "A"])), "A");
  assert.equal(of(drop), undefined);
  assert.equal(of(expression("target", [XtAttr.name, "A"])), undefined);
});
