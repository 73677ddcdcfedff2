/** The names that a file gives to others, and the types that go with each. */
import { keyName, lineOf, type Node, walk } from "./syntax.ts";

/** One name that other files can import. */
export interface Export {
  readonly name: string;
  /** A type is gone when the program runs: whoever imports it depends on nothing. */
  readonly isType: boolean;
  /** The types that its users meet: of parameters, results and public members. */
  readonly signature: readonly string[];
  readonly line: number;
  /** The comment before it. */
  readonly comment: string;
}

/** A comment's words in one line. */
function proseOf(comment: string): string {
  return comment.replaceAll(/\s*\n\s*\*?\s*/g, " ").trim();
}

type ExportNode = Node & { type: "ExportNamedDeclaration" | "ExportDefaultDeclaration" };

/** What one `export` gives. */
export function exportsOf(node: ExportNode): Export[] {
  const { declaration } = node;
  const rest = {
    signature: declaration ? signatureTypes(declaration) : [],
    line: lineOf(node),
    comment: (node.leadingComments ?? []).map(({ value }) => proseOf(value)).join(" "),
  };
  return namesOf(node).map((named) => ({ ...named, ...rest }));
}

function namesOf(node: ExportNode): Pick<Export, "name" | "isType">[] {
  if (node.type === "ExportDefaultDeclaration") return [{ name: "default", isType: false }];
  const ofTypes = node.exportKind === "type";
  const listed = node.specifiers.map((each) => ({
    name: keyName(each.exported, false) ?? "*",
    isType: ofTypes || "exportKind" in each && each.exportKind === "type",
  }));
  if (!node.declaration) return listed;
  return declaredNames(node.declaration).map((name) => ({ name, isType: ofTypes }));
}

function declaredNames(node: Node): string[] {
  if (node.type === "VariableDeclaration") {
    return node.declarations.flatMap((each) => boundNames(each.id));
  }
  const id = "id" in node ? node.id : undefined;
  return id?.type === "Identifier" ? [id.name] : [];
}

/** The variables that a pattern declares: `a`, `b` and `c` of `{ a, x: [b, ...c] }`. */
export function boundNames(pattern: Node): string[] {
  const names: string[] = [];
  walk(pattern, (node, parents) => {
    if (node.type.startsWith("TS")) return false;
    const parent = parents.at(-1);
    const isKey = parent?.type === "ObjectProperty" && parent.key === node;
    if (node.type === "Identifier" && !isKey) names.push(node.name);
    return true;
  });
  return [...new Set(names)];
}

function signatureTypes(declaration: Node): string[] {
  const names: string[] = [];
  walk(declaration, (node, parents) => {
    if (isInside(node, parents.at(-1))) return false;
    if (node.type === "TSTypeReference" && node.typeName.type === "Identifier") {
      names.push(node.typeName.name);
    }
    if (node.type === "TSTypeQuery" && node.exprName.type === "Identifier") {
      names.push(node.exprName.name);
    }
    if (node.type === "TSInterfaceHeritage" || node.type === "TSClassImplements") {
      if (node.expression.type === "Identifier") names.push(node.expression.name);
    }
    return true;
  });
  return names;
}

/** What users of an export do not see of it: bodies, values, private members. */
function isInside(node: Node, parent: Node | undefined): boolean {
  switch (node.type) {
    case "BlockStatement":
    case "ClassPrivateMethod":
    case "ClassPrivateProperty":
      return true;
    case "ClassMethod":
      return node.accessibility === "private";
    default:
      return parent?.type === "VariableDeclarator" && parent.init === node ||
        parent?.type === "ClassProperty" && parent.value === node ||
        parent?.type === "AssignmentPattern" && parent.right === node;
  }
}
