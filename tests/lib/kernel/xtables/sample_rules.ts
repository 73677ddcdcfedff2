/**
 * Every word of the language, with what `iptables-save` and `ip6tables-save` print for it. The texts
 * are 1.8.9's, of both its backends; the kernel tests ask it again.
 */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type { IpsetDefinition } from "../../../../lib/kernel/ipset/ipset.ts";
import type { XtSets } from "../../../../lib/kernel/xtables/sets.ts";
import {
  chanceOf,
  type XtMatch,
  type XtRule,
  type XtSide,
  type XtTable,
} from "../../../../lib/kernel/xtables/rules.ts";

export interface SampleRule {
  readonly name: string;
  readonly table: XtTable;
  readonly rule: XtRule;
  /** Behind `-A CHAIN`. */
  readonly text: string;
}

/** Chains that the samples lead to. */
export const sampleTarget = "KUBE-MARK-MASQ";

/** A counter that must exist. */
export const sampleCounter = "localhost_nps_accepted_pkts";

/** A set that must exist; of no family, so that rules of either may look into it. */
export const sampleSet = {
  name: "KUBE-NODE-PORT-TCP",
  type: "bitmap:port",
} as const satisfies IpsetDefinition;

/** As if the kernel held that set, and no other. */
export const sampleSets: XtSets = {
  indexOf: (name) => name === sampleSet.name ? 259 : undefined,
  nameOf: (index) => index === 259 ? sampleSet.name : undefined,
};

/** Addresses and words that differ by family. */
interface Words {
  readonly vipRange: string;
  readonly pods: string;
  readonly bytes: string;
  readonly bits: string;
  readonly loopback: string;
  readonly endpoint: string;
  readonly dnat: string;
  readonly mask: string;
  readonly reject: string;
}

const words: Readonly<Record<IpFamily, Words>> = {
  IPv4: {
    vipRange: "172.30.0.1/32",
    pods: "10.128.0.0/14",
    bytes: "10.128.64.0/24",
    bits: "10.128.64.0/18",
    loopback: "127.0.0.0/8",
    endpoint: "10.128.1.5",
    dnat: "10.128.1.5:8080",
    mask: "255.255.255.255",
    reject: "icmp-port-unreachable",
  },
  IPv6: {
    vipRange: "fd00:172:30::1/128",
    pods: "fd00:10:128::/48",
    bytes: "fd00:10:128:4000::/64",
    bits: "fd00:10:128:4000::/50",
    loopback: "::1/128",
    endpoint: "fd00:10:128::5",
    dnat: "[fd00:10:128::5]:8080",
    mask: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    reject: "icmp6-port-unreachable",
  },
};

const jump = { kind: "jump", chain: sampleTarget } as const;
const to = `-j ${sampleTarget}`;

/** The samples of a family; each stands for itself, in a chain of its table. */
export function sampleRules(family: IpFamily): readonly SampleRule[] {
  const word = words[family];
  const nat = (name: string, rule: XtRule, text: string) => ({
    name,
    table: "nat" as const,
    rule,
    text,
  });
  const filter = (name: string, rule: XtRule, text: string) => ({
    name,
    table: "filter" as const,
    rule,
    text,
  });
  return [
    nat("no test", { matches: [], target: jump }, to),
    ...addressSamples(word, nat),
    ...interfaceSamples(nat),
    ...portSamples(word, nat),
    ...matchSamples(word, nat),
    ...setSamples(nat),
    nat(
      "in by no port of a bridge",
      {
        matches: [
          { kind: "physdev-is-in", not: true },
          { kind: "addrtype", source: "LOCAL" },
        ],
        target: jump,
      },
      `-m physdev ! --physdev-is-in -m addrtype --src-type LOCAL ${to}`,
    ),
    nat(
      "in by a port of a bridge",
      { matches: [{ kind: "physdev-is-in" }], target: jump },
      `-m physdev --physdev-is-in ${to}`,
    ),
    ...ipvsSamples(word, filter),
    nat(
      "a goto",
      { matches: [], target: { kind: "goto", chain: sampleTarget } },
      `-g ${sampleTarget}`,
    ),
    nat(
      "no target",
      { matches: [comment("other traffic will be dropped")] },
      '-m comment --comment "other traffic will be dropped"',
    ),
    nat("masquerade", masquerade(false), "-j MASQUERADE"),
    nat("masquerade with random ports", masquerade(true), "-j MASQUERADE --random-fully"),
    nat("set a mark", xmark(0x4000, 0x4000), "-j MARK --set-xmark 0x4000/0x4000"),
    nat("flip a mark", xmark(0x4000, 0), "-j MARK --set-xmark 0x4000/0x0"),
    nat(
      "set the highest mark",
      xmark(0x80000000, 0x80000000),
      "-j MARK --set-xmark 0x80000000/0x80000000",
    ),
    filter("accept", { matches: [], target: { kind: "accept" } }, "-j ACCEPT"),
    filter("drop", { matches: [], target: { kind: "drop" } }, "-j DROP"),
    filter("return", { matches: [], target: { kind: "return" } }, "-j RETURN"),
    filter(
      "reject",
      { matches: [], target: { kind: "reject" } },
      `-j REJECT --reject-with ${word.reject}`,
    ),
    ...stateSamples(filter),
  ];
}

