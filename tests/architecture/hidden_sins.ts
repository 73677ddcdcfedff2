/**
 * The ways round a plain name and a plain import: through `globalThis`, by unpacking, by Node's
 * modules, by an import that is not written out. Each text stands in a room that may not do it.
 */
import type { Sin } from "./sins.ts";

/** Sins in a file of base, which may do nothing of the kind. */
export const hiddenSins: readonly Omit<Sin, "path">[] = [
  { name: "globalThis.Deno", text: "globalThis.Deno.exit(1);", sorry: "(Deno.exit)" },
  { name: "self's index", text: 'self["Deno"]["exit"](1);', sorry: "(Deno.exit)" },
  { name: "a global in a global", text: "globalThis.self.Deno.exit(1);", sorry: "(Deno.exit)" },
  { name: "an index of Deno", text: "Deno[`exit`](1);", sorry: "(Deno.exit)" },
  { name: "a question mark", text: "Deno?.exit(1);", sorry: "(Deno.exit)" },
  { name: "an exclamation mark", text: "Deno!.exit(1);", sorry: "(Deno.exit)" },
  {
    name: "another type",
    text: "(globalThis as unknown as Any).Deno.exit(1);",
    sorry: "(Deno.exit)",
  },
  { name: "unpacking", text: "const { exit } = Deno; exit(1);", sorry: "(Deno.exit)" },
  {
    name: "unpacking under another name",
    text: "const { exit: leave = wait } = Deno;",
    sorry: "(Deno.exit)",
  },
  {
    name: "unpacking twice",
    text: "const { Deno: { exit } } = globalThis;",
    sorry: "(Deno.exit)",
  },
  { name: "unpacking the rest", text: "const { errors, ...rest } = Deno;", sorry: "handed on" },
  { name: "unpacking later", text: "let exit; ({ exit } = Deno);", sorry: "Deno handed on" },
  { name: "unpacking Deno", text: "const { Deno: d } = globalThis;", sorry: "Deno handed on" },
  {
    name: "an unpacked name that is computed",
    text: "const { [x]: y } = Deno;",
    sorry: "handed on",
  },
  { name: "another name", text: "const d = Deno; d.exit(1);", sorry: "Deno handed on" },
  { name: "a computed index", text: 'const n = "exit"; Deno[n](1);', sorry: "Deno handed on" },
  { name: "an argument", text: 'Reflect.get(globalThis, "Deno");', sorry: "globalThis handed on" },
  { name: "a member that is in no row", text: "Deno.openKv();", sorry: "Deno.openKv has no home" },
  { name: "fetch under another name", text: "const get = fetch;", sorry: "(fetch)" },
  { name: "globalThis.fetch", text: "globalThis.fetch(url);", sorry: "(fetch)" },
  { name: "a request by shorthand", text: "use({ fetch });", sorry: "(fetch)" },
  {
    name: "a local name elsewhere",
    text: "function a(fetch: F) { fetch(x); }\nfunction b() { fetch(y); }",
    sorry: "a.ts:2: HTTP requests (fetch)",
  },
  { name: "a WebSocket", text: "new WebSocket(url);", sorry: "sockets of the web" },
  { name: "a worker", text: 'new Worker("data:,x");', sorry: "threads (Worker)" },
  { name: "Node's process", text: "process.exit(1);", sorry: "Node's globals (process)" },
  { name: "require()", text: 'require("fs");', sorry: "Node's globals (require)" },
  { name: "eval()", text: 'eval("Deno.exit(1)");', sorry: "code made from text (eval)" },
  { name: "new Function()", text: 'new Function("x")();', sorry: "code made from text" },
  { name: "node:process", text: 'import process from "node:process";', sorry: "node:process" },
  {
    name: "a part of a module",
    text: 'import { readFile } from "node:fs/promises";',
    sorry: "node:fs",
  },
  {
    name: "node:module",
    text: 'import { createRequire } from "node:module";',
    sorry: "node:module",
  },
  { name: "node:vm", text: 'import { runInThisContext } from "node:vm";', sorry: "node:vm" },
  {
    name: "a module without its prefix",
    text: 'import { spawn } from "child_process";',
    sorry: "not in the list",
  },
  {
    name: "a module of Node, when needed",
    text: 'await import("node:child_process");',
    sorry: "node:child_process",
  },
  {
    name: "a module of Node, handed on",
    text: 'export { exit } from "node:process";',
    sorry: "node:process",
  },
  {
    name: "a pure module in another room",
    text: 'import "node:crypto";',
    sorry: "must not import the package node:crypto",
  },
  { name: "a module from afar", text: 'import "npm:lodash@4";', sorry: "not in the list" },
  {
    name: "code as data",
    text: 'await import("data:text/javascript,x");',
    sorry: "not in the list",
  },
  { name: "a computed import", text: "await import(name);", sorry: "not written out" },
  {
    name: "an import with a hole",
    text: "await import(`node:${name}`);",
    sorry: "not written out",
  },
  {
    name: "a written template",
    text: "await import(`../kube/a.ts`);",
    sorry: "must not import lib/kube/a.ts",
  },
  {
    name: "a file's URL",
    text: 'import "file:///lib/kube/a.ts";',
    sorry: "must not import lib/kube/a.ts",
  },
  {
    name: "a URL with a hole",
    text: "new URL(`./${x}.ts`, import.meta.url);",
    sorry: "not written out",
  },
  {
    name: "a URL without its dot",
    text: 'new URL("../kube/a.ts", import.meta.url);',
    sorry: "must not import lib/kube/a.ts",
  },
  { name: "the module's own address", text: "const here = import.meta.url;", sorry: "import.meta" },
  { name: "import.meta handed on", text: "const { resolve } = import.meta;", sorry: "import.meta" },
  {
    name: "import.meta.resolve()",
    text: 'import.meta.resolve("../kube/a.ts");',
    sorry: "import.meta",
  },
  { name: "export *", text: 'export * from "./b.ts";', sorry: "export *" },
  { name: "import =", text: 'import fs = require("fs");', sorry: "import …" },
  {
    name: "the type of another room",
    text: 'let x: import("../kube/a.ts").X;',
    sorry: "must not import lib/kube/a.ts",
  },
  {
    name: "a type alone",
    text: 'import type { X } from "../kube/a.ts";',
    sorry: "must not import lib/kube/a.ts",
  },
  { name: "a worded path", text: "read(`/proc/${pid}/stat`);", sorry: "/proc and /sys" },
];

/** Texts that look like sins and are none, in a file of base. */
export const innocentTexts: readonly string[] = [
  "// Deno.exit(1) is for main.ts; fetch(url) is for kube",
  "await this.fetch(x); source.fetch(y); const a = { fetch: 1 }; a.fetch;",
  'const text = "Deno.exit(1)"; const help = `see /proc/cpuinfo: ${text}`;',
  "function read(self: Self, fetch: F) { self.read(); return fetch(self); }",
  "let file: Deno.FsFile; let get: typeof fetch; let all: typeof globalThis;",
  "if (import.meta.main) run();",
  'new URL("data.json", import.meta.url);',
  "if (error instanceof Deno.errors.NotFound) throw error;",
  "class A { process() {} get require() { return this.process(); } }",
];
