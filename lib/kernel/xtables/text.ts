/**
 * Rules and changes as `iptables-save` prints them and `iptables-restore --noflush` reads them. What
 * people see in a dry run, what the legacy backend writes and by what rules are compared is this text.
 */
import { assertNever } from "../../base/assert_never.ts";
import { joinHostPort } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import {
  CHANCES,
  type XtAddress,
  type XtChange,
  type XtInterface,
  type XtMatch,
  xtProtocolNumbers,
  type XtRule,
  type XtTable,
  type XtTarget,
} from "./rules.ts";

/** iptables prints chances with so many digits. */
const CHANCE_DIGITS = 11;
/** As much as a pipe holds. */
export const PIECE_LENGTH = 65_536;

/** The rule without its place: `-s 10.128.0.0/14 -m comment --comment "…" -j KUBE-MARK-MASQ`; equal for equal rules. */
export function ruleText(rule: XtRule, family: IpFamily): string {
  let text = "";
  if (rule.source) text += addressText("-s", rule.source);
  if (rule.destination) text += addressText("-d", rule.destination);
  if (rule.inInterface) text += interfaceText("-i", rule.inInterface);
  if (rule.outInterface) text += interfaceText("-o", rule.outInterface);
  if (rule.protocol) text += ` -p ${rule.protocol}`;
  for (const match of rule.matches) text += ` ${matchText(match, family)}`;
  if (rule.target) text += ` ${targetText(rule.target, family)}`;
  return text.slice(1);
}

/**
 * A restore's input that makes these changes: tables in the order of their first change, changes in
 * their order. A chain is declared to be made and to be flushed alike, but one that goes is flushed by name.
 */
export function changesText(changes: readonly XtChange[], family: IpFamily): string {
  return [...changesPieces(changes, family)].join("");
}

/** The same, piece by piece: a tool reads the first ones while the others are made. */
export function* changesPieces(
  changes: readonly XtChange[],
  family: IpFamily,
): Generator<string> {
  for (const [table, lines] of changesLines(changes, family)) {
    let text = `*${table}\n`;
    for (const [line] of lines) {
      text += line;
      if (text.length < PIECE_LENGTH) continue;
      yield text;
      text = "";
    }
    yield `${text}COMMIT\n`;
  }
}

/** A line of a restore's input, with the change that it makes. */
export type ChangeLine = readonly [line: string, change: XtChange];

/** The lines for each table alone. */
export function* changesLines(
  changes: readonly XtChange[],
  family: IpFamily,
): Generator<readonly [table: XtTable, lines: Iterable<ChangeLine>]> {
  for (const [table, indexes] of byTable(changes)) {
    yield [table, tableLines(changes, { family, indexes })];
  }
}

function* tableLines(
  changes: readonly XtChange[],
  { family, indexes }: { readonly family: IpFamily; readonly indexes: readonly number[] },
): Generator<ChangeLine> {
  const going = goingChains(changes, indexes);
  for (const index of indexes) {
    const change = changes[index];
    // To declare each of 100,000 chains takes the tool ten times as long as to flush it.
    const isFlushed = change.kind === "flush-chain" && going.has(change.chain);
    const line = isFlushed ? `-F ${change.chain}` : changeText(change, family);
    if (line !== undefined) yield [`${line}\n`, change];
  }
}

function goingChains(
  changes: readonly XtChange[],
  indexes: readonly number[],
): ReadonlySet<string> {
  return new Set(
    indexes.flatMap((index) => {
      const change = changes[index];
      return change.kind === "delete-chain" ? [change.chain] : [];
    }),
  );
}

/** The change that a line of `changesText` makes, so that a tool's "line 7 failed" finds it; -1 for none. */
export function changeOfLine(
  line: number,
  { changes, family }: { readonly changes: readonly XtChange[]; readonly family: IpFamily },
): number {
  let at = 0;
  for (const indexes of byTable(changes).values()) {
    at++;
    for (const index of indexes) {
      if (changeText(changes[index], family) === undefined) continue;
      if (++at === line) return index;
    }
    at++;
  }
  return -1;
}

/** Indexes of the changes of each table. */
function byTable(changes: readonly XtChange[]): ReadonlyMap<XtTable, readonly number[]> {
  const tables = new Map<XtTable, number[]>();
  for (const [index, { table }] of changes.entries()) {
    const indexes = tables.get(table);
    if (indexes) indexes.push(index);
    else tables.set(table, [index]);
  }
  return tables;
}

