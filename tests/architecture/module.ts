/** What one file imports and exports, read from its syntax: the input of most rules. */
import { type Export, exportsOf } from "./exports.ts";
import { bare, keyName, lineOf, literalText, type Node, walk } from "./syntax.ts";

/** One import of another file or package, also by `import()`, of types, or of a worker's URL. */
export interface Import {
  /** A path from the project's root, or what names a package. */
  readonly target: string;
  /** The imported names; `*` is all of them. */
  readonly names: readonly string[];
  /** Only loaded when the code comes by. */
  readonly lazy: boolean;
  readonly line: number;
}

/** A place, and what is wrong or used there. */
export interface Found {
  readonly what: string;
  readonly line: number;
}

/** The doors of a file. */
export interface Doors {
  readonly imports: readonly Import[];
  readonly exports: readonly Export[];
  /** Imports whose target cannot be read from the text. */
  readonly hidden: readonly Found[];
}

/** Reads what a file imports and exports. */
export function readDoors(path: string, program: Node): Doors {
  const imports: Import[] = [];
  const exports: Export[] = [];
  const hidden: Found[] = [];
  const add: Add = (node, source, { names, lazy, relative }) => {
    const text = literalText(bare(source));
    if (text === undefined) {
      hidden.push({ what: "an import whose target is not written out", line: lineOf(node) });
    } else {
      const target = relative || isPath(text) ? resolve(path, text) : text;
      imports.push({ target, names, lazy, line: lineOf(node) });
    }
  };
  walk(program, (node, parents) => {
    switch (node.type) {
      case "ImportDeclaration":
        add(node, node.source, { names: node.specifiers.map(importedName), lazy: false });
        break;
      case "ExportAllDeclaration":
        add(node, node.source, { names: ["*"], lazy: false });
        hidden.push({ what: "`export *`, which does not tell its names", line: lineOf(node) });
        break;
      case "ExportNamedDeclaration":
        if (node.source) {
          add(node, node.source, { names: node.specifiers.map(reexportedName), lazy: false });
        }
        exports.push(...exportsOf(node));
        break;
      case "ExportDefaultDeclaration":
        exports.push(...exportsOf(node));
        break;
      case "ImportExpression":
        add(node, node.source, { names: namesTaken(parents), lazy: true });
        break;
      case "TSImportType":
        add(node, node.source, { names: [qualifier(node.qualifier)], lazy: false });
        break;
      case "TSImportEqualsDeclaration":
        hidden.push({ what: "`import … =`", line: lineOf(node) });
        break;
      case "MetaProperty":
        hidden.push(...metaUse(node, parents, add));
    }
  });
  return { imports, exports, hidden };
}

type Add = (node: Node, source: Node, how: How) => void;

interface How {
  readonly names: readonly string[];
  readonly lazy: boolean;
  /** A URL's file, which needs no `./`. */
  readonly relative?: boolean;
}

/** `import.meta` serves `new URL("./file", import.meta.url)`, and nothing that hides a file. */
function metaUse(node: Node, parents: readonly Node[], add: Add): Found[] {
  const member = parents.at(-1);
  const user = parents.at(-2);
  const property = member?.type === "MemberExpression"
    ? keyName(member.property, member.computed)
    : undefined;
  if (property === "main") return [];
  if (property === "url" && user?.type === "NewExpression" && isName(user.callee, "URL")) {
    const [file] = user.arguments;
    if (literalText(file)?.endsWith(".ts") === false) return [];
    add(user, file, { names: [], lazy: true, relative: true });
    return [];
  }
  return [{
    what: `\`import.meta\` outside \`new URL("file", import.meta.url)\``,
    line: lineOf(node),
  }];
}

function isName(node: Node, name: string): boolean {
  return node.type === "Identifier" && node.name === name;
}

function importedName(node: Node): string {
  if (node.type === "ImportSpecifier") return moduleName(node.imported);
  return node.type === "ImportDefaultSpecifier" ? "default" : "*";
}

function reexportedName(node: Node): string {
  return node.type === "ExportSpecifier" ? moduleName(node.local) : "*";
}

/** The name in an import's or export's list, which may be a string. */
function moduleName(node: Node): string {
  return node.type === "Identifier" ? node.name : literalText(node) ?? "*";
}

/** `const { a } = await import(…)` and `(await import(…)).a` take names; all else takes all. */
function namesTaken(parents: readonly Node[]): string[] {
  if (parents.at(-1)?.type !== "AwaitExpression") return ["*"];
  const user = parents.at(-2);
  if (user?.type === "MemberExpression") {
    return [keyName(user.property, user.computed) ?? "*"];
  }
  if (user?.type !== "VariableDeclarator" || user.id.type !== "ObjectPattern") return ["*"];
  return user.id.properties.map((each) =>
    each.type === "ObjectProperty" ? keyName(each.key, each.computed) ?? "*" : "*"
  );
}

function qualifier(node: Node | null | undefined): string {
  if (node?.type === "Identifier") return node.name;
  return node?.type === "TSQualifiedName" ? qualifier(node.left) : "*";
}

function isPath(specifier: string): boolean {
  return /^(\.{0,2}\/|file:)/.test(specifier);
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
