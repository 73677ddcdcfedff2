/** Finds violations of the rules in sources given as text, so that planted sins can be tested too. */
import type { Export } from "./exports.ts";
import { type Globals, readGlobals } from "./globals.ts";
import { importCircles, type Importers, importersOf } from "./graph.ts";
import { type Doors, type Found, readDoors } from "./module.ts";
import {
  computedImports,
  entries,
  forTests,
  homes,
  lazyImports,
  limits,
  modeless,
  modes,
  packages,
  type Room,
  rooms,
} from "./rules.ts";
import { type Long, longFunctions, texts } from "./shape.ts";
import { parseSource } from "./syntax.ts";

/** A file's path from the project's root, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A file with what the rules ask of it. */
export interface ReadFile extends SourceFile {
  readonly doors: Doors;
  readonly globals: Globals;
  readonly texts: readonly Found[];
  readonly long: readonly Long[];
}

const guarded: ReadonlySet<string> = new Set(homes.flatMap((home) => home.names ?? []));
const homed = /^(main\.ts|cmd\/|lib\/)/;

/** Parses a file once, for all the rules. */
export function readSource({ path, text }: SourceFile): ReadFile {
  const program = parseSource(path, text);
  return {
    path,
    text,
    doors: withComputed(path, readDoors(path, program)),
    globals: readGlobals(program, guarded),
    texts: texts(program),
    long: longFunctions(program, limits.functionLines),
  };
}

function withComputed(path: string, doors: Doors): Doors {
  const target = computedImports[path];
  if (target === undefined) return doors;
  const computed = { target, names: [], lazy: true, line: 1 };
  return { ...doors, imports: [...doors.imports, computed] };
}

/** One sentence per violation that a file shows by itself, in the order of the files. */
export function findViolations(files: readonly ReadFile[]): string[] {
  return files.flatMap((file) => [
    ...importViolations(file),
    ...effectViolations(file),
    ...modeViolations(file),
    ...shapeViolations(file),
  ]);
}

/** One sentence per violation that only all files together show. */
export function findViolationsTogether(files: readonly ReadFile[]): string[] {
  const importers = importersOf(files);
  const circles = importCircles(files).map((round) =>
    `${round[0]}: imports go in a circle: ${round.join(" -> ")}`
  );
  return [...circles, ...files.flatMap((file) => unusedViolations(file, importers))];
}

/**
 * An export is for another file. The types of its signature go with it, as `deno doc --lint` asks;
 * one that only tests use says why it is not tested through what the program uses.
 */
function unusedViolations({ path, doors }: ReadFile, importers: Importers): string[] {
  const users = importers.get(path) ?? [];
  if (users.length === 0 && !entries.some((entry) => entry.test(path))) {
    return [`${path}: nobody imports this file`];
  }
  const takersOf = (name: string) =>
    users.filter(({ names }) => names.includes(name) || names.includes("*"));
  const taken = withSignatures(
    doors.exports,
    doors.exports.filter(({ name }) => takersOf(name).length > 0),
  );
  return doors.exports.flatMap(({ name, isType, line, comment }) => {
    if (!taken.has(name)) {
      return [`${path}:${line}: no other file imports ${name}; do not export it`];
    }
    const takers = takersOf(name);
    if (!homed.test(path) || isType || takers.length === 0) return [];
    if (takers.some(({ by }) => homed.test(by))) return [];
    if (forTests.test(path) || /\bFor tests: \w/.test(comment)) return [];
    return [
      `${path}:${line}: only tests import ${name}; test it through what is used, ` +
      `or say why in its comment: "For tests: ..."`,
    ];
  });
}

function withSignatures(exports: readonly Export[], used: readonly Export[]): Set<string> {
  const taken = new Set(used.map(({ name }) => name));
  for (const name of taken) {
    const signature = exports.filter((each) => each.name === name).flatMap((e) => e.signature);
    for (const type of signature) taken.add(type);
  }
  return taken;
}

