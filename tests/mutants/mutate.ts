/**
 * Small faults that could have been typed: a condition negated, a statement dropped, a bound or a
 * constant moved, a return emptied. A unit test should notice each.
 */
import { isTypeOnly, lineOf, type Node, parseSource, walk } from "../architecture/syntax.ts";

/** One fault: `text` in place of what stands from `start` to `end`. */
export interface Mutant {
  readonly path: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** What is replaced by what, in one line. */
  readonly change: string;
  /** The line of the text in which it begins. */
  readonly code: string;
}

interface Edit {
  readonly node: Node;
  readonly text: string;
}

/** All mutants of a file, in the order of its text. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const mutants: Mutant[] = [];
  const lines = source.split("\n");
  walk(parseSource(path, source), (node, parents) => {
    if (isTypeOnly(node)) return false;
    for (const edit of editsOf(node, parents, (each) => source.slice(each.start!, each.end!))) {
      const { start, end } = edit.node;
      const before = oneLine(source.slice(start!, end!));
      const line = lineOf(edit.node);
      mutants.push({
        path,
        line,
        code: lines[line - 1].trim(),
        start: start!,
        end: end!,
        text: edit.text,
        change: edit.text === ";"
          ? `without \`${before}\``
          : `\`${before}\` -> \`${oneLine(edit.text)}\``,
      });
    }
    return true;
  });
  return mutants.sort((a, b) => a.start - b.start || a.end - b.end);
}

/** The source with the fault in it. */
export function mutated(source: string, { start, end, text }: Mutant): string {
  return source.slice(0, start) + text + source.slice(end);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= 90 ? line : `${line.slice(0, 60)} … ${line.slice(-27)}`;
}

type TextOf = (node: Node) => string;

function editsOf(node: Node, parents: readonly Node[], textOf: TextOf): Edit[] {
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
      return [{ node: node.test, text: `!(${textOf(node.test)})` }];
    case "LogicalExpression":
      return logicalEdits(node, textOf);
    case "BinaryExpression":
      return binaryEdits(node, parents, textOf);
    case "ExpressionStatement":
      return isDroppable(node.expression) ? [{ node, text: ";" }] : [];
    case "ThrowStatement":
    case "ContinueStatement":
      return [{ node, text: ";" }];
    case "BreakStatement":
      return isInLastCase(parents) ? [] : [{ node, text: ";" }];
    case "ReturnStatement":
      return returnEdits(node, parents);
    case "NumericLiteral":
    case "BigIntLiteral":
    case "BooleanLiteral":
      return literalEdits(node, parents);
    default:
      return [];
  }
}

/** Either side alone, or the other junction. */
function logicalEdits(node: Node & { type: "LogicalExpression" }, textOf: TextOf): Edit[] {
  const [left, right] = [textOf(node.left), textOf(node.right)];
  if (node.operator === "??") return [{ node, text: `(${left})` }];
  return [{ node, text: `((${left}) ${node.operator === "&&" ? "||" : "&&"} (${right}))` }];
}

const otherOperators: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&": "|",
  "|": "&",
  "<<": ">>",
  ">>": "<<",
  ">>>": "<<",
};

function binaryEdits(
  node: Node & { type: "BinaryExpression" },
  parents: readonly Node[],
  textOf: TextOf,
): Edit[] {
  const other = otherOperators[node.operator];
  if (other === undefined || isText(node.left) || isText(node.right)) return [];
  // Which of two equals comes first is the same to a sort.
  if (isTest(node, parents.at(-1)) && isComparison(parents.at(-1))) return [];
  // The whole condition is negated already.
  if (node.operator.endsWith("==") && isTest(node, parents.at(-1))) return [];
  return [{ node, text: `(${textOf(node.left)} ${other} ${textOf(node.right)})` }];
}

function isText(node: Node): boolean {
  return node.type === "StringLiteral" || node.type === "TemplateLiteral" ||
    node.type === "BinaryExpression" && node.operator === "+" &&
      (isText(node.left) || isText(node.right));
}

/** `a < b ? -1 : 1` */
function isComparison(node: Node | undefined): boolean {
  if (node?.type !== "ConditionalExpression") return false;
  const isOne = (each: Node) => each.type === "NumericLiteral" && each.value === 1;
  const isMinusOne = (each: Node) => each.type === "UnaryExpression" && isOne(each.argument);
  return isMinusOne(node.consequent) && isOne(node.alternate);
}

function isTest(node: Node, parent: Node | undefined): boolean {
  return parent !== undefined && "test" in parent && parent.test === node;
}

/** What must stay: `super()`, the proof of a switch's completeness, a mere pause. */
function isDroppable(expression: Node): boolean {
  if (expression.type === "YieldExpression") return expression.argument !== null;
  if (isProof(expression)) return false;
  return expression.type !== "CallExpression" || expression.callee.type !== "Super";
}

function isProof(node: Node): boolean {
  return node.type === "CallExpression" && node.callee.type === "Identifier" &&
    node.callee.name === "assertNever";
}

/** In the last case of a switch a `break` changes nothing. */
function isInLastCase(parents: readonly Node[]): boolean {
  const [outer, parent] = parents.slice(-2);
  return parent?.type === "SwitchCase" && outer?.type === "SwitchStatement" &&
    outer.cases.at(-1) === parent;
}

/** A returned value is lost, and a return alone is passed over where something follows it. */
function returnEdits(node: Node & { type: "ReturnStatement" }, parents: readonly Node[]): Edit[] {
  const { argument } = node;
  if (!argument) return isInLastCase(parents) ? [] : [{ node, text: ";" }];
  const isEmpty = argument.type === "BooleanLiteral" || argument.type === "NullLiteral" ||
    argument.type === "Identifier" && argument.name === "undefined";
  return isEmpty || isProof(argument) ? [] : [{ node: argument, text: "undefined" }];
}

type Literal = Node & { type: "NumericLiteral" | "BigIntLiteral" | "BooleanLiteral" };

function literalEdits(node: Literal, parents: readonly Node[]): Edit[] {
  const parent = parents.at(-1);
  if (parent && "key" in parent && parent.key === node) return [];
  if (node.type === "BooleanLiteral") return [{ node, text: String(!node.value) }];
  if (node.type === "BigIntLiteral") return [{ node, text: `${BigInt(node.value) + 1n}n` }];
  const { value } = node;
  if (parent?.type === "UnaryExpression" && parent.operator === "-") {
    return [{ node: parent, text: String(value) }];
  }
  // What a comparison answers is a sign.
  if (value === 1 && parent?.type === "ConditionalExpression") return [{ node, text: "-1" }];
  // One more is no fault of a patience or a size that is large; twice as much is.
  return [{ node, text: String(Number.isInteger(value) && value < 100 ? value + 1 : value * 2) }];
}
