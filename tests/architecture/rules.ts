/**
 * The architecture as data: who may import whom, where each kind of effect lives, what must not be
 * named where. `lib/README.md` shows the same table to people.
 */

/** Rooms are matched by the longest prefix of a file's path; a trailing slash means a folder. */
export interface Room {
  readonly path: string;
  /** Paths this room may import besides its own; a file path allows that file alone. */
  readonly imports: readonly string[];
  /** No file of it imports another one of it. */
  readonly apart?: true;
  /** How long its files may be, where that is less than elsewhere. */
  readonly sourceLines?: number;
}

const base = "lib/base/";
const kernel = "lib/kernel/";
const snapshot = "lib/snapshot/";
const node = "lib/node/";
const writer = "lib/writers/writer.ts";
const leftovers = "lib/writers/leftovers.ts";
const kubeChains = "lib/writers/kube_chains/";
const registry = "lib/writers/registry.ts";

const writers = new URL("../../lib/writers/", import.meta.url);
const doors = ["config.ts", "mod.ts", "leftovers.ts"];

/** A folder with a door is a mode's: a new one needs no line here. */
export const modes: readonly string[] = [...Deno.readDirSync(writers)]
  .filter(({ isDirectory, name }) =>
    isDirectory &&
    [...Deno.readDirSync(new URL(`${name}/`, writers))].some((file) => doors.includes(file.name))
  )
  .map(({ name }) => name)
  .sort();

export const rooms: readonly Room[] = [
  { path: base, imports: [] },
  { path: "lib/kube/", imports: [base] },
  { path: kernel, imports: [base] },
  { path: snapshot, imports: [base] },
  { path: "lib/config/", imports: [base, registry] },
  { path: "lib/watchers/", imports: [base, "lib/kube/"] },
  { path: "lib/trackers/", imports: [base, "lib/kube/", snapshot] },
  { path: writer, imports: [base, kernel, snapshot, leftovers] },
  { path: leftovers, imports: [base, kernel] },
  { path: kubeChains, imports: [base, kernel, snapshot, leftovers] },
  {
    path: registry,
    imports: [
      base,
      kernel,
      snapshot,
      writer,
      leftovers,
      ...modes.map((mode) => `lib/writers/${mode}/config.ts`),
    ],
  },
  ...modes.map((mode) => ({
    path: `lib/writers/${mode}/`,
    imports: [base, kernel, snapshot, writer, leftovers, kubeChains],
  })),
  {
    path: "lib/sync/",
    imports: [
      base,
      kernel,
      "lib/watchers/",
      "lib/trackers/",
      snapshot,
      "lib/health/",
      "lib/record/",
      writer,
    ],
  },
  {
    path: node,
    imports: [
      base,
      "lib/kube/",
      kernel,
      "lib/config/",
      "lib/watchers/",
      "lib/trackers/",
      snapshot,
      writer,
    ],
  },
  { path: "lib/health/", imports: [base, snapshot] },
  { path: "lib/record/", imports: [base, kernel] },
  { path: "lib/namespaces/", imports: [base, "lib/kube/"] },
  {
    path: "lib/doctor/",
    imports: [
      base,
      "lib/kube/",
      kernel,
      "lib/config/",
      "lib/watchers/",
      "lib/trackers/",
      snapshot,
      node,
      "lib/record/",
      writer,
      leftovers,
      registry,
    ],
  },
  {
    // A check is data and a pure function: whatever it knows was read by others.
    path: "lib/doctor/checks/",
    imports: [
      base,
      "lib/doctor/check.ts",
      "lib/doctor/facts/fact_values.ts",
      "lib/doctor/judging/",
      "lib/doctor/rehearsal/report.ts",
    ],
    apart: true,
    sourceLines: 150,
  },
  {
    path: "cmd/",
    imports: [
      base,
      "lib/kube/",
      kernel,
      "lib/config/",
      "lib/watchers/",
      "lib/trackers/",
      snapshot,
      node,
      "lib/sync/",
      "lib/health/",
      "lib/record/",
      "lib/namespaces/",
      "lib/doctor/",
      writer,
      leftovers,
      registry,
    ],
  },
  { path: "main.ts", imports: ["cmd/", base] },
];

/** The registry may reach a mode's rules and its leftovers, but only when it is asked for. */
export const lazyImports: readonly { readonly from: string; readonly to: RegExp }[] = [
  { from: registry, to: /^lib\/writers\/[a-z]+\/(mod|leftovers)\.ts$/ },
];

/** What code may do only in its home. `only` are path prefixes or files. */
export interface Home {
  readonly what: string;
  /** Globals by their dotted names, whichever way the code takes to them. */
  readonly names?: readonly string[];
  /** How a text begins that names what is guarded. */
  readonly text?: RegExp;
  readonly only: readonly string[];
}

const entry = ["main.ts", "cmd/"];
const files = ["lib/base/files.ts", "lib/base/files_watch.ts", "lib/base/file_state.ts", kernel];

