/** Sins that only show when all files are seen together; each row is a small project. */
import type { SourceFile } from "./checker.ts";

/** Files by their paths, and words that the checker's sentence must hold; without, all is well. */
export interface SharedSin {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly sorry?: string;
}

/** The files of a row, beside a `main.ts` that uses what is to be used. */
export function filesOf({ files }: SharedSin): SourceFile[] {
  return Object.entries(files).map(([path, text]) => ({ path, text }));
}

/** Circles, and what nobody imports. */
export const sharedSins: readonly SharedSin[] = [
  {
    name: "a circle of types in one room",
    files: {
      "lib/base/a.ts": 'import type { B } from "./b.ts"; export type A = B;',
      "lib/base/b.ts": 'import type { A } from "./a.ts"; export type B = A;',
    },
    sorry: "lib/base/a.ts: imports go in a circle: lib/base/a.ts -> lib/base/b.ts -> lib/base/a.ts",
  },
  {
    name: "a circle through three rooms",
    files: {
      "lib/sync/a.ts": 'import "../trackers/a.ts";',
      "lib/trackers/a.ts": 'import { type X } from "../kube/a.ts";',
      "lib/kube/a.ts": 'import "../sync/a.ts"; import "./b.ts"; export type X = 1;',
      "lib/kube/b.ts": "",
    },
    sorry: "lib/kube/a.ts -> lib/sync/a.ts -> lib/trackers/a.ts -> lib/kube/a.ts",
  },
  {
    name: "a circle that is closed when somebody asks",
    files: {
      "cmd/a.ts": 'const load = () => import("./b.ts");',
      "cmd/b.ts": 'import "./a.ts";',
    },
    sorry: "cmd/a.ts -> cmd/b.ts -> cmd/a.ts",
  },
  {
    name: "a circle through a worker",
    files: {
      "lib/kernel/a.ts": 'new Worker(new URL("./w.ts", import.meta.url));',
      "lib/kernel/w.ts": 'import "./a.ts";',
    },
    sorry: "lib/kernel/a.ts -> lib/kernel/w.ts -> lib/kernel/a.ts",
  },
  {
    name: "a circle by handing on",
    files: {
      "lib/base/a.ts": 'export { b } from "./b.ts";',
      "lib/base/b.ts": 'import { b } from "./a.ts";',
    },
    sorry: "imports go in a circle",
  },
  {
    name: "a file that imports itself",
    files: { "lib/base/a.ts": 'import type { A } from "./a.ts";' },
    sorry: "lib/base/a.ts -> lib/base/a.ts",
  },
  {
    name: "a file that nobody imports",
    files: { "lib/base/a.ts": "export const a = 1;" },
    sorry: "lib/base/a.ts: nobody imports this file",
  },
  {
    name: "a test's helper that nobody imports",
    files: { "tests/fakes/a.ts": "export const a = 1;" },
    sorry: "tests/fakes/a.ts: nobody imports this file",
  },
  {
    name: "an export that nobody imports",
    files: {
      "main.ts": 'import { a } from "./cmd/a.ts";',
      "cmd/a.ts": "export const a = 1;\nexport const { b, c: [d] } = a;",
    },
    sorry: "cmd/a.ts:2: no other file imports d; do not export it",
  },
  {
    name: "a listed export that nobody imports",
    files: {
      "main.ts": 'import { a } from "./cmd/a.ts";',
      "cmd/a.ts": "const a = 1, b = 2; export { a, b as c };",
    },
    sorry: "no other file imports c",
  },
  {
    name: "a type that nobody imports and no export speaks of",
    files: {
      "main.ts": 'import { a } from "./cmd/a.ts";',
      "cmd/a.ts": "export interface B {} export function a(): void { let b: B; }",
    },
    sorry: "no other file imports B",
  },
  {
    name: "an export that goes unused behind import()",
    files: {
      "main.ts": 'const { a } = await import("./cmd/a.ts");',
      "cmd/a.ts": "export const a = 1, b = 2;",
    },
    sorry: "no other file imports b",
  },
  {
    name: "an export for tests alone",
    files: {
      "tests/a_test.ts": 'import { a } from "../lib/base/a.ts";',
      "lib/base/a.ts": "/** A. */\nexport const a = 1;",
    },
    sorry: "lib/base/a.ts:2: only tests import a",
  },
  {
    name: "an export for tests with its reason",
    files: {
      "tests/a_test.ts": 'import { a } from "../lib/base/a.ts";',
      "lib/base/a.ts": "/**\n * A. For\n * tests: why.\n */\nexport const a = 1;",
    },
  },
  {
    name: "a fake",
    files: {
      "tests/a_test.ts": 'import { FakeA } from "../lib/kernel/fake_a.ts";',
      "lib/kernel/fake_a.ts": "export class FakeA {}",
    },
  },
  {
    name: "types that exports speak of",
    files: {
      "main.ts": 'import { a, type S } from "./cmd/a.ts";',
      "cmd/a.ts": `
        export interface B { c: C }
        export type C = keyof D;
        export interface D {}
        export class E { f(g: F): void {} }
        export interface F {}
        export interface S extends T {}
        export interface T {}
        export function a(b: B): E { return x; }`,
    },
  },
  {
    name: "all names at once",
    files: { "main.ts": 'import * as a from "./cmd/a.ts";', "cmd/a.ts": "export const b = 1;" },
  },
];
