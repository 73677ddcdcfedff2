/**
 * Rules as `iptables-save` prints them, as values. A rule that uses more than our language gives no value, and
 * keeps its text as its key, so that nothing that somebody else wrote can be taken for ours.
 */
import { ipFamilyOf, parseCidr } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import {
  CHANCES,
  jumpOf,
  MAX_SIDES,
  protocolOfNumber,
  type XtAddress,
  type XtInterface,
  type XtMatch,
  type XtProtocol,
  type XtRule,
  type XtSide,
  xtStates,
  type XtTarget,
} from "./rules.ts";
import { rejectWith, ruleText, wholeAddressMask } from "./text.ts";
import type { XtListedRule } from "./xtables.ts";

/** The rule that the text behind `-A CHAIN` says, with its key. */
export function parseRule(text: string, family: IpFamily): XtListedRule {
  const words = splitWords(text);
  const rule = words && new RuleReader(words, family).read();
  if (rule) {
    return listedRule(rule, family);
  }
  const at = words?.findIndex((word) => word === "-j" || word === "-g") ?? -1;
  const jump = at < 0 ? undefined : words?.[at + 1];
  return { key: `? ${text}`, ...(jump !== undefined && { jump }) };
}

/** A rule of ours as a listing shows it. */
export function listedRule(rule: XtRule, family: IpFamily): XtListedRule {
  const jump = jumpOf(rule);
  return { key: ruleText(rule, family), rule, ...(jump !== undefined && { jump }) };
}

/** Words as iptables-restore splits them; undefined where a quote is left open. */
function splitWords(text: string): readonly string[] | undefined {
  if (!text.includes('"') && !text.includes("\\")) return text.split(/ +/).filter(Boolean);
  const words: string[] = [];
  let word: string | undefined;
  let inQuotes = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      inQuotes = !inQuotes;
      word ??= "";
    } else if (char === "\\" && inQuotes && at + 1 < text.length) {
      word = (word ?? "") + text[++at];
    } else if (char === " " && !inQuotes) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (inQuotes) return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Reads one rule, or gives up at the first word that our language lacks. */
class RuleReader {
  readonly #words: readonly string[];
  readonly #family: IpFamily;
  #at = 0;

  constructor(words: readonly string[], family: IpFamily) {
    this.#words = words;
    this.#family = family;
  }

