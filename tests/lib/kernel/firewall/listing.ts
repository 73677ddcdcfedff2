/** Rules of anybody as short text, to be compared by eye. */
import type {
  FirewallElement,
  FirewallExpression,
  FirewallTable,
  FirewallVerdict,
} from "../../../../lib/kernel/firewall/firewall.ts";

/** A line a table, a chain, and a rule. */
export function listing(tables: readonly FirewallTable[]): string {
  return tables.map((table) => {
    const flags = `${table.isDormant ? " dormant" : ""}${table.isOwned ? " owned" : ""}`;
    return [
      `${table.engine} ${table.family} ${table.name}${flags}`,
      ...table.chains.flatMap(({ base, name, rules }) => [
        `  ${name}${base ? ` ${base.type} ${base.hook} ${base.priority} ${base.policy}` : ""}`,
        ...(rules ?? []).map(({ comment, expressions, place }) =>
          `    ${place}${comment === undefined ? "" : ` "${comment}"`}: ${
            expressions.map(describe).join("; ")
          }`
        ),
      ]),
    ].join("\n");
  }).join("\n") + "\n";
}

function describe(expression: FirewallExpression): string {
  switch (expression.kind) {
    case "lookup": {
      const { from, into, not, set, setName } = expression;
      const elements = set?.elements.map(describeElement).join(", ");
      const name = setName.startsWith("__") ? "" : setName;
      const fields = set ? ` of ${set.fieldBytes}` : "";
      return `${not ? "not " : ""}r${from} in ${name}{ ${elements} }${fields}` +
        `${into === undefined ? "" : ` -> r${into}`}`;
    }
    case "verdict":
      return describeVerdict(expression.verdict);
    default: {
      const { kind, ...rest } = expression;
      const words = Object.entries(rest).map(([name, value]) =>
        `${name}=${value instanceof Uint8Array ? value.toHex() : value}`
      );
      return [kind, ...words].join(" ");
    }
  }
}

function describeElement({ first, isCatchAll, last, value, verdict }: FirewallElement): string {
  const key = isCatchAll ? "*" : first.toHex();
  const range = first.toHex() === last.toHex() ? key : `${key}-${last.toHex()}`;
  const end = verdict ? ` : ${describeVerdict(verdict)}` : value ? ` : ${value.toHex()}` : "";
  return `${range}${end}`;
}

function describeVerdict(verdict: FirewallVerdict): string {
  return "chain" in verdict ? `${verdict.kind} ${verdict.chain}` : verdict.kind;
}
