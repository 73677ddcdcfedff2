/**
 * The syntax of a file as a tree. A parser sees what patterns over text cannot: where a function
 * ends, what is a name and what is prose, which import is of types alone.
 */
import { parse } from "@babel/parser";
import type { File, Node } from "@babel/types";

export type { Node };

/** The tree of a file; a file that is no TypeScript is a `SyntaxError` that names it. */
export function parseSource(path: string, text: string): File {
  try {
    return parse(text, { sourceType: "module", plugins: ["typescript"] });
  } catch (error) {
    throw new SyntaxError(`Cannot parse "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/** Calls `visit` for a node and all below it, parents first; `false` leaves out what is below. */
export function walk(
  node: Node,
  visit: (node: Node, parents: readonly Node[]) => unknown,
): void {
  descend(node, { visit, parents: [] });
}

interface Walk {
  readonly visit: (node: Node, parents: readonly Node[]) => unknown;
  /** The nodes above the present one, outermost first. */
  readonly parents: Node[];
}

function descend(node: Node, walking: Walk): void {
  if (walking.visit(node, walking.parents) === false) return;
  walking.parents.push(node);
  for (const child of children(node)) descend(child, walking);
  walking.parents.pop();
}

const notChildren: ReadonlySet<string> = new Set([
  "loc",
  "extra",
  "errors",
  "comments",
  "tokens",
  "leadingComments",
  "innerComments",
  "trailingComments",
]);

/** The nodes directly below one, in the order of the text but for decorators. */
function* children(node: Node): Generator<Node> {
  for (const [field, value] of Object.entries(node)) {
    if (notChildren.has(field)) continue;
    for (const each of Array.isArray(value) ? value : [value]) {
      if (isNode(each)) yield each;
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null &&
    typeof (value as { type?: unknown }).type === "string";
}

/** The first line of a node; the parser counts from 1. */
export function lineOf(node: Node): number {
  return node.loc?.start.line ?? 0;
}

/** The text of a string that is written out: a literal, or a template without holes. */
export function literalText(node: Node | null | undefined): string | undefined {
  if (node?.type === "StringLiteral") return node.value;
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0) {
    return node.quasis[0].value.cooked ?? undefined;
  }
  return undefined;
}

/** An expression without what only the type checker reads: `x as T`, `x!`, `x satisfies T`. */
export function bare(node: Node): Node {
  switch (node.type) {
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
    case "TSTypeAssertion":
    case "ParenthesizedExpression":
      return bare(node.expression);
    default:
      return node;
  }
}

/** The name of a key: `exit` of `{ exit }`, `["exit"]` or `.exit`; a computed one has none. */
export function keyName(key: Node, computed: boolean): string | undefined {
  if (!computed && key.type === "Identifier") return key.name;
  return literalText(bare(key));
}

/** Types cost nothing and do nothing; what wraps an expression in a type is looked into. */
export function isTypeOnly(node: Node): boolean {
  if (node.type === "ImportDeclaration") return true;
  return node.type.startsWith("TS") && bare(node) === node && !typescriptWithCode.has(node.type);
}

const typescriptWithCode: ReadonlySet<string> = new Set([
  "TSEnumDeclaration",
  "TSEnumBody",
  "TSEnumMember",
  "TSExportAssignment",
  "TSInstantiationExpression",
  "TSModuleBlock",
  "TSModuleDeclaration",
  "TSParameterProperty",
]);
