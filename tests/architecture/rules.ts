/**
 * The architecture as data: who may import whom, where each kind of effect lives, what must not be
 * named where. `lib/README.md` shows the same table to people.
 */

/** Rooms are matched by the longest prefix of a file's path; a trailing slash means a folder. */
export interface Room {
  readonly path: string;
  /** Paths this room may import besides its own; a file path allows that file alone. */
  readonly imports: readonly string[];
}

const base = "lib/base/";
const kernel = "lib/kernel/";
const snapshot = "lib/snapshot/";
const writer = "lib/writers/writer.ts";
const registry = "lib/writers/registry.ts";

export const modes = ["nftables", "iptables", "ipvs", "winkernel", "userspace"] as const;

export const rooms: readonly Room[] = [
  { path: base, imports: [] },
  { path: "lib/kube/", imports: [base] },
  { path: kernel, imports: [base] },
  { path: snapshot, imports: [base] },
  { path: "lib/config/", imports: [base, registry] },
  { path: "lib/watchers/", imports: [base, "lib/kube/"] },
  { path: "lib/trackers/", imports: [base, "lib/kube/", snapshot] },
  { path: writer, imports: [base, kernel, snapshot] },
  {
    path: registry,
    imports: [
      base,
      kernel,
      snapshot,
      writer,
      ...modes.map((mode) => `lib/writers/${mode}/config.ts`),
    ],
  },
  ...modes.map((mode) => ({
    path: `lib/writers/${mode}/`,
    imports: [base, kernel, snapshot, writer],
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
  { path: "lib/health/", imports: [base, snapshot] },
  { path: "lib/record/", imports: [base] },
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
      "lib/record/",
      writer,
      registry,
    ],
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
      "lib/sync/",
      "lib/health/",
      "lib/record/",
      "lib/namespaces/",
      "lib/doctor/",
      writer,
      registry,
    ],
  },
  { path: "main.ts", imports: ["cmd/", base] },
];

/** The registry may reach a mode's runtime, but only when it is asked for. */
export const lazyImports: readonly { readonly from: string; readonly to: RegExp }[] = [
  { from: registry, to: /^lib\/writers\/[a-z]+\/mod\.ts$/ },
];

/** What code may do only in its home. `only` are path prefixes or files. */
export interface Home {
  readonly what: string;
  readonly pattern: RegExp;
  readonly only: readonly string[];
}

const entry = ["main.ts", "cmd/"];

export const homes: readonly Home[] = [
  {
    what: "native code",
    pattern: /\bDeno\.(dlopen|UnsafeCallback|UnsafePointerView)\b/,
    only: [kernel],
  },
  { what: "processes", pattern: /\bDeno\.(Command|run|kill)\b/, only: [kernel] },
  { what: "/proc and /sys", pattern: /["'`]\/(proc|sys)\//, only: [kernel] },
  { what: "outgoing connections", pattern: /\bDeno\.(connect|connectTls)\b/, only: [kernel] },
  {
    what: "HTTP requests",
    pattern: /(?<![.\w#])fetch\(|\bDeno\.createHttpClient\b/,
    only: ["lib/kube/"],
  },
  {
    what: "listening",
    pattern: /\bDeno\.(serve|listen|listenTls|listenDatagram)\b/,
    only: ["lib/health/"],
  },
  {
    what: "ordinary files",
    pattern:
      /\bDeno\.(read|write)(TextFile|File|Dir)(Sync)?\b|\bDeno\.(open|create|stat|lstat|mkdir|remove|rename|copyFile|watchFs|symlink|truncate|chmod|realPath|makeTemp\w+)(Sync)?\(/,
    only: ["lib/base/files.ts", "lib/base/files_watch.ts", kernel],
  },
  {
    what: "signals, environment, arguments and exit",
    pattern: /\bDeno\.(exit|args|env|addSignalListener|removeSignalListener|exitCode)\b/,
    only: entry,
  },
  {
    what: "standard streams",
    pattern: /\bDeno\.(stdin|stdout|stderr)\b/,
    only: [...entry, "lib/base/files.ts"],
  },
];

/** Packages, and the files that may import each: a seam round every dependency. */
export const packages: Readonly<Record<string, readonly string[]>> = {
  "yaml": ["lib/base/yaml.ts", "lib/config/"],
  "zod": [
    "lib/config/",
    "lib/kube/",
    "lib/base/",
    ...modes.map((mode) => `lib/writers/${mode}/config.ts`),
  ],
  "prom-client": [base, "lib/health/"],
  "@kubernetes/client-node": ["lib/kube/"],
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