  read(): XtRule | undefined {
    const matches: XtMatch[] = [];
    const rule: Mutable<XtRule> = { matches };
    while (this.#at < this.#words.length) {
      const not = this.#take("!");
      if (!this.#readPart(rule, matches, not)) return undefined;
    }
    return rule;
  }

  #readPart(rule: Mutable<XtRule>, matches: XtMatch[], not: boolean): boolean {
    switch (this.#next()) {
      case "-s":
        return (rule.source = this.#address(not)) !== undefined;
      case "-d":
        return (rule.destination = this.#address(not)) !== undefined;
      case "-i":
        return (rule.inInterface = this.#interface(not)) !== undefined;
      case "-o":
        return (rule.outInterface = this.#interface(not)) !== undefined;
      case "-p":
        return !not && (rule.protocol = protocolOf(this.#next())) !== undefined;
      case "-m": {
        const match = not ? undefined : this.#match();
        if (match) matches.push(match);
        return match !== undefined;
      }
      case "-j":
        return !not && (rule.target = this.#target()) !== undefined;
      case "-g":
        return !not && (rule.target = this.#goto()) !== undefined;
      default:
        return false;
    }
  }

  #match(): XtMatch | undefined {
    const name = this.#next();
    switch (name) {
      case "comment":
        return this.#valueOf("--comment", (text) => ({ kind: "comment", text }));
      case "tcp":
      case "udp":
      case "sctp":
        return this.#ports(name);
      case "mark":
        return this.#mark();
      case "conntrack":
        return this.#conntrack();
      case "addrtype":
        return this.#addrtype();
      case "statistic":
        if (!this.#take("--mode", "random")) return undefined;
        return this.#valueOf("--probability", (text) => {
          const chance = Math.round(Number(text) * CHANCES);
          return /^[01]\.\d+$/.test(text) ? { kind: "statistic", chance } : undefined;
        });
      case "recent":
        return this.#recent();
      case "nfacct":
        return this.#valueOf("--nfacct-name", (text) => ({ kind: "nfacct", name: text }));
      case "set":
        return this.#set();
      case "physdev": {
        const not = this.#take("!");
        if (!this.#take("--physdev-is-in")) return undefined;
        return { kind: "physdev-is-in", ...(not && { not }) };
      }
      case "ipvs":
        return this.#ipvs();
      default:
        return undefined;
    }
  }

  #ports(protocol: XtProtocol): XtMatch | undefined {
    if (!this.#take("--dport")) return { kind: "ports", protocol };
    const destination = portOf(this.#next());
    return destination === undefined ? undefined : { kind: "ports", protocol, destination };
  }

  #mark(): XtMatch | undefined {
    const not = this.#take("!");
    return this.#valueOf("--mark", (text) => {
      const found = markOf(text);
      return found && { kind: "mark", ...found, ...(not && { not }) };
    });
  }

  #conntrack(): XtMatch | undefined {
    const not = this.#take("!");
    return this.#valueOf("--ctstate", (text) => {
      const names = text.split(",");
      const states = xtStates.filter((state) => names.includes(state));
      if (states.length !== names.length) return undefined;
      return { kind: "conntrack", states, ...(not && { not }) };
    });
  }

  #addrtype(): XtMatch | undefined {
    const notSource = this.#take("!");
    const source = this.#take("--src-type", "LOCAL");
    const destination = this.#take("--dst-type", "LOCAL");
    if (!source && (notSource || !destination)) return undefined;
    return {
      kind: "addrtype",
      ...(source && { source: "LOCAL" }),
      ...(notSource && { notSource }),
      ...(destination && { destination: "LOCAL" }),
    };
  }

  #recent(): XtMatch | undefined {
    const isSet = this.#take("--set");
    if (!isSet && !this.#take("--rcheck", "--seconds")) return undefined;
    const seconds = isSet ? 0 : Number(this.#next());
    if (!Number.isSafeInteger(seconds) || (!isSet && !this.#take("--reap"))) return undefined;
    if (!this.#take("--name")) return undefined;
    const name = this.#next();
    const isWhole = this.#take("--mask", wholeAddressMask(this.#family)) && this.#take("--rsource");
    if (name === undefined || !isWhole) return undefined;
    return isSet ? { kind: "recent-set", name } : { kind: "recent-check", name, seconds };
  }

  #set(): XtMatch | undefined {
    const not = this.#take("!");
    return this.#valueOf("--match-set", (name) => {
      const sides = this.#next()?.split(",") ?? [];
      if (!sides.every(isSide) || sides.length > MAX_SIDES) return undefined;
      return { kind: "set", name, sides, ...(not && { not }) };
    });
  }

  #ipvs(): XtMatch | undefined {
    return this.#valueOf("--vproto", (number) => {
      const protocol = protocolOfNumber(Number(number));
      const address = this.#take("--vaddr") ? this.#next() : undefined;
      const port = this.#take("--vport") ? portOf(this.#next()) : undefined;
      const isOurs = ipFamilyOf(address ?? "") === this.#family;
      if (!protocol || address === undefined || port === undefined || !isOurs) return undefined;
      return { kind: "ipvs", protocol, address, port };
    });
  }

  #target(): XtTarget | undefined {
    const name = this.#next();
    switch (name) {
      case undefined:
        return undefined;
      case "ACCEPT":
        return { kind: "accept" };
      case "DROP":
        return { kind: "drop" };
      case "RETURN":
        return { kind: "return" };
      case "REJECT":
        return this.#take("--reject-with", rejectWith(this.#family))
          ? { kind: "reject" }
          : undefined;
      case "DNAT":
        return this.#take("--to-destination") ? dnatOf(this.#next(), this.#family) : undefined;
      case "MASQUERADE":
        return { kind: "masquerade", randomFully: this.#take("--random-fully") };
      case "MARK": {
        const mark = this.#take("--set-xmark") ? markOf(this.#next() ?? "") : undefined;
        return mark && { kind: "set-xmark", ...mark };
      }
      default:
        return this.#jumpTo(name);
    }
  }

  /** A chain: the last word. Options behind it would be those of a target that we do not know. */
  #jumpTo(chain: string): XtTarget | undefined {
    return this.#at === this.#words.length ? { kind: "jump", chain } : undefined;
  }

  #goto(): XtTarget | undefined {
    const chain = this.#next();
    return chain === undefined ? undefined : { kind: "goto", chain };
  }

  #address(not: boolean): XtAddress | undefined {
    const cidr = parseCidr(this.#next() ?? "");
    if (cidr?.family !== this.#family) return undefined;
    return { cidr: cidr.text, ...(not && { not }) };
  }

  #interface(not: boolean): XtInterface | undefined {
    const name = this.#next();
    return name === undefined ? undefined : { name, ...(not && { not }) };
  }

  #valueOf<T>(option: string, read: (text: string) => T | undefined): T | undefined {
    const value = this.#take(option) ? this.#next() : undefined;
    return value === undefined ? undefined : read(value);
  }

  #next(): string | undefined {
    return this.#words[this.#at++];
  }

  /** Whether these words come next; then they are behind us. */
  #take(...expected: readonly string[]): boolean {
    if (!expected.every((word, index) => this.#words[this.#at + index] === word)) return false;
    this.#at += expected.length;
    return true;
  }
}

function protocolOf(word: string | undefined): XtProtocol | undefined {
  return word === "tcp" || word === "udp" || word === "sctp" ? word : undefined;
}

function isSide(word: string): word is XtSide {
  return word === "src" || word === "dst";
}

function portOf(word: string | undefined): number | undefined {
  return word !== undefined && /^\d{1,5}$/.test(word) ? Number(word) : undefined;
}

/** `0x4000/0x4000`; without a mask, all bits. */
function markOf(text: string): { readonly value: number; readonly mask: number } | undefined {
  const [, value, mask = "0xffffffff"] = /^(0x[0-9a-f]{1,8})(?:\/(0x[0-9a-f]{1,8}))?$/.exec(text) ??
    [];
  return value === undefined ? undefined : { value: Number(value), mask: Number(mask) };
}

/** `10.0.0.1:80`, `[fd00::1]:80`. */
function dnatOf(text: string | undefined, family: IpFamily): XtTarget | undefined {
  const pattern = family === "IPv4" ? /^([\d.]+):(\d{1,5})$/ : /^\[([0-9a-f:.]+)\]:(\d{1,5})$/;
  const [, address, port] = pattern.exec(text ?? "") ?? [];
  if (address === undefined) return undefined;
  return { kind: "dnat", address, port: Number(port) };
}
