/**
 * Which globals a file uses, as dotted names: `Deno.exit`, `fetch`. It follows the ways round a
 * plain name: `globalThis.Deno`, `Deno["exit"]`, `const { exit } = Deno`, `(globalThis as any)`.
 * Where a global itself is handed on, nobody can tell what becomes of it: that is `hidden`.
 */
import { boundNames } from "./exports.ts";
import type { Found } from "./module.ts";
import { bare, isTypeOnly, keyName, lineOf, type Node, walk } from "./syntax.ts";

/** What a file uses of the world. */
export interface Globals {
  readonly used: readonly Found[];
  readonly hidden: readonly Found[];
}

/** Names of the global object; what is below them is a global like any other. */
const selves: ReadonlySet<string> = new Set(["globalThis", "self", "window", "global"]);

/** The uses of the named globals, and of what is below them. */
export function readGlobals(program: Node, names: ReadonlySet<string>): Globals {
  const used: Found[] = [];
  const hidden: Found[] = [];
  const note = (path: readonly string[], node: Node) => {
    if (path.length === 0 || path.length === 1 && path[0] === "Deno") {
      const name = path[0] ?? "globalThis";
      hidden.push({ what: `${name} handed on as a value`, line: lineOf(node) });
    } else if (path[0] === "Deno") used.push({ what: `Deno.${path[1]}`, line: lineOf(node) });
    else if (names.has(path[0])) used.push({ what: path[0], line: lineOf(node) });
  };
  walk(program, (node, parents) => {
    if (isTypeOnly(node)) return false;
    if (node.type !== "Identifier" || isKey(node, parents)) return true;
    if (node.name !== "Deno" && !selves.has(node.name) && !names.has(node.name)) return true;
    if (isLocal(node.name, parents)) return true;
    for (const path of pathsFrom(node, parents)) note(path, node);
    return true;
  });
  return { used, hidden };
}

/** Every path that the code takes from a global: one, or one for each name it unpacks. */
function pathsFrom(node: Node & { type: "Identifier" }, parents: readonly Node[]): string[][] {
  const path = selves.has(node.name) ? [] : [node.name];
  let inner: Node = node;
  for (const parent of parents.toReversed()) {
    if (bare(parent) === bare(inner)) inner = parent;
    else if (isMember(parent) && parent.object === inner) {
      const name = keyName(parent.property, parent.computed);
      if (name === undefined) return [path];
      if (path.length > 0 || !selves.has(name)) path.push(name);
      inner = parent;
    } else {
      return parent.type === "VariableDeclarator" && parent.init === inner
        ? unpacked(parent.id, path)
        : [path];
    }
  }
  return [path];
}

function isMember(
  node: Node,
): node is Node & { type: "MemberExpression" | "OptionalMemberExpression" } {
  return node.type === "MemberExpression" || node.type === "OptionalMemberExpression";
}

function unpacked(pattern: Node, path: readonly string[]): string[][] {
  if (pattern.type !== "ObjectPattern") return [[...path]];
  return pattern.properties.flatMap((each) => {
    if (each.type !== "ObjectProperty") return [[...path]];
    const name = keyName(each.key, each.computed);
    if (name === undefined) return [[...path]];
    return unpacked(each.value, path.length === 0 && selves.has(name) ? path : [...path, name]);
  });
}

/** Whether a function or a block round a name declares a variable of that name. */
function isLocal(name: string, parents: readonly Node[]): boolean {
  return parents.some((node) => {
    if ("params" in node && Array.isArray(node.params)) {
      if (node.params.some((each) => boundNames(each as Node).includes(name))) return true;
    }
    const statements = node.type === "Program" || node.type === "BlockStatement" ? node.body : [];
    return statements.some((each) =>
      each.type === "VariableDeclaration" &&
        each.declarations.some(({ id }) => boundNames(id).includes(name)) ||
      each.type === "FunctionDeclaration" && each.id?.name === name ||
      each.type === "ImportDeclaration" && each.specifiers.some(({ local }) => local.name === name)
    );
  });
}

/** A name that stands for a property or a module's export, not for a variable. */
function isKey(node: Node, parents: readonly Node[]): boolean {
  const parent = parents.at(-1);
  if (!parent) return false;
  if (isMember(parent)) return parent.property === node && !parent.computed;
  if (parent.type === "ImportSpecifier") return true;
  if (parent.type === "ExportSpecifier") return parent.exported === node;
  return "key" in parent && parent.key === node && !("computed" in parent && parent.computed);
}
