import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { parseRule } from "../../../../lib/kernel/xtables/parse.ts";
import { chanceOf, type XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import {
  changeOfLine,
  changesPieces,
  changesText,
  ruleText,
} from "../../../../lib/kernel/xtables/text.ts";
import { sampleRules } from "./sample_rules.ts";

for (const family of ipFamilies) {
  Deno.test(`ruleText() says a rule as iptables-save does, ${family}`, () => {
    for (const { name, rule, text } of sampleRules(family)) {
      assert.equal(ruleText(rule, family), text, name);
    }
  });

  Deno.test(`parseRule() reads what iptables-save says, ${family}`, () => {
    for (const { name, rule, text } of sampleRules(family)) {
      const { key, rule: read } = parseRule(text, family);
      assert.deepEqual({ key, read }, { key: text, read: rule }, name);
    }
  });
}

Deno.test("parseRule() leaves what our language lacks unread, and knows where it leads", () => {
  const foreign: readonly (readonly [text: string, jump: string | undefined])[] = [
    ["-p icmp -j DROP", "DROP"],
    ["-p tcp -m tcp --sport 80 -j CNI-1", "CNI-1"],
    ["-p tcp -m tcp --dport 80:90 -j CNI-1", "CNI-1"],
    ["-p tcp -m tcp ! --dport 80 -j CNI-1", "CNI-1"],
    ["! -p tcp -j CNI-1", "CNI-1"],
    ["-s 10.0.0.1/255.255.255.1 -j CNI-1", "CNI-1"],
    ["-s fd00::/8 -j CNI-1", "CNI-1"],
    ["-m statistic --mode nth --every 2 --packet 0 -j CNI-1", "CNI-1"],
    ["-m recent --update --seconds 5 --name a --mask 255.255.255.255 --rsource -j X", "X"],
    ["-m recent --rcheck --seconds 5 --name a --mask 255.255.255.255 --rsource -j X", "X"],
    ["-m recent --set --name a --mask 255.255.255.0 --rsource -j X", "X"],
    ["-m recent --set --name a --mask 255.255.255.255 --rdest -j X", "X"],
    ["-m conntrack --ctstate NEW --ctproto 6 -j X", "X"],
    ["-m addrtype --dst-type BROADCAST -j X", "X"],
    ["-m addrtype --dst-type LOCAL --limit-iface-in -j X", "X"],
    ["-m set --match-set KUBE-CLUSTER-IP dst,dst --return-nomatch -j X", "X"],
    ["-m set --match-set KUBE-CLUSTER-IP dst,any -j X", "X"],
    ["-m set --match-set KUBE-CLUSTER-IP dst,dst,dst,dst -j X", "X"],
    ["-m physdev --physdev-in eth0 -j X", "X"],
    ["-m ipvs --ipvs -j X", "X"],
    ["-m ipvs --vproto 1 --vaddr 10.0.0.1 --vport 80 -j X", "X"],
    ["-m ipvs --vproto 6 --vaddr fd00::1 --vport 80 -j X", "X"],
    ["-m ipvs --vproto 6 --vaddr 10.0.0.0/8 --vport 80 -j X", "X"],
    ["-m ipvs --vproto 6 --vaddr 10.0.0.1 --vport 80 --vdir ORIGINAL -j X", "X"],
    ["-j REJECT --reject-with tcp-reset", "REJECT"],
    ["-j DNAT --to-destination 10.0.0.1", "DNAT"],
    ["-j DNAT --to-destination 10.0.0.1:80 --random", "DNAT"],
    ["-j MASQUERADE --to-ports 1024-65535", "MASQUERADE"],
    ['-j LOG --log-prefix "a -j b"', "LOG"],
    ['-m comment --comment "open', undefined],
    ["-m", undefined],
    // What ends too early, or has something else where a value belongs.
    ["-s", undefined],
    ["-i", undefined],
    ["-p", undefined],
    ["-g", undefined],
    ["-j", undefined],
    ["! -j X", "X"],
    ["! -g X", "X"],
    ["! -m comment --comment a -j X", "X"],
    ["-f -j X", "X"],
    ["-m mark --mark 1 -j X", "X"],
    ["-m mark --mark 0x123456789 -j X", "X"],
    ["-m statistic --mode random --probability 2.5 -j X", "X"],
    ["-m statistic --mode random ! --probability 0.5 -j X", "X"],
    ["-m conntrack --ctstate NEW,OLD -j X", "X"],
    ["-m addrtype -j X", "X"],
    ["-m addrtype ! --dst-type LOCAL -j X", "X"],
    ["-m recent --rcheck --seconds a --reap --name a --mask 255.255.255.255 --rsource -j X", "X"],
    ["-m recent --set --mask 255.255.255.255 --rsource -j X", "X"],
    ["-m recent --set --name a -j X", "X"],
    ["-m ipvs --vproto 6 --vport 80 -j X", "X"],
    ["-m ipvs --vproto 6 --vaddr 10.0.0.1 -j X", "X"],
    ["-m set --match-set A -j X", "X"],
    ["-m nfacct -j X", "X"],
    ["-j REJECT", "REJECT"],
    ["-j DNAT", "DNAT"],
    ["-j DNAT --to-destination [fd00::1]:80", "DNAT"],
    ["-j MARK --set-xmark 4000", "MARK"],
    ["-j MARK", "MARK"],
  ];
  for (const [text, jump] of foreign) {
    assert.deepEqual(parseRule(text, "IPv4"), {
      key: `? ${text}`,
      ...(jump !== undefined && { jump }),
    });
  }
});

Deno.test("parseRule() reads what the tools print otherwise than we", () => {
  const same = [
    ["-m nfacct --nfacct-name  a_b -j X", "-m nfacct --nfacct-name a_b -j X"],
    ['-m comment --comment "plain" -j X', "-m comment --comment plain -j X"],
    ["-m mark --mark 0x1/0xffffffff -j X", "-m mark --mark 0x1 -j X"],
    ["-s 10.1.2.3/8 -j X", "-s 10.0.0.0/8 -j X"],
    ['-m comment --comment "a \\"b\\" c" -j X', '-m comment --comment "a \\"b\\" c" -j X'],
    ['-m comment --comment "" -j X', '-m comment --comment "" -j X'],
  ];
  for (const [text, key] of same) assert.equal(parseRule(text, "IPv4").key, key);
});

const rule = { matches: [], target: { kind: "jump", chain: "A" } } as const;
const changes: readonly XtChange[] = [
  { kind: "add-table", table: "nat" },
  { kind: "add-chain", table: "nat", chain: "A" },
  { kind: "flush-chain", table: "filter", chain: "B" },
  { kind: "append-rule", table: "nat", chain: "OUTPUT", rule },
  { kind: "insert-rule", table: "nat", chain: "OUTPUT", rule },
  { kind: "append-rule", table: "nat", chain: "A", rule: { matches: [] } },
  { kind: "delete-rule", table: "filter", chain: "INPUT", rule },
  { kind: "delete-chain", table: "filter", chain: "C" },
];

Deno.test("changesText() is what iptables-restore --noflush reads", () => {
  assert.equal(
    changesText(changes, "IPv4"),
    [
      "*nat",
      ":A - [0:0]",
      "-A OUTPUT -j A",
      "-I OUTPUT -j A",
      "-A A",
      "COMMIT",
      "*filter",
      ":B - [0:0]",
      "-D INPUT -j A",
      "-X C",
      "COMMIT",
      "",
    ].join("\n"),
  );
});

Deno.test("changeOfLine() tells which change a line makes", () => {
  const lines = changesText(changes, "IPv4").trimEnd().split("\n");
  const restored = { changes, family: "IPv4" } as const;
  const of = lines.map((_, index) => changeOfLine(index + 1, restored));
  assert.deepEqual(of, [-1, 1, 3, 4, 5, -1, -1, 2, 6, 7, -1]);
  assert.equal(changeOfLine(lines.length + 1, restored), -1);
});

Deno.test("chanceOf() rounds as iptables does with upstream's ten digits", () => {
  assert.deepEqual([1, 2, 3, 6, 1000].map(chanceOf), [
    2147483648,
    1073741824,
    715827883,
    357913941,
    2147484,
  ]);
});

Deno.test("changesText() flushes a chain that goes by name, and declares any other", () => {
  const place = { table: "nat", chain: "GOES" } as const;
  const going: readonly XtChange[] = [
    { kind: "flush-chain", ...place },
    { kind: "flush-chain", table: "nat", chain: "STAYS" },
    { kind: "flush-chain", table: "filter", chain: "GOES" },
    { kind: "delete-chain", ...place },
  ];
  assert.equal(
    changesText(going, "IPv4"),
    "*nat\n-F GOES\n:STAYS - [0:0]\n-X GOES\nCOMMIT\n*filter\n:GOES - [0:0]\nCOMMIT\n",
  );
  assert.equal(changeOfLine(2, { changes: going, family: "IPv4" }), 0);
  assert.equal(changeOfLine(4, { changes: going, family: "IPv4" }), 3);
});

Deno.test("changesPieces() gives pieces of a text that together are all of it", () => {
  const many = Array.from({ length: 9_000 }, (_, i): XtChange => ({
    kind: "add-chain",
    table: i < 8_000 ? "nat" : "filter",
    chain: `KUBE-SVC-${i}`,
  }));
  const pieces = [...changesPieces(many, "IPv4")];
  assert.ok(pieces.length > 3 && pieces.every(({ length }) => length < 70_000));
  const lines = pieces.join("").trimEnd().split("\n");
  assert.deepEqual([lines.length, lines[0], lines[8_001], lines[8_002]], [
    9_004,
    "*nat",
    "COMMIT",
    "*filter",
  ]);
  assert.equal(pieces.join(""), changesText(many, "IPv4"));
});
