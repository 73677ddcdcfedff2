/**
 * Operations as text for `nft -f -`: what `--dry-run` prints, and the oracle of the tests. Loading it
 * makes the same ruleset as committing the operations.
 */
import { assertNever } from "../../base/assert_never.ts";
import { familyFacts } from "./family.ts";
import { fieldLayout } from "./fields.ts";
import { literalField, literalRanges } from "./literals.ts";
import type {
  NftChain,
  NftElement,
  NftFamily,
  NftField,
  NftFieldType,
  NftOperation,
  NftRule,
  NftSelector,
  NftSet,
  NftStatement,
  NftTable,
  NftVerdict,
} from "./operations.ts";
import { selectorType } from "./selectors.ts";
import { needsTypeof, typeofModulus } from "./user_data.ts";

/**
 * For tests: what `nft` itself must load to the same rules.
 *
 * One line for each operation (element lists of any length on one line each), a newline at the end.
 */
export function nftText(table: NftTable, operations: readonly NftOperation[]): string {
  return operations.map((operation) => `${operationText(table, operation)}\n`).join("");
}

/** One command of the `nft` language. */
export function operationText(table: NftTable, operation: NftOperation): string {
  const place = `${table.family} ${table.name}`;
  switch (operation.kind) {
    case "add-table":
      return `add table ${place}${operation.dormant ? " { flags dormant ; }" : ""}`;
    case "delete-table":
      return `delete table ${place}`;
    case "add-chain":
      return `add chain ${place} ${operation.chain.name}${chainBody(operation.chain)}`;
    case "flush-chain":
      return `flush chain ${place} ${operation.chain}`;
    case "delete-chain":
      return `delete chain ${place} ${operation.chain}`;
    case "add-rule":
      return `add rule ${place} ${operation.rule.chain} ${ruleText(operation.rule, table.family)}`;
    case "add-set":
      return `add ${setKind(operation.set)} ${place} ${operation.set.name} ` +
        `{ ${setBody(operation.set, table.family)} }`;
    case "delete-set":
      return `delete set ${place} ${operation.set}`;
    case "flush-set":
      return `flush set ${place} ${operation.set}`;
    case "add-elements":
      return elementsText(
        `add element ${place} ${operation.set}`,
        operation.elements.map(elementText),
      );
    case "delete-elements":
      return elementsText(
        `delete element ${place} ${operation.set}`,
        operation.elements.map(({ key }) => keyText(key)),
      );
    default:
      return assertNever(operation);
  }
}

/** Key, time, comment and value of an element, as in `172.30.0.1 . tcp . 80 : goto pick-3`. */
export function elementText({ key, value, comment, timeoutSeconds }: NftElement): string {
  const time = timeoutSeconds === undefined ? "" : ` timeout ${timeoutSeconds}s`;
  const note = time + (comment === undefined ? "" : ` comment ${quote(comment)}`);
  if (value === undefined) return `${keyText(key)}${note}`;
  const text = "kind" in value ? verdictText(value) : keyText(value);
  return `${keyText(key)}${note} : ${text}`;
}

/** `172.30.0.1 . tcp . 80`, or `*` for the catch-all element. Joined: text put together piece by piece stays a chain in memory. */
export function keyText(fields: readonly NftField[]): string {
  return fields.length === 0 ? "*" : fields.join(" . ");
}

/** `goto pick-3`. */
function verdictText(verdict: NftVerdict): string {
  return "chain" in verdict ? `${verdict.kind} ${verdict.chain}` : verdict.kind;
}

/** The statements of a rule and its comment. */
export function ruleText(rule: NftRule, family: NftFamily): string {
  const parts = rule.statements.map((statement) => statementText(statement, family));
  if (rule.comment !== undefined) parts.push(`comment ${quote(rule.comment)}`);
  return parts.join(" ");
}

/** What stands between the braces of a set's or map's definition. */
export function setBody(set: NftSet, family: NftFamily): string {
  const words: string[] = [typeClause(set, family)];
  if (set.dynamicTimeoutSeconds !== undefined) {
    words.push("flags dynamic,timeout ;", `timeout ${set.dynamicTimeoutSeconds}s ;`);
  } else if (set.interval) {
    words.push("flags interval ;");
  }
  if (set.comment !== undefined) words.push(`comment ${quote(set.comment)} ;`);
  return words.join(" ");
}

/** What follows a chain's name: nothing, or its base and comment in braces. */
export function chainBody({ base, comment }: NftChain): string {
  const words: string[] = [];
  if (base) {
    words.push(
      `type ${base.type} hook ${base.hook} priority ${base.priority} ;`,
      `policy ${base.policy ?? "accept"} ;`,
    );
  }
  if (comment !== undefined) words.push(`comment ${quote(comment)} ;`);
  return words.length === 0 ? "" : ` { ${words.join(" ")} }`;
}

