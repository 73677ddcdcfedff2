/**
 * Bundles the program for `deno compile`: a small main module and further modules that are loaded
 * when a command needs them. One big file would be parsed as a whole at every start.
 *
 *   deno run -A scripts/bundle.ts OUTDIR VERSION COMMIT
 */
import { build, type Plugin, stop } from "esbuild";
import { isBuiltin } from "node:module";

/** Every module that is started by URL and not by an import; the bundle keeps their relative paths. */
const workers = ["lib/kernel/nftables/worker.ts"];

/** Deno resolves Node's built-in modules only with their prefix. */
const nodePrefix: Plugin = {
  name: "node-prefix",
  setup(bundler) {
    bundler.onResolve(
      { filter: /^[a-z_/]+$/ },
      ({ path }) => isBuiltin(path) ? { path: `node:${path}`, external: true } : undefined,
    );
    bundler.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true }));
  },
};

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function bundle(outdir: string, version: string, commit: string): Promise<void> {
  const entryPoints = ["main.ts"];
  for (const worker of workers) if (await exists(worker)) entryPoints.push(worker);
  await build({
    entryPoints,
    outdir,
    outbase: ".",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "es2024",
    conditions: ["deno", "node", "import"],
    mainFields: ["module", "main"],
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: false,
    legalComments: "none",
    chunkNames: "modules/[name]-[hash]",
    define: {
      KUBE_PROXY_VERSION: JSON.stringify(version),
      KUBE_PROXY_COMMIT: JSON.stringify(commit),
    },
    // CommonJS dependencies call require() for Node's own modules.
    banner: {
      js: 'import{createRequire as __createRequire}from"node:module";' +
        "const require=__createRequire(import.meta.url);",
    },
    plugins: [nodePrefix],
    logLevel: "warning",
  });
  await stop();
}

const [outdir, version, commit] = Deno.args;
await bundle(outdir, version, commit);
