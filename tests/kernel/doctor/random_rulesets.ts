/** Random packet filters, as their own tools read them: what real ones are made of, and some of what we do not know. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import type { Draws } from "../../scenarios/random_services.ts";

/** Who holds the rules, and how they are given to it. */
export type RulesetTool = "nft" | "iptables-nft" | "iptables-legacy";

/** A packet filter of one family. */
export interface RandomRuleset {
  readonly tool: RulesetTool;
  readonly text: string;
}

/** The ports that rules and packets name. */
export const ports = [30_080, 30_443, 22] as const;

const tools: readonly RulesetTool[] = ["nft", "iptables-nft", "iptables-legacy"];

/** Draws a ruleset for packets from client-a to the node. */
export function randomRuleset(draws: Draws, family: IpFamily): RandomRuleset {
  const tool = draws.pick(tools);
  const writer = new Writer(draws, family);
  return { tool, text: tool === "nft" ? writer.nft() : writer.iptables() };
}

class Writer {
  readonly #draws: Draws;
  readonly #family: IpFamily;

  constructor(draws: Draws, family: IpFamily) {
    this.#draws = draws;
    this.#family = family;
  }

  nft(): string {
    const table = this.#draws.pick(["inet", this.#ip]);
    const chains = ["b", "c"].map((name) => `  chain ${name} {\n${this.#nftRules([])}  }\n`);
    const bases = Array.from(
      { length: this.#draws.pick([1, 1, 2]) },
      (_, at) =>
        `  chain in-${at} {
    type filter hook input priority ${at * 5}; policy ${this.#policy().toLowerCase()};
    ct state established,related accept
    meta l4proto ipv6-icmp accept
${this.#nftRules(["b", "c"])}  }
`,
    );
    return `table ${table} t {
  set ports { type inet_service; flags interval; elements = { ${this.#portList()} }; }
  set hosts { type ${this.#addressType}; flags interval; elements = { ${this.#net()} }; }
  set pairs { type inet_proto . inet_service; elements = { tcp . ${this.#port()}, udp . 53 }; }
  set wide { type ${this.#addressType} . inet_service; flags interval; elements = { ${this.#net()} . ${
      this.#range("-")
    } }; }
  map doors { type inet_service : verdict; elements = { ${this.#port()} : ${
      this.#nftEnd([])
    }, 23 : drop }; }
${chains.join("")}${bases.join("")}}
`;
  }

  iptables(): string {
    const rules = (name: string, chains: readonly string[]) =>
      this.#some(() => `-A ${name} ${this.#xtMatches()} ${this.#xtEnd(chains)}`);
    return [
      "*filter",
      `:INPUT ${this.#policy()} [0:0]`,
      ":B - [0:0]",
      ":C - [0:0]",
      "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
      // Without neighbour discovery nothing at all gets through.
      ...(this.#family === "IPv6" ? ["-A INPUT -p ipv6-icmp -j ACCEPT"] : []),
      ...rules("INPUT", ["B", "C"]),
      ...rules("B", ["C"]),
      ...rules("C", []),
      "COMMIT",
      "",
    ].join("\n");
  }

  get #ip(): string {
    return this.#family === "IPv4" ? "ip" : "ip6";
  }

  get #addressType(): string {
    return this.#family === "IPv4" ? "ipv4_addr" : "ipv6_addr";
  }

  #some<T>(make: () => T, most: number = 4): T[] {
    return Array.from({ length: this.#draws.below(most + 1) }, make);
  }

  #policy(): string {
    return this.#draws.pick(["ACCEPT", "DROP"]);
  }