/** `set` or `map`. */
export function setKind(set: NftSet): "set" | "map" {
  return set.value === undefined ? "set" : "map";
}

function typeClause(set: NftSet, family: NftFamily): string {
  const name = needsTypeof(set) ? typeofText : typeText;
  const list = (types: readonly NftFieldType[]) =>
    types.map((type) => name(type, family)).join(" . ");
  const value = set.value === undefined
    ? ""
    : ` : ${set.value === "verdict" ? "verdict" : list(set.value)}`;
  return `${needsTypeof(set) ? "typeof" : "type"} ${list(set.key)}${value} ;`;
}

function typeText(type: NftFieldType, family: NftFamily): string {
  if (type === "addr") return family === "ip" ? "ipv4_addr" : "ipv6_addr";
  return type === "index" ? "integer" : type;
}

function typeofText(type: NftFieldType, family: NftFamily): string {
  switch (type) {
    case "addr":
      return `${family} daddr`;
    case "inet_proto":
      return "meta l4proto";
    case "inet_service":
      return "th dport";
    case "index":
      return `numgen random mod ${typeofModulus}`;
  }
}

function statementText(statement: NftStatement, family: NftFamily): string {
  switch (statement.kind) {
    case "match": {
      const not = statement.not ? "!= " : "";
      const operand = "set" in statement.in
        ? `@${statement.in.set}`
        : literalText(statement.select, statement.in.values, family);
      return `${selectText(statement.select, family)} ${not}${operand}`;
    }
    case "match-interface":
      return `iifname ${statement.not ? "!= " : ""}` +
        quote(statement.name.replace(/\*$/, "\\*") + (statement.prefix ? "*" : ""));
    case "match-local":
      return `fib ${statement.select} type local`;
    case "match-ct-new":
      return "ct state new";
    case "match-ct-dnat":
      return "ct status dnat";
    case "match-mark":
      return `meta mark and ${statement.mask} != 0`;
    case "set-mark-or":
      return `meta mark set meta mark or ${statement.mask}`;
    case "set-mark-xor":
      return `meta mark set meta mark xor ${statement.mask}`;
    case "verdict":
      return verdictText(statement.verdict);
    case "vmap":
      return `${selectText(statement.select, family)} vmap @${statement.map}`;
    case "random-verdict": {
      const verdicts = statement.verdicts.map((each, i) => `${i} : ${verdictText(each)}`);
      return `numgen random mod ${verdicts.length} vmap { ${verdicts.join(", ")} }`;
    }
    case "update-set":
      return `update @${statement.set} { ${selectText(statement.select, family)}` +
        `${statement.timeoutSeconds ? ` timeout ${statement.timeoutSeconds}s` : ""} }`;
    case "dnat":
      return family === "ip"
        ? `dnat to ${statement.address}:${statement.port}`
        : `dnat to [${statement.address}]:${statement.port}`;
    case "dnat-map":
      return `dnat ${family} addr . port to ${selectText(statement.select, family)} ` +
        `map @${statement.map}`;
    case "dnat-same":
      return `dnat to ${family} daddr`;
    case "masquerade":
      return statement.fullyRandom ? "masquerade fully-random" : "masquerade";
    case "reject":
      return statement.tcpReset ? "reject with tcp reset" : "reject";
    default:
      return assertNever(statement);
  }
}

function selectText(select: readonly NftSelector[], family: NftFamily): string {
  return select.map((selector) => selectorText(selector, family)).join(" . ");
}

function selectorText(selector: NftSelector, family: NftFamily): string {
  switch (selector) {
    case "saddr":
    case "daddr":
      return `${family} ${selector}`;
    case "l4proto":
      return "meta l4proto";
    case "dport":
      return "th dport";
    default:
      return "constant" in selector
        ? `numgen random mod 1 offset ${selector.constant}`
        : `numgen random mod ${selector.numgenModulus}`;
  }
}

function literalText(
  [selector]: readonly NftSelector[],
  values: readonly NftField[],
  family: NftFamily,
): string {
  const layout = fieldLayout([selectorType(selector)], familyFacts(family).name);
  const fields = literalRanges(layout, values).map((range) => literalField(layout, range));
  return fields.length === 1 ? String(fields[0]) : `{ ${fields.join(", ")} }`;
}

/** An empty list changes nothing; a comment keeps the line. */
function elementsText(command: string, elements: readonly string[]): string {
  return elements.length === 0
    ? `# ${command}: no elements`
    : `${command} { ${elements.join(", ")} }`;
}

/** nft has no escapes within quotes. */
function quote(text: string): string {
  return `"${text.replaceAll('"', "'")}"`;
}