type Sample = (name: string, rule: XtRule, text: string) => SampleRule;

function addressSamples(word: Words, nat: Sample): readonly SampleRule[] {
  const source = (cidr: string, not = false): XtRule => ({
    source: { cidr, ...(not && { not }) },
    matches: [],
    target: jump,
  });
  return [
    nat("a source", source(word.vipRange), `-s ${word.vipRange} ${to}`),
    nat("a source range", source(word.pods), `-s ${word.pods} ${to}`),
    nat("a source range of whole bytes", source(word.bytes), `-s ${word.bytes} ${to}`),
    nat("a source range that ends in a byte", source(word.bits), `-s ${word.bits} ${to}`),
    nat("not a source range", source(word.pods, true), `! -s ${word.pods} ${to}`),
    nat(
      "not a source range that ends in a byte",
      source(word.bits, true),
      `! -s ${word.bits} ${to}`,
    ),
    nat(
      "both addresses",
      {
        source: { cidr: word.loopback, not: true },
        destination: { cidr: word.loopback },
        matches: [],
        target: jump,
      },
      `! -s ${word.loopback} -d ${word.loopback} ${to}`,
    ),
  ];
}

function interfaceSamples(nat: Sample): readonly SampleRule[] {
  const from = (name: string, not = false): XtRule => ({
    inInterface: { name, ...(not && { not }) },
    matches: [],
    target: jump,
  });
  return [
    nat("an interface", from("cni0"), `-i cni0 ${to}`),
    nat("not an interface", from("cni0", true), `! -i cni0 ${to}`),
    nat("interfaces with a prefix", from("veth+"), `-i veth+ ${to}`),
    nat("not interfaces with a prefix", from("veth+", true), `! -i veth+ ${to}`),
    nat("an interface of the longest name", from("abcdefghijklmno"), `-i abcdefghijklmno ${to}`),
    nat(
      "an interface out",
      { outInterface: { name: "eth0" }, matches: [], target: jump },
      `-o eth0 ${to}`,
    ),
  ];
}

function portSamples(word: Words, nat: Sample): readonly SampleRule[] {
  return (["tcp", "udp", "sctp"] as const).flatMap((protocol) => [
    nat(
      `a frontend, ${protocol}`,
      {
        destination: { cidr: word.vipRange },
        protocol,
        matches: [
          comment("ns/svc:http cluster IP"),
          { kind: "ports", protocol, destination: 443 },
        ],
        target: jump,
      },
      `-d ${word.vipRange} -p ${protocol} -m comment --comment "ns/svc:http cluster IP" ` +
        `-m ${protocol} --dport 443 ${to}`,
    ),
    nat(
      `a destination, ${protocol}`,
      {
        protocol,
        matches: [comment("ns/svc:http"), { kind: "ports", protocol }],
        target: { kind: "dnat", address: word.endpoint, port: 8080 },
      },
      `-p ${protocol} -m comment --comment "ns/svc:http" -m ${protocol} ` +
        `-j DNAT --to-destination ${word.dnat}`,
    ),
    nat(
      `a frontend of pods, ${protocol}`,
      {
        source: { cidr: word.bits, not: true },
        destination: { cidr: word.vipRange },
        inInterface: { name: "veth+", not: true },
        outInterface: { name: "eth0" },
        protocol,
        matches: [{ kind: "ports", protocol, destination: 65535 }],
        target: jump,
      },
      `! -s ${word.bits} -d ${word.vipRange} ! -i veth+ -o eth0 -p ${protocol} ` +
        `-m ${protocol} --dport 65535 ${to}`,
    ),
  ]);
}