  #port(): number {
    return this.#draws.pick(ports);
  }

  #portList(): string {
    return [...new Set([8080, this.#port(), this.#draws.pick([9000, 443])])].join(", ");
  }

  #range(sign: string): string {
    return this.#draws.pick([`30000${sign}32767`, `1${sign}1023`, `30443${sign}30500`]);
  }

  #net(): string {
    const own = hostAddresses["client-a"][this.#family];
    return this.#family === "IPv4"
      ? this.#draws.pick(["192.168.10.0/24", "10.0.0.0/8", `${own}/32`, "172.16.0.0/12"])
      : this.#draws.pick(["fd00:192:168:10::/64", "fd01::/16", `${own}/128`, "2001:db8::/32"]);
  }

  #nftRules(chains: readonly string[]): string {
    return this.#some(() => `    ${this.#nftMatches()} ${this.#nftEnd(chains)}\n`).join("");
  }

  /** One of each kind at most: nft refuses two protocols in one rule. */
  #nftMatches(): string {
    const { ip, not } = { ip: this.#ip, not: this.#draws.pick(["", "", "!= "]) };
    const to = hostAddresses.node[this.#family];
    const kinds = [
      [
        `tcp dport ${not}${this.#port()}`,
        `tcp dport ${not}${this.#range("-")}`,
        `tcp dport ${not}{ ${this.#portList()} }`,
        `tcp dport ${not}@ports`,
        `tcp dport < ${this.#port()}`,
        `udp dport 53`,
        `meta l4proto ${not}tcp`,
        `meta l4proto . th dport @pairs`,
        `${ip} saddr . tcp dport @wide`,
        `tcp flags & (fin|syn|rst|ack) == syn`,
        this.#family === "IPv4" ? "icmp type echo-request" : "icmpv6 type echo-request",
      ],
      [
        `${ip} saddr ${not}${this.#net()}`,
        `${ip} saddr ${not}@hosts`,
        `${ip} daddr ${not}${to}`,
        `${ip} saddr ${this.#net()} ${ip} daddr ${to}`,
        `iifname ${not}"client-a"`,
        `iifname "cli*"`,
        `iifname "lo"`,
      ],
      [
        `ct state ${not}new`,
        `ct state invalid`,
        `ct status dnat`,
        `fib daddr type ${not}local`,
        `meta mark ${not}0x1`,
        `meta mark and 0x4 == 0x4`,
        `meta mark set 0x5`,
        `meta pkttype host`,
        `counter`,
        ...(this.#draws.chance(0.05) ? ["limit rate 1000/second"] : []),
      ],
    ];
    return this.#draws.some(kinds, 0.5).map((kind) => this.#draws.pick(kind)).join(" ");
  }

  #nftEnd(chains: readonly string[]): string {
    return this.#draws.pick([
      "accept",
      "drop",
      "accept",
      "drop",
      ...(chains.length === 0 ? ["return"] : [
        ...chains.map((chain) => `jump ${chain}`),
        `goto ${chains[0]}`,
        "reject",
        "continue",
        "th dport vmap @doors",
        `meta l4proto vmap { udp : drop, tcp : jump ${chains[0]} }`,
      ]),
    ]);
  }

  /** One of each kind at most, as iptables wants it. */
  #xtMatches(): string {
    const not = this.#draws.pick(["", "", "! "]);
    const to = hostAddresses.node[this.#family];
    const kinds = [
      [
        `-p tcp -m tcp ${not}--dport ${this.#port()}`,
        `-p tcp -m tcp ${not}--dport ${this.#range(":")}`,
        `-p tcp -m multiport ${not}--dports ${this.#port()},9000:9100`,
        `-p tcp -m tcp ${not}--tcp-flags FIN,SYN,RST,ACK SYN`,
        `-p udp -m udp --dport 53`,
      ],
      [`${not}-s ${this.#net()}`, `${not}-d ${to}`],
      [`${not}-i client-a`, `-i cli+`, `-i lo`],
      [
        `-m conntrack ${not}--ctstate NEW`,
        `-m conntrack --ctstate INVALID`,
        `-m state --state NEW,UNTRACKED`,
        `-m addrtype ${not}--dst-type LOCAL`,
        `-m mark ${not}--mark 0x1/0x1`,
        `-m pkttype --pkt-type unicast`,
        `-m comment --comment "the door"`,
        ...(this.#draws.chance(0.05) ? ["-m limit --limit 1000/second"] : []),
      ],
    ];
    return this.#draws.some(kinds, 0.4).map((kind) => this.#draws.pick(kind)).join(" ");
  }

  #xtEnd(chains: readonly string[]): string {
    return this.#draws.pick([
      "-j ACCEPT",
      "-j DROP",
      "-j RETURN",
      "-j REJECT",
      "-j MARK --set-xmark 0x1/0x1",
      "",
      ...chains.flatMap((chain) => [`-j ${chain}`, `-g ${chain}`]),
    ]);
  }
}