function importViolations({ path, doors }: ReadFile): string[] {
  const room = roomOf(path);
  if (!room) {
    return path.startsWith("tests/") || path.startsWith("scripts/")
      ? []
      : [`${path}: no room of the architecture holds this file`];
  }
  const hidden = doors.hidden
    .filter(() => !(path in computedImports))
    .map(({ what, line }) => `${path}:${line}: ${what}`);
  const crossed = doors.imports.flatMap(({ target, lazy }) => {
    if (!target.startsWith("lib/") && !target.startsWith("cmd/") && target !== "main.ts") {
      return packageViolation(path, target);
    }
    const isOwn = isWithin(target, room.path);
    if (isOwn && room.apart) return [`${path}: ${room.path} must not import its own ${target}`];
    if (isOwn || room.imports.some((allowed) => isWithin(target, allowed))) return [];
    if (lazyImports.some((rule) => rule.from === path && lazy && rule.to.test(target))) return [];
    return [`${path}: ${room.path} must not import ${target}`];
  });
  return [...hidden, ...crossed];
}

function packageViolation(path: string, target: string): string[] {
  if (target.startsWith("tests/") || target.startsWith("scripts/")) {
    return [`${path}: must not import ${target}`];
  }
  const allowed = packages[target];
  if (!allowed) {
    return [
      target.startsWith("node:")
        ? `${path}: ${target} is an effect without a home; use Deno's in its room`
        : `${path}: the package ${target} is not in the list of tests/architecture/rules.ts`,
    ];
  }
  if (!allowed.some((prefix) => isWithin(path, prefix))) {
    return [`${path}: must not import the package ${target}`];
  }
  return [];
}

function effectViolations({ path, globals, texts }: ReadFile): string[] {
  if (!roomOf(path)) return [];
  const away = homes.filter((home) => !home.only.some((prefix) => isWithin(path, prefix)));
  const strayed = away.flatMap(({ what, names = [], text, only }) =>
    [
      ...globals.used.filter((use) => names.includes(use.what)),
      ...texts.filter((each) => text?.test(each.what)),
    ].map((use) =>
      `${path}:${use.line}: ${what} (${use.what}) belong to ${only.join(", ") || "nobody"}`
    )
  );
  const homeless = globals.used
    .filter((use) => !guarded.has(use.what))
    .map((use) => `${path}:${use.line}: ${use.what} has no home in tests/architecture/rules.ts`);
  const hidden = globals.hidden.map(({ what, line }) => `${path}:${line}: ${what}`);
  return [...strayed, ...homeless, ...hidden];
}

function modeViolations({ path, text }: ReadFile): string[] {
  if (!modeless.some((prefix) => path.startsWith(prefix))) return [];
  const named = modes.find((mode) => text.toLowerCase().includes(mode));
  return named ? [`${path}: names the mode ${named}`] : [];
}

function shapeViolations({ path, text, long }: ReadFile): string[] {
  const found: string[] = [];
  const lines = text.split("\n").length;
  const limit = path.startsWith("tests/")
    ? limits.testLines
    : roomOf(path)?.sourceLines ?? limits.sourceLines;
  if (lines > limit) found.push(`${path}: ${lines} lines; the limit is ${limit}`);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!/^[a-z0-9_]+\.(d\.)?ts$/.test(name)) found.push(`${path}: file names are snake_case`);
  if (/^(utils?|helpers?|index|common|misc)\.ts$/.test(name)) {
    found.push(`${path}: this name says nothing`);
  }
  if (!roomOf(path)) return found;
  return found.concat(
    long.map((each) =>
      `${path}:${each.line}: ${each.name} has ${each.lines} lines; the limit is ` +
      limits.functionLines
    ),
  );
}

/** The room of a path from the project's root; undefined where there is none. */
export function roomOf(path: string): Room | undefined {
  return rooms
    .filter((room) => isWithin(path, room.path))
    .sort((a, b) => b.path.length - a.path.length)[0];
}

function isWithin(path: string, prefix: string): boolean {
  return prefix.endsWith("/") ? path.startsWith(prefix) : path === prefix;
}