function matchSamples(word: Words, nat: Sample): readonly SampleRule[] {
  const one = (...matches: readonly XtMatch[]): XtRule => ({ matches, target: jump });
  const name = "KUBE-SEP-ABCDEFGHIJKLMNOP";
  const recent = `--name ${name} --mask ${word.mask} --rsource`;
  return [
    nat("a comment of one word", one(comment("ab-c_9")), `-m comment --comment ab-c_9 ${to}`),
    nat(
      "a comment with all that is quoted",
      one(comment(`a "b" 'c' \\d -> [::1]:80; e.f`)),
      `-m comment --comment "a \\"b\\" \\'c\\' \\\\d -> [::1]:80; e.f" ${to}`,
    ),
    nat(
      "a comment of the greatest length",
      one(comment("c".repeat(255))),
      `-m comment --comment ${"c".repeat(255)} ${to}`,
    ),
    nat(
      "a mark",
      one({ kind: "mark", value: 0x4000, mask: 0x4000 }),
      `-m mark --mark 0x4000/0x4000 ${to}`,
    ),
    nat(
      "not a mark",
      one({ kind: "mark", value: 0x4000, mask: 0x4000, not: true }),
      `-m mark ! --mark 0x4000/0x4000 ${to}`,
    ),
    nat(
      "a mark of all bits",
      one({ kind: "mark", value: 0x80000001, mask: 0xffffffff }),
      `-m mark --mark 0x80000001 ${to}`,
    ),
    nat(
      "a local destination",
      one(comment("ns/svc:http"), { kind: "addrtype", destination: "LOCAL" }),
      `-m comment --comment "ns/svc:http" -m addrtype --dst-type LOCAL ${to}`,
    ),
    nat(
      "a local source",
      one({ kind: "addrtype", source: "LOCAL" }),
      `-m addrtype --src-type LOCAL ${to}`,
    ),
    nat(
      "a source that is not local",
      one({ kind: "addrtype", source: "LOCAL", notSource: true }),
      `-m addrtype ! --src-type LOCAL ${to}`,
    ),
    ...[[2, "0.50000000000"], [3, "0.33333333349"], [7, "0.14285714272"], [100, "0.00999999978"]]
      .map(([count, chance]) =>
        nat(
          `one of ${count}`,
          one({ kind: "statistic", chance: chanceOf(Number(count)) }),
          `-m statistic --mode random --probability ${chance} ${to}`,
        )
      ),
    nat(
      "noted before",
      one({ kind: "recent-check", name, seconds: 10800 }),
      `-m recent --rcheck --seconds 10800 --reap ${recent} ${to}`,
    ),
    nat("to be noted", one({ kind: "recent-set", name }), `-m recent --set ${recent} ${to}`),
    nat(
      "a counter",
      {
        protocol: "tcp",
        matches: [
          { kind: "ports", protocol: "tcp", destination: 30080 },
          { kind: "nfacct", name: sampleCounter },
        ],
        target: jump,
      },
      `-p tcp -m tcp --dport 30080 -m nfacct --nfacct-name ${sampleCounter} ${to}`,
    ),
  ];
}

function setSamples(nat: Sample): readonly SampleRule[] {
  const { name } = sampleSet;
  const looks: readonly (readonly [readonly XtSide[], boolean])[] = [
    [["dst", "dst"], false],
    [["src", "dst"], false],
    [["dst", "dst", "src"], false],
    [["src", "src", "src"], true],
    [["dst"], true],
  ];
  return looks.map(([sides, not]) =>
    nat(
      `${not ? "not " : ""}in a set by ${sides}`,
      {
        matches: [comment("a set"), { kind: "set", name, sides, ...(not && { not }) }],
        target: jump,
      },
      `-m comment --comment "a set" -m set${not ? " !" : ""} --match-set ${name} ${sides} ${to}`,
    )
  );
}

/** Needs IPVS in the kernel. */
function ipvsSamples(word: Words, filter: Sample): readonly SampleRule[] {
  return ([["tcp", 6], ["udp", 17], ["sctp", 132]] as const).map(([protocol, number]) =>
    filter(
      `of a virtual server, ${protocol}`,
      {
        source: { cidr: word.vipRange },
        matches: [{ kind: "ipvs", protocol, address: word.endpoint, port: 8080 }],
        target: { kind: "drop" },
      },
      `-s ${word.vipRange} -m ipvs --vproto ${number} --vaddr ${word.endpoint} --vport 8080 -j DROP`,
    )
  );
}

function stateSamples(filter: Sample): readonly SampleRule[] {
  const drop = { kind: "drop" } as const;
  return [
    filter(
      "a new connection",
      { matches: [{ kind: "conntrack", states: ["NEW"] }], target: drop },
      "-m conntrack --ctstate NEW -j DROP",
    ),
    filter(
      "an invalid packet",
      { matches: [{ kind: "conntrack", states: ["INVALID"] }], target: drop },
      "-m conntrack --ctstate INVALID -j DROP",
    ),
    filter(
      "an old connection",
      { matches: [{ kind: "conntrack", states: ["RELATED", "ESTABLISHED"] }], target: drop },
      "-m conntrack --ctstate RELATED,ESTABLISHED -j DROP",
    ),
    filter(
      "neither old nor translated",
      {
        matches: [{ kind: "conntrack", states: ["RELATED", "ESTABLISHED", "DNAT"], not: true }],
        target: drop,
      },
      "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
    ),
  ];
}

function comment(text: string): XtMatch {
  return { kind: "comment", text };
}

function masquerade(randomFully: boolean): XtRule {
  return { matches: [], target: { kind: "masquerade", randomFully } };
}

function xmark(value: number, mask: number): XtRule {
  return { matches: [], target: { kind: "set-xmark", value, mask } };
}
