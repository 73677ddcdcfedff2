/** Finds violations of the rules in sources given as text, so that planted sins can be tested too. */
import {
  homes,
  lazyImports,
  limits,
  modeless,
  modes,
  packages,
  type Room,
  rooms,
} from "./rules.ts";

/** A file's path from the project's root, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

interface Import {
  readonly target: string;
  readonly lazy: boolean;
}

/** One sentence per violation, in the order of the files. */
export function findViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const code = withoutComments(file.text);
    return [
      ...importViolations(file.path, code),
      ...effectViolations(file.path, code),
      ...modeViolations(file.path, file.text),
      ...shapeViolations(file.path, file.text),
    ];
  });
}

function importViolations(path: string, code: string): string[] {
  const room = roomOf(path);
  if (!room) {
    return path.startsWith("tests/") || path.startsWith("scripts/")
      ? []
      : [`${path}: no room of the architecture holds this file`];
  }
  return importsOf(path, code).flatMap(({ target, lazy }) => {
    if (!target.startsWith("lib/") && !target.startsWith("cmd/") && target !== "main.ts") {
      return packageViolation(path, target, lazy);
    }
    if (isWithin(target, room.path) || room.imports.some((allowed) => isWithin(target, allowed))) {
      return [];
    }
    if (lazyImports.some((rule) => rule.from === path && lazy && rule.to.test(target))) return [];
    return [`${path}: ${room.path} must not import ${target}`];
  });
}

function packageViolation(path: string, target: string, lazy: boolean): string[] {
  if (target.startsWith("tests/") || target.startsWith("scripts/")) {
    return [`${path}: must not import ${target}`];
  }
  if (target.startsWith("node:")) {
    return /^node:(fs|net|http|https|http2|tls|dgram|child_process|os|process|worker_threads)\b/
        .test(target)
      ? [`${path}: ${target} is an effect without a home; use Deno's in its room`]
      : [];
  }
  const allowed = packages[target];
  if (!allowed) {
    return [`${path}: the package ${target} is not in the list of tests/architecture/rules.ts`];
  }
  if (!allowed.some((prefix) => isWithin(path, prefix))) {
    return [`${path}: must not import the package ${target}`];
  }
  if (target === "@kubernetes/client-node" && !lazy) {
    return [`${path}: ${target} must be imported lazily`];
  }
  return [];
}

function effectViolations(path: string, code: string): string[] {
  if (!roomOf(path)) return [];
  return homes
    .filter((home) =>
      home.pattern.test(code) && !home.only.some((prefix) => isWithin(path, prefix))
    )
    .map((home) =>
      `${path}: ${home.what} (${home.pattern.exec(code)?.[0]}) belong to ${home.only.join(", ")}`
    );
}

function modeViolations(path: string, text: string): string[] {
  if (!modeless.some((prefix) => path.startsWith(prefix))) return [];
  const named = modes.find((mode) => text.toLowerCase().includes(mode));
  return named ? [`${path}: names the mode ${named}`] : [];
}

function shapeViolations(path: string, text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n");
  const limit = path.startsWith("tests/") ? limits.testLines : limits.sourceLines;
  if (lines.length > limit) found.push(`${path}: ${lines.length} lines; the limit is ${limit}`);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!/^[a-z0-9_]+\.(d\.)?ts$/.test(name)) found.push(`${path}: file names are snake_case`);
  if (/^(utils?|helpers?|index|common|misc)\.ts$/.test(name)) {
    found.push(`${path}: this name says nothing`);
  }
  if (roomOf(path)) found.push(...longFunctions(path, lines));
  return found;
}

/** Formatted code closes a function at the indentation where it opened. */
function longFunctions(path: string, lines: readonly string[]): string[] {
  const found: string[] = [];
  lines.forEach((line, start) => {
    const opening =
      /^( *)(?:export )?(?:(?:static |async |override |get |set )*)(?:function\*? )?\*?(#?\w+)(?:<.*>)?\(.*\{$/
        .exec(line);
    if (!opening || /^(if|for|while|switch|catch|return|with)$/.test(opening[2])) return;
    const closing = new RegExp(`^${opening[1]}\\}[,;)]*$`);
    const end = lines.findIndex((each, i) => i > start && closing.test(each));
    const length = end - start + 1;
    if (length > limits.functionLines) {
      found.push(
        `${path}:${start + 1}: ${
          opening[2]
        } has ${length} lines; the limit is ${limits.functionLines}`,
      );
    }
  });
  return found;
}

function roomOf(path: string): Room | undefined {
  return rooms
    .filter((room) => isWithin(path, room.path))
    .sort((a, b) => b.path.length - a.path.length)[0];
}

function isWithin(path: string, prefix: string): boolean {
  return prefix.endsWith("/") ? path.startsWith(prefix) : path === prefix;
}

function importsOf(path: string, code: string): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, lazy: boolean) =>
    found.push({ target: resolve(path, specifier), lazy });
  for (
    const [, specifier] of code.matchAll(
      /^\s*(?:import|export)\b[^"'`;]*?\bfrom\s*["']([^"']+)["']/gm,
    )
  ) add(specifier, false);
  for (const [, specifier] of code.matchAll(/^\s*import\s*["']([^"']+)["']/gm)) {
    add(specifier, false);
  }
  for (const [, specifier] of code.matchAll(/\bimport\(\s*["'`]([^"'`]+)["'`]/g)) {
    add(specifier, true);
  }
  for (
    const [, specifier] of code.matchAll(
      /new URL\(\s*["']([^"']+\.ts)["']\s*,\s*import\.meta\.url/g,
    )
  ) add(specifier, true);
  return found;
}

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** Comments blanked, so that prose never counts as code; strings are kept. */
function withoutComments(text: string): string {
  return text.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (match, string) => string ?? match.replace(/[^\n]/g, " "),
  );
}
