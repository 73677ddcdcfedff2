/** What the text of a file looks like: the length of its functions, and the strings in it. */
import type { Found } from "./module.ts";
import { keyName, lineOf, type Node, walk } from "./syntax.ts";

/** A function that is longer than the limit. */
export interface Long {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}

/** Functions of every kind, from the first line of the signature to the closing brace. */
export function longFunctions(program: Node, limit: number): Long[] {
  const found: Long[] = [];
  walk(program, (node, parents) => {
    if (!functions.has(node.type) || !node.loc) return;
    const lines = node.loc.end.line - node.loc.start.line + 1;
    if (lines > limit) found.push({ name: nameOf(node, parents), line: lineOf(node), lines });
  });
  return found;
}

const functions: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ObjectMethod",
  "ClassMethod",
  "ClassPrivateMethod",
  "StaticBlock",
]);

function nameOf(node: Node, parents: readonly Node[]): string {
  for (const each of [node, parents.at(-1)]) {
    if (!each) continue;
    if ("key" in each && each.key) {
      if (each.key.type === "PrivateName") return `#${each.key.id.name}`;
      const computed = "computed" in each && each.computed === true;
      return keyName(each.key, computed) ?? "a computed name";
    }
    if ("id" in each && each.id?.type === "Identifier") return each.id.name;
  }
  return "a function without a name";
}

/** The strings of a file, and how its templates begin; what types say is left out. */
export function texts(program: Node): Found[] {
  const found: Found[] = [];
  walk(program, (node) => {
    if (node.type === "StringLiteral") found.push({ what: node.value, line: lineOf(node) });
    if (node.type === "TemplateLiteral") {
      found.push({ what: node.quasis[0].value.raw, line: lineOf(node) });
    }
  });
  return found;
}