/** A member of `Deno` that stands in no row here has no home, and nobody may use it. */
export const homes: readonly Home[] = [
  {
    what: "native code",
    names: ["Deno.dlopen", "Deno.UnsafeCallback", "Deno.UnsafePointer", "Deno.UnsafePointerView"],
    only: [kernel],
  },
  { what: "processes", names: ["Deno.Command", "Deno.kill"], only: [kernel] },
  { what: "threads", names: ["Worker"], only: [kernel, "lib/doctor/rehearsal/stage.ts"] },
  // Checks open nothing: they name files for people.
  { what: "/proc and /sys", text: /^\/(proc|sys)\//, only: [kernel, "lib/doctor/checks/"] },
  { what: "the kernel's release", names: ["Deno.osRelease"], only: [kernel] },
  { what: "the engine's heap", names: ["Deno.memoryUsage", "gc"], only: [kernel] },
  {
    what: "outgoing connections",
    names: ["Deno.connect", "Deno.connectTls"],
    only: [kernel, "lib/health/ask_page.ts"],
  },
  { what: "HTTP requests", names: ["fetch", "Deno.createHttpClient"], only: ["lib/kube/"] },
  {
    what: "listening",
    names: ["Deno.serve", "Deno.listen", "Deno.listenTls", "Deno.listenDatagram"],
    only: ["lib/health/"],
  },
  {
    what: "ordinary files",
    names: [
      ...["readFile", "readTextFile", "writeFile", "writeTextFile", "readDir", "open", "create"],
      ...["stat", "lstat", "mkdir", "remove", "rename", "copyFile", "symlink", "link", "readLink"],
      ...["truncate", "chmod", "chown", "utime", "realPath", "makeTempDir", "makeTempFile"],
    ].flatMap((name) => [`Deno.${name}`, `Deno.${name}Sync`]).concat("Deno.watchFs"),
    only: files,
  },
  {
    what: "signals, environment, arguments and exit",
    names: [
      ...["Deno.exit", "Deno.exitCode", "Deno.args", "Deno.env"],
      ...["Deno.addSignalListener", "Deno.removeSignalListener"],
    ],
    only: entry,
  },
  {
    what: "facts of the process and the host",
    names: ["Deno.pid", "Deno.hostname", "Deno.version", "Deno.build"],
    only: entry,
  },
  {
    what: "standard streams",
    names: ["Deno.stdin", "Deno.stdout", "Deno.stderr"],
    only: [...entry, "lib/base/files.ts"],
  },
  { what: "the runtime's errors", names: ["Deno.errors"], only: ["main.ts", "cmd/", "lib/"] },
  { what: "effects by Node's globals", names: ["process", "require"], only: [] },
  { what: "code made from text", names: ["eval", "Function"], only: [] },
  { what: "what a browser stores", names: ["localStorage", "sessionStorage", "caches"], only: [] },
  { what: "sockets of the web", names: ["WebSocket", "WebSocketStream", "EventSource"], only: [] },
];

/** Where a program begins: files that nobody needs to import. */
export const entries: readonly RegExp[] = [
  /^main\.ts$/,
  /_test\.ts$/,
  /^scripts\/\w+\.ts$/,
  /^tests\/bench\/\w+_bench\.ts$/,
  /^tests\/demo\/demo\.ts$/,
  /^tests\/(kernel|peers)\/record_\w+\.ts$/,
  // Guests run them by their path.
  /^tests\/vm\/(fates|proofs|record|red|room)\/\w+\.ts$/,
];

/** Behaving fakes stand beside what they stand for, and only tests use them. */
export const forTests = /\/fake_\w+\.ts$/;

/** Imports that cannot be read from the text: these workers end in `.js` once they are compiled. */
export const computedImports: Readonly<Record<string, string>> = {
  "lib/kernel/nf_tables/worker_transport.ts": "lib/kernel/nf_tables/worker.ts",
  "lib/doctor/rehearsal/stage.ts": "lib/doctor/rehearsal/worker.ts",
};

/** Packages, and the files that may import each: a seam round every dependency. Node's count too. */
export const packages: Readonly<Record<string, readonly string[]>> = {
  "yaml": ["lib/base/yaml.ts", "lib/config/"],
  "zod": [
    "lib/config/",
    "lib/kube/",
    "lib/base/",
    ...modes.map((mode) => `lib/writers/${mode}/config.ts`),
  ],
  "prom-client": [base, "lib/health/"],
  // Pure, or Deno has nothing like it; all other modules of Node are effects that have a home.
  "node:crypto": ["lib/kube/credentials/", ...modes.map((mode) => `lib/writers/${mode}/`)],
  "node:timers": [`${base}event_loop.ts`],
  "node:inspector/promises": ["lib/health/debug_pages.ts"],
};

/** Rooms that must not know that modes exist. */
export const modeless: readonly string[] = [
  base,
  "lib/watchers/",
  "lib/trackers/",
  snapshot,
  "lib/sync/",
  "lib/health/",
];

export const limits = { sourceLines: 400, testLines: 600, functionLines: 60 } as const;
