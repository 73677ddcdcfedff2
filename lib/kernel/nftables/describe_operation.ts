/** What an operation does, in words that complete "Cannot …". */
import type { NftOperation, NftSet } from "./operations.ts";
import { keyText, ruleText, setKind } from "./text.ts";

/** `add element 172.30.0.1 . tcp . 80 to map "service-ips"`. */
export function describeOperation(
  operation: NftOperation,
  { element, setOf }: {
    readonly element?: number;
    readonly setOf: (name: string) => NftSet | undefined;
  },
): string {
  const kindOf = (name: string) => {
    const set = setOf(name);
    return `${set ? setKind(set) : "set"} "${name}"`;
  };
  switch (operation.kind) {
    case "add-table":
      return "add table";
    case "delete-table":
      return "delete table";
    case "add-chain":
      return `add chain "${operation.chain.name}"`;
    case "flush-chain":
      return `flush chain "${operation.chain}"`;
    case "delete-chain":
      return `delete chain "${operation.chain}"`;
    case "add-rule":
      // The family only tells `ip` from `ip6` in the words of the rule.
      return `add rule to chain "${operation.rule.chain}" (${ruleText(operation.rule, "ip")})`;
    case "add-set":
      return `add ${setKind(operation.set)} "${operation.set.name}"`;
    case "delete-set":
      return `delete ${kindOf(operation.set)}`;
    case "flush-set":
      return `flush ${kindOf(operation.set)}`;
    case "add-elements":
    case "delete-elements": {
      const adds = operation.kind === "add-elements";
      const direction = `${adds ? "to" : "from"} ${kindOf(operation.set)}`;
      const one = element === undefined ? undefined : operation.elements[element];
      return one === undefined
        ? `${adds ? "add" : "delete"} ${operation.elements.length} elements ${direction}`
        : `${adds ? "add" : "delete"} element ${keyText(one.key)} ${direction}`;
    }
  }
}