/** One change as a restore's input says it; undefined for one that restoring implies. */
function changeText(change: XtChange, family: IpFamily): string | undefined {
  switch (change.kind) {
    case "add-table":
      return undefined;
    case "add-chain":
    case "flush-chain":
      return `:${change.chain} - [0:0]`;
    case "delete-chain":
      return `-X ${change.chain}`;
    case "append-rule":
      return `-A ${change.chain} ${ruleText(change.rule, family)}`.trimEnd();
    case "insert-rule":
      return `-I ${change.chain} ${ruleText(change.rule, family)}`.trimEnd();
    case "delete-rule":
      return `-D ${change.chain} ${ruleText(change.rule, family)}`.trimEnd();
    default:
      return assertNever(change);
  }
}

function addressText(option: "-s" | "-d", { cidr, not }: XtAddress): string {
  return `${not ? " !" : ""} ${option} ${cidr}`;
}

function interfaceText(option: "-i" | "-o", { name, not }: XtInterface): string {
  return `${not ? " !" : ""} ${option} ${name}`;
}

function matchText(match: XtMatch, family: IpFamily): string {
  switch (match.kind) {
    case "comment":
      return `-m comment --comment ${quoted(match.text)}`;
    case "ports":
      return `-m ${match.protocol}` +
        (match.destination === undefined ? "" : ` --dport ${match.destination}`);
    case "mark":
      return `-m mark${match.not ? " !" : ""} --mark ${hex(match.value)}` +
        (match.mask === 0xffffffff ? "" : `/${hex(match.mask)}`);
    case "conntrack":
      return `-m conntrack${match.not ? " !" : ""} --ctstate ${match.states.join(",")}`;
    case "addrtype":
      return "-m addrtype" + (match.notSource ? " !" : "") +
        (match.source ? ` --src-type ${match.source}` : "") +
        (match.destination ? ` --dst-type ${match.destination}` : "");
    case "statistic":
      return `-m statistic --mode random --probability ${chanceText(match.chance)}`;
    case "recent-set":
      return `-m recent --set ${recentText(match.name, family)}`;
    case "recent-check":
      return `-m recent --rcheck --seconds ${match.seconds} --reap ` +
        recentText(match.name, family);
    case "nfacct":
      return `-m nfacct --nfacct-name ${quoted(match.name)}`;
    case "set":
      return `-m set${match.not ? " !" : ""} --match-set ${match.name} ${match.sides.join(",")}`;
    case "physdev-is-in":
      return `-m physdev${match.not ? " !" : ""} --physdev-is-in`;
    case "ipvs":
      return `-m ipvs --vproto ${xtProtocolNumbers[match.protocol]} --vaddr ${match.address} ` +
        `--vport ${match.port}`;
    default:
      return assertNever(match);
  }
}

function targetText(target: XtTarget, family: IpFamily): string {
  switch (target.kind) {
    case "accept":
      return "-j ACCEPT";
    case "drop":
      return "-j DROP";
    case "return":
      return "-j RETURN";
    case "jump":
      return `-j ${target.chain}`;
    case "goto":
      return `-g ${target.chain}`;
    case "reject":
      return `-j REJECT --reject-with ${rejectWith(family)}`;
    case "dnat":
      return `-j DNAT --to-destination ${joinHostPort(target.address, target.port)}`;
    case "masquerade":
      return `-j MASQUERADE${target.randomFully ? " --random-fully" : ""}`;
    case "set-xmark":
      return `-j MARK --set-xmark ${hex(target.value)}/${hex(target.mask)}`;
    default:
      return assertNever(target);
  }
}

/** What a plain `-j REJECT` answers, by its name in the family. */
export function rejectWith(family: IpFamily): string {
  return family === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
}

/** The mask that compares whole addresses. */
export function wholeAddressMask(family: IpFamily): string {
  return family === "IPv4" ? "255.255.255.255" : "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
}

function recentText(name: string, family: IpFamily): string {
  return `--name ${quoted(name)} --mask ${wholeAddressMask(family)} --rsource`;
}

/** Exact, and to even where the digits end half way, as C's printf rounds. */
function chanceText(chance: number): string {
  const scaled = BigInt(chance) * 10n ** BigInt(CHANCE_DIGITS);
  const chances = BigInt(CHANCES);
  let digits = scaled / chances;
  const rest = (scaled % chances) * 2n;
  if (rest > chances || (rest === chances && digits % 2n === 1n)) digits++;
  const text = digits.toString().padStart(CHANCE_DIGITS + 1, "0");
  return `${text.slice(0, -CHANCE_DIGITS)}.${text.slice(-CHANCE_DIGITS)}`;
}

/** As xtables_save_string: bare where that is safe, else quoted. */
function quoted(text: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(text)) return text;
  return `"${text.replace(/["\\']/g, "\\$&")}"`;
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
