/**
 * Prepares the program for `deno compile`: our modules one by one, with their names, so that logs and
 * stacks name the file that speaks and only the modules that a command needs are loaded; and each
 * package of theirs bundled into one, since compiling embeds whole folders of packages otherwise.
 *
 *   deno run -A scripts/bundle.ts OUTDIR VERSION COMMIT BUILD_DATE
 */
import { build, type BuildOptions, type Plugin, stop } from "esbuild";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";

/** Modules that nobody imports: they are started by their URL. */
const workers = ["lib/kernel/nf_tables/worker.ts", "lib/doctor/rehearsal/worker.ts"];
const packagesFolder = "packages";

const common: BuildOptions = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "es2024",
  legalComments: "none",
  logLevel: "warning",
  minifySyntax: true,
};

/** Which names of which packages our modules use. */
type UsedPackages = Map<string, Set<string>>;

/** What the program knows of its own build. */
interface Build {
  readonly version: string;
  readonly commit: string;
  readonly date: string;
}

async function bundle(outdir: string, { version, commit, date }: Build): Promise<void> {
  const used: UsedPackages = new Map();
  const modules = await reachableModules(used);
  await build({
    ...common,
    entryPoints: [...modules],
    outdir,
    outbase: ".",
    define: {
      KUBE_PROXY_VERSION: JSON.stringify(version),
      KUBE_PROXY_COMMIT: JSON.stringify(commit),
      KUBE_PROXY_BUILD_DATE: JSON.stringify(date),
    },
    plugins: [keepImports],
  });
  await bundlePackages(outdir, used);
  await stop();
}

/** From main.ts and the workers, over every static and lazy import. */
async function reachableModules(used: UsedPackages): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const waiting = ["main.ts", ...workers];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    const text = await Deno.readTextFile(path);
    for (const { specifier, names } of importsOf(text)) {
      if (specifier.startsWith(".")) waiting.push(resolve(path, specifier));
      else if (!isBuiltin(specifier)) note(used, specifier, names);
    }
  }
  return found;
}

interface Import {
  readonly specifier: string;
  readonly names: readonly string[];
}

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  const statement = /^(?:import|export)\s+(?!type\b)([^"';]*?)\s*from\s*"([^"]+)"/gm;
  for (const [, clause, specifier] of text.matchAll(statement)) {
    found.push({ specifier, names: namesIn(clause, text) });
  }
  for (const [, specifier] of text.matchAll(/^import\s+"([^"]+)"/gm)) {
    found.push({ specifier, names: [] });
  }
  const lazy = /(?:const\s*(\{[^}]*\})\s*=\s*await\s+)?\bimport\(\s*"([^"]+)"/g;
  for (const [, clause = "", specifier] of text.matchAll(lazy)) {
    found.push({ specifier, names: namesIn(clause, text) });
  }
  return found;
}

/** `{ A, type B, C as D }` gives A and C; `* as z` gives whatever follows `z.` in the text. */
function namesIn(clause: string, text: string): string[] {
  const namespace = /\* as (\w+)/.exec(clause)?.[1];
  if (namespace) {
    return [...text.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, "g"))].map(([, name]) => name);
  }
  return clause.replace(/[{}]/g, "").split(",").map((part) => part.trim())
    .filter((part) => part !== "" && !part.startsWith("type "))
    .map((part) => part.split(/\s|:/)[0]);
}

function note(used: UsedPackages, specifier: string, names: readonly string[]): void {
  const known = used.get(specifier) ?? new Set();
  for (const name of names) known.add(name);
  used.set(specifier, known);
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** Leaves every import of one of our modules as it is, but for what it now points to. */
const keepImports: Plugin = {
  name: "keep-imports",
  setup(bundler) {
    bundler.onResolve({ filter: /.*/ }, ({ importer, kind, path }) => {
      if (kind === "entry-point") return undefined;
      if (path.startsWith(".")) return { path: path.replace(/\.ts$/, ".js"), external: true };
      if (isBuiltin(path)) return { path: withNodePrefix(path), external: true };
      const depth = importer.slice(Deno.cwd().length + 1).split("/").length - 1;
      return {
        path: `${"../".repeat(depth) || "./"}${packagesFolder}/${fileOf(path)}.js`,
        external: true,
      };
    });
  },
};

/** Deno resolves Node's built-in modules only with their prefix. */
function withNodePrefix(path: string): string {
  return path.startsWith("node:") ? path : `node:${path}`;
}

const nodePrefix: Plugin = {
  name: "node-prefix",
  setup(bundler) {
    bundler.onResolve(
      { filter: /^(node:)?[a-z_/]+$/ },
      ({ path }) => isBuiltin(path) ? { path: withNodePrefix(path), external: true } : undefined,
    );
  },
};

/** What yaml gives Node looks up an environment variable for each token; what it gives others is alike. */
const plainYaml: Plugin = {
  name: "plain-yaml",
  setup(bundler) {
    bundler.onResolve(
      { filter: /^yaml$/ },
      () => ({ path: fileURLToPath(import.meta.resolve("../node_modules/yaml/browser/index.js")) }),
    );
  },
};

/** One module a package, with the names that are used; what several packages share is apart. */
async function bundlePackages(outdir: string, used: UsedPackages): Promise<void> {
  const entries = new Map<string, string>();
  for (const [name, names] of used) entries.set(fileOf(name), await entryText(name, names));
  const plugin: Plugin = {
    name: "entries",
    setup(bundler) {
      bundler.onResolve(
        { filter: /^entry:/ },
        ({ path }) => ({ path: path.slice(6), namespace: "entry" }),
      );
      bundler.onLoad({ filter: /.*/, namespace: "entry" }, ({ path }) => ({
        contents: entries.get(path),
        resolveDir: Deno.cwd(),
      }));
    },
  };
  await build({
    ...common,
    entryPoints: Object.fromEntries([...entries.keys()].map((name) => [name, `entry:${name}`])),
    outdir: `${outdir}/${packagesFolder}`,
    splitting: true,
    conditions: ["deno", "node", "import"],
    mainFields: ["module", "main"],
    minifyWhitespace: true,
    // CommonJS packages call require() for Node's own modules.
    banner: {
      js: 'import{createRequire as __createRequire}from"node:module";' +
        "const require=__createRequire(import.meta.url);",
    },
    plugins: [plugin, plainYaml, nodePrefix],
  });
}

/** Exports the used names that exist when the program runs: the others are types. */
async function entryText(name: string, names: ReadonlySet<string>): Promise<string> {
  const present = await import(name);
  const values = [...names].filter((each) => each in present).sort();
  return `export { ${values.join(", ")} } from ${JSON.stringify(name)};`;
}

function fileOf(name: string): string {
  return name.replace(/^@/, "").replaceAll("/", "-");
}

const [outdir, version, commit, date] = Deno.args;
await bundle(outdir, { version, commit, date });
